"""Why a budget is missed: one sentence or two for each row that ever was, shown only when it is missed again."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bench.row import Row

NONE_YET: Final = "No reason is written down yet; `bench/reasons.py` is the place."
REASONS: Final[Mapping[str, str]] = {
    "calendar, *: decision, instances, p99": (
        "The p99 is a request for thousands of slots over weeks: every shared promise in the window is swept, exactly, "
        "and their number is what the time grows with. The usual request (p50) is far inside."
    ),
    "calendar, *: earliest, instances, p99": (
        "As for the decision: the widest requests sweep every shared promise of weeks. The usual one (p50) is far "
        "inside."
    ),
    "list 1,000 leases, MariaDB, p50": (
        "Three statements, 5,000 rows, 1.5 MB of JSON; the time is Python's, spread evenly over the driver (PyMySQL "
        "decodes rows in Python), the row objects, the dates and the JSON. From 1.1 on a client can ask for pages."
    ),
    "1,000 leases due at one second, mariadb:*": (
        "Each start is some thirty statements and five durable commits, three of which are the sandbox cloud's own, "
        "which a real cloud does elsewhere. On SQLite, where the sandbox lives by default, the budget is kept."
    ),
}
"""By the row's name, in which `*` stands for anything."""


def reason(row: Row) -> str:
    """Return why the row's budget is missed."""
    return next((text for name, text in REASONS.items() if fnmatchcase(row.name, name)), NONE_YET)


def stale(rows: Iterable[Row]) -> list[str]:
    """Return the names for which a reason is kept, but no row: of a run of everything, none should be left."""
    names = [row.name for row in rows]
    return [pattern for pattern in REASONS if not any(fnmatchcase(name, pattern) for name in names)]
