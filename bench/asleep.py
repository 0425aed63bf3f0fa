"""Decisions and searches with 2,000 of 10,000 hosts asleep and fillers on 5,000, beside the same ones without."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from bench import calendar
from bench.decisions import ACTIONS
from bench.row import Row
from leasehold.cmd.memory import keep_freed_memory
from leasehold.features.filler.options import FillerSettings
from leasehold.model.resource import Health, Readiness

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from bench.calendar import Requests
    from leasehold.calendar.index import Calendar
    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.resource import Resource

ALLOCATIONS: Final = 200_000
ASLEEP, FILLED = (0, 5), (1, 2, 3, 4, 6)
"""The last digits of the numbers of hosts that are asleep, and of those that have fillers."""
UNREADY: Final = "2,000 hosts asleep, 5,000 fillers"
TIMES: Final = 1.2
TAKES: Final = timedelta(minutes=15)
TURNS: Final = 5


def run(*, quick: bool = False) -> list[Row]:
    """Measure each action with and without hosts that are not ready, five times in turns; quick: once."""
    keep_freed_memory()
    pools = {each: _pool(unready=each) for each in (False, True)}
    return [row for name, (action, times) in ACTIONS.items() for row in _beside(name, action, times, pools, quick)]


def _pool(*, unready: bool) -> Calendar:
    loaded = calendar.loaded(ALLOCATIONS)
    if unready:
        taken = calendar.hosts()
        asleep = [replace(each, readiness=Readiness(TAKES), health=Health.ASLEEP) for each in _of(taken, ASLEEP)]
        filled = [replace(each, readiness=Readiness(FillerSettings().takes)) for each in _of(taken, FILLED)]
        loaded.update(loaded.generation + 1, [*asleep, *filled], calendar.NOTHING)
    return loaded


def _of(hosts: Sequence[Resource], digits: Collection[int]) -> list[Resource]:
    return [each for each in hosts if each.number % 10 in digits]


def _beside(
    name: str,
    action: Callable[[Snapshot, Requests], None],
    times: int,
    pools: Mapping[bool, Calendar],
    quick: bool,  # noqa: FBT001 - as `run` got it
) -> list[Row]:
    busy: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(1 if quick else TURNS):
        for unready, pool in pools.items():
            busy[unready] += calendar.measure(pool, action, times, calendar.Requests(ALLOCATIONS)).busy
    rows = []
    for figure, percentile in (("p50", 50), ("p99", 99)):
        before, now = (float(np.percentile(busy[unready], percentile)) for unready in busy)
        budget = TIMES * before if figure == "p99" and name.startswith("decision") else None
        rows.append(Row(f"{UNREADY}: {name}, {figure}", now, "ms", budget, before, "all ready"))
    return rows
