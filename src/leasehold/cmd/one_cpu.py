"""Keeps the threads of a process on one processor, the one with the least other work (decision 0132).

Of the threads of an interpreter one runs at a time. On several processors each that waits for the interpreter is woken
on another one, finds it taken and waits again: half of the changes of threads, and a third of the processor time, of
an API that answers 64 clients. On one processor it is woken when the thread before it waits for something.
"""

from __future__ import annotations

import logging
import os
import random
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

log = logging.getLogger(__name__)

SECONDS: Final = 1.0
"""Between two looks."""
MARGIN: Final = 0.1
"""Of a processor's time: how much less another one has to do, so that it is worth to move there."""
STAT: Final = Path("/proc/stat")
TASKS: Final = Path("/proc/self/task")
IDLE: Final = slice(3, 5)
"""The columns of `/proc/stat` in which a processor does nothing: idle, and waiting for a disk."""
COUNTED: Final = 8
"""The columns before those that are parts of others."""


@dataclass(frozen=True, slots=True)
class Used:
    """What was used until a moment: ticks of each processor, all and those of work, and seconds of this process."""

    ticks: Mapping[int, tuple[int, int]]
    own: float
    moment: float

    @classmethod
    def now(cls) -> Used:
        """Read it."""
        return cls(ticks_of(STAT.read_text(encoding="ascii")), time.process_time(), time.monotonic())

    def shares_since(self, before: Used) -> tuple[dict[int, float], float]:
        """Return the part of the time since then for which each processor had work, and this process had one."""
        shares = {}
        for cpu, (total, worked) in self.ticks.items():
            was, had_worked = before.ticks.get(cpu, (0, 0))
            shares[cpu] = (worked - had_worked) / max(1, total - was)
        return shares, (self.own - before.own) / (self.moment - before.moment)


def ticks_of(stat: str) -> dict[int, tuple[int, int]]:
    """Return the ticks of each processor that `/proc/stat` tells, all and those of work."""
    found = {}
    for line in stat.splitlines():
        name, *columns = line.split()
        if name.startswith("cpu") and name != "cpu":
            ticks = [int(each) for each in columns[:COUNTED]]
            found[int(name.removeprefix("cpu"))] = sum(ticks), sum(ticks) - sum(ticks[IDLE])
    return found


def chosen(at: int | None, shares: Mapping[int, float], own: float) -> int:
    """Return the processor to run on: the present one, unless others use it by `MARGIN` more than they use another."""
    others = {cpu: share - (own if cpu == at else 0.0) for cpu, share in shares.items()}
    least = min(others.values())
    if at is not None and others[at] <= least + MARGIN:
        return at
    # Processes that look at the same moment must not all go to the same one.
    return random.choice([cpu for cpu, share in others.items() if share <= least + MARGIN])  # noqa: S311 - no secret


def stay_on_one_cpu() -> None:
    """Keep the threads of this process on one processor from now on, as far as it may use several.

    Whoever sets the processors of the process from outside, as `taskset` does, has the last word.
    """
    if hasattr(os, "sched_setaffinity") and STAT.exists() and len(os.sched_getaffinity(0)) > 1:
        Thread(target=_stay, args=(os.sched_getaffinity(0),), name="one-cpu", daemon=True).start()


def _stay(allowed: set[int]) -> None:
    at, before, pause = None, Used.now(), Event()
    while not pause.wait(SECONDS) and os.sched_getaffinity(0) == (allowed if at is None else {at}):
        now = Used.now()
        shares, own = now.shares_since(before)
        better = chosen(at, {cpu: shares.get(cpu, 0.0) for cpu in allowed}, own)
        # One that moves from the same processor at the same moment would meet this one again.
        if better != at and (at is None or random.choice((True, False))):  # noqa: S311 - no secret
            try:
                _move_all(better)
            except OSError as error:
                log.warning("The threads of this process stay where they are from now on: %s.", error.strerror)
                return
            at = better
        before = now


def _move_all(cpu: int) -> None:
    """Move every thread to a processor; those that are started meanwhile by one that was not moved yet, too."""
    moved: set[str] = set()
    while new := {each.name for each in TASKS.iterdir()} - moved:
        for each in new:
            try:
                os.sched_setaffinity(int(each), {cpu})
            except ProcessLookupError:
                log.debug("Thread %s ended before it was moved to processor %d.", each, cpu)
        moved |= new
