"""The calendars of this process: one for each pool, updated from the database before every decision."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from leasehold.calendar.index import HISTORY, AllocationColumns, Calendar
from leasehold.calendar.properties import Answers
from leasehold.calendar.weighing import FIRST_FIT
from leasehold.db.allocation import changed_allocations, current_allocations
from leasehold.db.pool import lock_order, read_pools
from leasehold.db.resources.resource import changed_resources

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.calendar.weighing import Weighers
    from leasehold.db.pool import LockedPools, PoolState
    from leasehold.db.store import Database
    from leasehold.model.properties import Expression

Result = TypeVar("Result")
Evaluated: TypeAlias = "Mapping[str, Answers]"
"""The answers to conditions, by pool."""

_NOTHING = AllocationColumns((), (), (), (), (), (), (), ())
STALE_AFTER = timedelta(hours=12)
"""A calendar that was unused for this long is reloaded: an update cannot notice rows that a purge removed (those over a
day old). The same holds if the clock went back this far: rows that the calendar has dropped may count again."""
MOST_LOADS = 2
"""After this many loads that were outdated when the pool was locked, the next load runs under the lock."""


class UnprovenCalendarError(Exception):
    """A calendar is not provably an earlier state of its pool: load it without the lock, and decide again."""

    def __init__(self, pool: str, loads: int) -> None:
        """`loads` is the calendar's number of loads when the error was raised."""
        super().__init__(pool)
        self.pool = pool
        self.loads = loads


@dataclass(frozen=True, slots=True)
class _Written:
    """All that a decision of this process writes to a pool: allocations, which move it from one state to the next."""

    before: PoolState
    after: PoolState
    rows: Sequence[Sequence[Any]]


@dataclass(slots=True)
class _Kept:
    """A pool's calendar, its locks, and the pool's state in the database at the last update.

    `loads` counts all loads, and `in_vain` those since the last successful `sync`. `written` is what the last decision
    of this process wrote, whether it was committed or not: if the pool is then in the state after it, it was.
    """

    pool: str
    calendar: Calendar
    state: PoolState | None = None
    synced_at: datetime | None = None
    loads: int = 0
    in_vain: int = 0
    written: _Written | None = None
    lock: Lock = field(default_factory=Lock)
    loading: Lock = field(default_factory=Lock)

    def sync(self, connection: Connection, state: PoolState, now: datetime) -> None:
        """Update the calendar to a later state, under its lock; raises UnprovenCalendarError."""
        if not self._proved(state, now):
            if self.in_vain < MOST_LOADS:
                raise UnprovenCalendarError(self.pool, self.loads)
            self.calendar = Calendar(self.pool)
        written = self._written_up_to(state)
        # If the update fails, the calendar is unproven: it may contain half of the rows.
        self.state = None
        if written is None:
            _catch_up(connection, self.calendar, state.generation, now)
        else:
            self.calendar.update(state.generation, (), _columns(written.rows))
        self.state, self.synced_at, self.in_vain = state, now, 0

    def load(self, connection: Connection, state: PoolState, now: datetime) -> None:
        """Load a new calendar without the lock, so that no decision waits, and then replace the old one."""
        calendar = Calendar(self.pool)
        _catch_up(connection, calendar, state.generation, now)
        with self.lock:
            self.calendar, self.state, self.synced_at = calendar, state, now
            self.loads += 1
            self.in_vain += 1

    def _written_up_to(self, state: PoolState) -> _Written | None:
        """Return what this process has written if that alone is between the calendar and this state, else None.

        The nonces prove it, so nothing has to be read again.
        """
        written = self.written
        if written is None or self.state is None or self.calendar.generation != written.before.generation:
            return None
        return written if written.before.is_same(self.state) and written.after.is_same(state) else None

    def _proved(self, state: PoolState, now: datetime) -> bool:
        if self.state is None or self.synced_at is None or abs(now - self.synced_at) > STALE_AFTER:
            return False
        return state.follows(self.state)


