"""The calendars of this process: one for each pool, brought up to date from the books before every decision."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from typing import TYPE_CHECKING

from leasehold.books.allocation import changed_allocations
from leasehold.books.pool import read_generations
from leasehold.books.resource import changed_resources
from leasehold.calendar.index import HISTORY, AllocationColumns, Calendar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot

_NOTHING = AllocationColumns((), (), (), (), (), (), (), ())
STALE_AFTER = timedelta(hours=12)
"""A calendar that was not asked for so long is loaded anew: rows that a purge removed (those over a day old) leave no
trace by which it could catch up. So is one whose clock went back so far: what it has forgotten may matter again."""


@dataclass(slots=True)
class _Kept:
    """A pool's calendar, who may touch it, and when it was last brought up to date."""

    calendar: Calendar
    synced_at: datetime | None = None
    lock: Lock = field(default_factory=Lock)

    def sync(self, connection: Connection, generation: int, now: datetime) -> None:
        """Bring the calendar up to a generation, under its lock."""
        if self.synced_at is not None and abs(now - self.synced_at) > STALE_AFTER:
            self.calendar = Calendar(self.calendar.pool)
        _catch_up(connection, self.calendar, generation, now)
        self.synced_at = now


class Calendars:
    """A cache of the books, never the truth: what it holds was committed, and its generation says up to when.

    The pools' rows are locked in the database before a calendar is (`lock_pools`), so waiting for the lock here is
    waiting for a decision of this process that is about to commit.
    """

    def __init__(self) -> None:
        """Start with nothing loaded."""
        self._guard = Lock()
        self._calendars: dict[str, _Kept] = {}

    @contextmanager
    def synced(
        self, connection: Connection, generations: Mapping[str, int], now: datetime
    ) -> Iterator[dict[str, Snapshot]]:
        """Yield a snapshot of each pool at the given generations, valid inside the block."""
        with ExitStack() as stack:
            snapshots = {}
            for pool in sorted(generations):
                kept = self._kept(pool)
                stack.enter_context(kept.lock)
                kept.sync(connection, generations[pool], now)
                snapshots[pool] = kept.calendar.snapshot(now)
            yield snapshots

    def load(self, connection: Connection, now: datetime) -> None:
        """Bring every pool up to date ahead of the first decision, which would do it with the pool's row locked.

        The connection has to see one moment only, as one that reads does.
        """
        for pool, generation in read_generations(connection).items():
            kept = self._kept(pool)
            with kept.lock:
                kept.sync(connection, generation, now)

    def _kept(self, pool: str) -> _Kept:
        with self._guard:
            return self._calendars.setdefault(pool, _Kept(Calendar(pool)))


def _catch_up(connection: Connection, calendar: Calendar, generation: int, now: datetime) -> None:
    pool, since = calendar.pool, calendar.generation
    if since >= generation:
        return
    resources = changed_resources(connection, pool, since)
    if resources:
        # The old generation stays until the last chunk is in: a load that breaks off is begun again, not trusted.
        calendar.update(since, resources, _NOTHING)
    # What is over still matters: to the cleaning time of what comes after it, and when the clock goes back.
    for columns in changed_allocations(connection, pool, since, now - HISTORY):
        calendar.update(since, (), AllocationColumns(*columns))
    calendar.update(generation, (), _NOTHING)
