"""Decisions and searches with 2,000 of 10,000 hosts asleep beside the same ones with none, in turns."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from bench import calendar
from bench.decisions import ACTIONS
from bench.row import Row
from leasehold.cmd.memory import keep_freed_memory
from leasehold.model.resource import Health, Readiness

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.calendar import Requests
    from leasehold.calendar.index import Calendar
    from leasehold.calendar.snapshot import Snapshot

ALLOCATIONS: Final = 200_000
ASLEEP: Final = 2_000
TIMES: Final = 1.2
TAKES: Final = timedelta(minutes=15)
TURNS: Final = 5


def run(*, quick: bool = False) -> list[Row]:
    """Measure each action with and without hosts asleep, five times in turns; quick: once."""
    keep_freed_memory()
    awake, asleep = _pool(0), _pool(ASLEEP)
    return [
        row for name, (action, times) in ACTIONS.items() for row in _beside(name, action, times, awake, asleep, quick)
    ]


def _pool(asleep: int) -> Calendar:
    loaded = calendar.loaded(ALLOCATIONS)
    step = calendar.HOSTS // asleep if asleep else calendar.HOSTS + 1
    sleeping = [
        replace(each, readiness=Readiness(TAKES), health=Health.ASLEEP)
        for each in calendar.hosts()
        if each.number % step == 0
    ]
    loaded.update(loaded.generation + 1, sleeping, calendar.NOTHING)
    return loaded


def _beside(
    name: str,
    action: Callable[[Snapshot, Requests], None],
    times: int,
    awake: Calendar,
    asleep: Calendar,
    quick: bool,  # noqa: FBT001 - as `run` got it
) -> list[Row]:
    busy: dict[int, list[float]] = {0: [], ASLEEP: []}
    for _ in range(1 if quick else TURNS):
        for count, pool in ((0, awake), (ASLEEP, asleep)):
            busy[count] += calendar.measure(pool, action, times, calendar.Requests(ALLOCATIONS)).busy
    rows = []
    for figure, percentile in (("p50", 50), ("p99", 99)):
        before, now = (float(np.percentile(busy[count], percentile)) for count in busy)
        budget = TIMES * before if figure == "p99" and name.startswith("decision") else None
        rows.append(Row(f"{ASLEEP:,} hosts asleep: {name}, {figure}", now, "ms", budget, before, "none asleep"))
    return rows
