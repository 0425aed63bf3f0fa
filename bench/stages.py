"""Where the time of a request goes, stage by stage: a table says which modules belong to which stage.

The time of a function is that of its module's stage. Functions of modules that are not in the table, such as those of
the standard library and what is written in C, are of the stages of those that call them, in the same shares.
"""

from __future__ import annotations

import pstats
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping
    from cProfile import Profile

    Function: TypeAlias = tuple[str, int, str]

OTHER, DATABASE, CLIENT = "other", "waiting for the database", "the benchmark itself"
IDENTITY, BODY, ANSWER = "identity and policy", "body", "answer"
HTTP, DECISION, CLOUD, SQL, DRIVER = "HTTP", "decision", "cloud", "SQL building", "driver"
STAGES: Final = (HTTP, IDENTITY, BODY, DECISION, CLOUD, SQL, DRIVER, ANSWER, OTHER, DATABASE)
"""In the order in which they are printed."""
MODULES: Final = {
    "bench": CLIENT,
    "falcon": HTTP,
    "falcon/testing": CLIENT,
    "leasehold/api": HTTP,
    "leasehold/api/auth": IDENTITY,
    "leasehold/api/body": BODY,
    "leasehold/api/dates": BODY,
    "leasehold/api/additions": BODY,
    "leasehold/model/json_bytes": ANSWER,
    "leasehold/api/listing": ANSWER,
    "leasehold/api/models": BODY,
    "leasehold/api/policies": IDENTITY,
    "leasehold/api/strict": BODY,
    "leasehold/api/views": ANSWER,
    "leasehold/calendar": DECISION,
    "leasehold/cloud": CLOUD,
    "leasehold/db": SQL,
    "leasehold/enforcement": DECISION,
    "leasehold/features": DECISION,
    "leasehold/leasing": DECISION,
    "leasehold/model": DECISION,
    "leasehold/resource_types": DECISION,
    "numpy": DECISION,
    "oslo_policy": IDENTITY,
    "prometheus_client": HTTP,
    "psycopg": DRIVER,
    "pymysql": DRIVER,
    "sqlalchemy": SQL,
}
"""By the beginning of the path of a file; the longest one counts."""
BUILT_IN: Final = {
    "recv_into' of '_socket": DATABASE,
    "psycopg_c.": DRIVER,
    "psycopg_binary.": DRIVER,
    "sqlite3.": DRIVER,
}
"""By what the name of a function without a file has in it. A wait is for a server: what SQLite does is the driver's."""
WAITING: Final = ("psycopg/connection", "wait")
"""The function of psycopg that waits for the server, in C."""


def stage_of(function: Function) -> str | None:
    """Return the stage of a function by itself; None: it is of its callers' stages."""
    path, _, name = function
    if path == "~":
        return next((stage for part, stage in BUILT_IN.items() if part in name), None)
    place = Path(path).with_suffix("").as_posix()
    for root in ("/site-packages/", "/src/"):
        place = place.rpartition(root)[2]
    if (place, name) == WAITING:
        return DATABASE
    if "/bench/" in place:
        place = "bench"
    fitting = [prefix for prefix in MODULES if place == prefix or place.startswith(f"{prefix}/")]
    return MODULES[max(fitting, key=len)] if fitting else None


def seconds_by_stage(profile: Profile) -> dict[str, float]:
    """Return the seconds that were spent in each stage."""
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # typeshed leaves it out.

    def shares_by(callers: Mapping[Function, tuple[int, int, float, float]], kind: int) -> dict[str, float]:
        """Return the part of each stage in what these callers spent in a function; `kind` 2: itself, 3: with calls."""
        # One that is called by itself, or by what it calls, is of the stages of the others that call it.
        spent = {caller: each[kind] for caller, each in callers.items() if caller not in under_way and each[kind] > 0}
        found: dict[str, float] = {}
        for caller, seconds in spent.items():
            for stage, share in shares(caller).items():
                found[stage] = found.get(stage, 0.0) + share * seconds / sum(spent.values())
        return found or {OTHER: 1.0}

    under_way: set[Function] = set()

    @cache
    def shares(function: Function) -> dict[str, float]:
        if (stage := stage_of(function)) is not None:
            return {stage: 1.0}
        under_way.add(function)
        try:
            return shares_by(stats[function][4], 3)
        finally:
            under_way.remove(function)

    spent: dict[str, float] = {}
    for function, (_, _, own, _, callers) in stats.items():
        stage = stage_of(function)
        parts = {stage: 1.0} if stage is not None else shares_by(callers, 2)
        for each, share in parts.items():
            spent[each] = spent.get(each, 0.0) + share * own
    return spent
