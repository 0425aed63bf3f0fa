"""The calendars of this process: one for each pool, brought up to date from the database before every decision."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from leasehold.calendar.index import HISTORY, AllocationColumns, Calendar
from leasehold.calendar.properties import Answers
from leasehold.db.allocation import changed_allocations
from leasehold.db.pool import lock_order, read_pools
from leasehold.db.resource import changed_resources

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.db.pool import LockedPools, PoolState
    from leasehold.db.store import Database
    from leasehold.model.properties import Expression

Result = TypeVar("Result")
Evaluated: TypeAlias = "Mapping[str, Answers]"
"""Conditions by pool, with their answers."""

_NOTHING = AllocationColumns((), (), (), (), (), (), (), ())
STALE_AFTER = timedelta(hours=12)
"""A calendar that was not asked for so long is loaded anew: rows that a purge removed (those over a day old) leave no
trace by which it could catch up. So is one whose clock went back so far: what it has forgotten may matter again."""
MOST_LOADS = 2
"""After so many loads that were out of date when the pool was locked, the next one is done under the lock."""


class UnprovenCalendarError(Exception):
    """A calendar cannot be proved to be an earlier state of its pool: load it, without the lock, and decide again."""

    def __init__(self, pool: str, loads: int) -> None:
        """`loads` is how often the calendar had been loaded when that was found."""
        super().__init__(pool)
        self.pool = pool
        self.loads = loads


@dataclass(slots=True)
class _Kept:
    """A pool's calendar, who may touch it, and what the database said when it was last brought up to date.

    `loads` counts all loads, and `in_vain` those since a decision last found the calendar proved.
    """

    pool: str
    calendar: Calendar
    state: PoolState | None = None
    synced_at: datetime | None = None
    loads: int = 0
    in_vain: int = 0
    lock: Lock = field(default_factory=Lock)
    loading: Lock = field(default_factory=Lock)

    def sync(self, connection: Connection, state: PoolState, now: datetime) -> None:
        """Bring the calendar from what it is to a later state, under its lock; raises UnprovenCalendarError."""
        if not self._proved(state, now):
            if self.in_vain < MOST_LOADS:
                raise UnprovenCalendarError(self.pool, self.loads)
            self.calendar = Calendar(self.pool)
        # Nothing is proved of a calendar for which this breaks off: it may have half of what is then lost.
        self.state = None
        _catch_up(connection, self.calendar, state.generation, now)
        self.state, self.synced_at, self.in_vain = state, now, 0

    def load(self, connection: Connection, state: PoolState, now: datetime) -> None:
        """Replace the calendar by one that is loaded meanwhile, so that nobody waits for the load."""
        calendar = Calendar(self.pool)
        _catch_up(connection, calendar, state.generation, now)
        with self.lock:
            self.calendar, self.state, self.synced_at = calendar, state, now
            self.loads += 1
            self.in_vain += 1

    def _proved(self, state: PoolState, now: datetime) -> bool:
        if self.state is None or self.synced_at is None or abs(now - self.synced_at) > STALE_AFTER:
            return False
        return state.follows(self.state)


class Calendars:
    """A cache of the database, never the truth: what it holds was committed, and its state says up to when.

    The pools' rows are locked in the database before a calendar is (`lock_pools`), so waiting for the lock here is
    waiting for a decision of this process that is about to commit.
    """

    def __init__(self) -> None:
        """Start with nothing loaded."""
        self._guard = Lock()
        self._calendars: dict[str, _Kept] = {}

    def transact(
        self,
        db: Database,
        now: Callable[[], datetime],
        evaluate: Callable[[], Evaluated],
        work: Callable[[Evaluated, Connection], Result],
    ) -> Result:
        """Run `work`, which uses `synced`, in one writing transaction (`Database.transact`).

        It is given what `evaluate` returns, which is called before the transaction begins. When it meets a calendar
        that cannot be proved, as in a new process or after the database was restored, the transaction is rolled back,
        the calendar loaded while the pool is not locked, and all is done again.
        """
        while True:
            evaluated = evaluate()
            try:
                return db.transact(partial(work, evaluated))
            except UnprovenCalendarError as error:
                self._load_once(db, error, now())

    def evaluate(self, conditions: Iterable[tuple[str, Expression]], check: Callable[[], None]) -> Evaluated:
        """Evaluate conditions, each on the properties of its pool as this process knows them; nothing is locked.

        `check` is called meanwhile, and may raise.
        """
        found: dict[str, Answers] = {}
        for pool, condition in conditions:
            if pool not in found:
                found[pool] = Answers(self._kept(pool).calendar.properties)
            found[pool].to(condition, check)
        return found

    @contextmanager
    def synced(
        self, connection: Connection, locked: LockedPools, now: datetime, evaluated: Evaluated
    ) -> Iterator[dict[str, Snapshot]]:
        """Yield a snapshot of each pool as it is under its lock, valid inside the block.

        Of what was `evaluated`, all is right that is for properties which have not changed since; the rest is
        evaluated anew when it is asked for. Raises UnprovenCalendarError, which `transact` understands.
        """
        with ExitStack() as stack:
            snapshots = {}
            for pool in lock_order(locked):
                kept = self._kept(pool)
                stack.enter_context(kept.lock)
                kept.sync(connection, locked.states[pool], now)
                snapshots[pool] = kept.calendar.snapshot(now, evaluated.get(pool))
            yield snapshots

    def load(self, connection: Connection, now: datetime) -> None:
        """Load every pool ahead of the first decision.

        The connection has to see one moment only, as one that reads does.
        """
        for pool, state in read_pools(connection).items():
            self._kept(pool).load(connection, state, now)

    def _load_once(self, db: Database, error: UnprovenCalendarError, now: datetime) -> None:
        """Load a pool, unless another thread has done so since the error was raised."""
        kept = self._kept(error.pool)
        with kept.loading:
            if kept.loads == error.loads:
                with db.reading() as connection:
                    kept.load(connection, read_pools(connection)[error.pool], now)

    def _kept(self, pool: str) -> _Kept:
        with self._guard:
            return self._calendars.setdefault(pool, _Kept(pool, Calendar(pool)))


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