class Calendars:
    """A cache of committed allocations; the state of each calendar says up to which generation it is complete.

    Lock order: the pool's row in the database (`lock_pools`), then its calendar. So a thread that waits for a calendar
    waits for a decision of this process that is about to commit.
    """

    def __init__(self, weighers: Weighers = FIRST_FIT) -> None:
        """Start without any calendar; the `weighers` order what would do."""
        self._weighers = weighers
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

        `evaluate` is called before the transaction begins, and `work` gets its result. If a calendar is unproven, as in
        a new process or after a restore of the database, the transaction is rolled back, the calendar is loaded without
        the pool's lock, and everything runs again.
        """
        while True:
            evaluated = evaluate()
            try:
                return db.transact(partial(work, evaluated))
            except UnprovenCalendarError as error:
                self._load_once(db, error, now())

    def look(
        self,
        db: Database,
        now: Callable[[], datetime],
        pools: Collection[str],
        work: Callable[[Mapping[str, Snapshot], datetime], Result],
        evaluate: Callable[[], Evaluated] = dict,
    ) -> Result:
        """Run `work` on snapshots of these pools as committed now, and on the moment of that; it may promise nothing.

        No row is locked and no transaction is open meanwhile. But a decision of this process waits for `work`, with its
        pools locked: what takes long has calendars of its own. `evaluate` is as in `transact`.
        """
        while True:
            evaluated = evaluate()
            try:
                with ExitStack() as stack:
                    return work(*self._looked(stack, db, now, pools, evaluated))
            except UnprovenCalendarError as error:
                self._load_once(db, error, now())

    def _looked(
        self, stack: ExitStack, db: Database, now: Callable[[], datetime], pools: Collection[str], evaluated: Evaluated
    ) -> tuple[dict[str, Snapshot], datetime]:
        """Return the snapshots and their moment; the calendars are locked until the stack is closed."""
        kept = [self._kept(pool) for pool in lock_order(pools)]
        # The connection comes first, as in a decision. What it sees begins with its first statement, and so is not
        # older than the calendars, which no decision changes any more.
        with db.reading() as connection:
            for each in kept:
                stack.enter_context(each.lock)
            states, moment = read_pools(connection), now()
            for each in kept:
                each.sync(connection, states[each.pool], moment)
        found = {each.pool: each.calendar.snapshot(moment, evaluated.get(each.pool), self._weighers) for each in kept}
        return found, moment

    def evaluate(self, conditions: Iterable[tuple[str, Expression]], check: Callable[[], None]) -> Evaluated:
        """Evaluate conditions, each on the properties of its pool as this process knows them, without a lock.

        `check` is called between the steps, and may raise.
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
        """Yield a snapshot of each locked pool, valid inside the block.

        An `evaluated` answer is used if the properties have not changed since; otherwise the condition is evaluated
        again on use. Raises UnprovenCalendarError, which `transact` handles.
        """
        with ExitStack() as stack:
            snapshots = {}
            for pool in lock_order(locked):
                kept = self._kept(pool)
                stack.enter_context(kept.lock)
                kept.sync(connection, locked.states[pool], now)
                snapshots[pool] = kept.calendar.snapshot(now, evaluated.get(pool), self._weighers)
            yield snapshots

    def note(self, locked: LockedPools, rows: Sequence[Sequence[Any]]) -> None:
        """Keep what a transaction that is about to commit writes, so that this process does not read it again.

        Each row has its pool and then the columns of `current_allocations`. They have to be all that the transaction
        writes to the pools it has locked and moved (`LockedPools.moved`). If it is rolled back, they are never used.
        """
        for pool, after in locked.moved.items():
            mine = [row[1:] for row in rows if row[0] == pool]
            self._kept(pool).written = _Written(locked.states[pool], after, mine)

    def load(self, connection: Connection, now: datetime) -> None:
        """Load every pool before the first decision.

        The connection has to read a consistent snapshot, as `Database.reading` provides.
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
        # None is ever removed, so only the first look needs the lock, and makes a calendar.
        found = self._calendars.get(pool)
        if found is not None:
            return found
        with self._guard:
            return self._calendars.setdefault(pool, _Kept(pool, Calendar(pool)))


def _catch_up(connection: Connection, calendar: Calendar, generation: int, now: datetime) -> None:
    pool, since = calendar.pool, calendar.generation
    if since >= generation:
        return
    # Ended allocations still count: for the cleaning time after them, and when the clock goes back.
    if since < 0:
        calendar.update(since, changed_resources(connection, pool, since), _NOTHING)
        # Keep the old generation until the last chunk is in, so that an interrupted load is repeated.
        for columns in current_allocations(connection, pool, now - HISTORY):
            calendar.update(since, (), AllocationColumns(*columns))
    else:
        rows, with_resources = changed_allocations(connection, pool, since)
        if with_resources:
            calendar.update(since, changed_resources(connection, pool, since), _NOTHING)
        calendar.update(since, (), _columns(rows))
    calendar.update(generation, (), _NOTHING)


def _columns(rows: Sequence[Sequence[Any]]) -> AllocationColumns:
    return AllocationColumns(*zip(*rows, strict=True)) if rows else _NOTHING
