"""History: removal for good of what was deleted or over long ago (`leasehold-manage purge`).

What the leases held stays in `segments`, unless the record is purged as well (feature L9).

Services may run meanwhile: each batch is a transaction of its own, and checks the chosen rows again under a lock. A
calendar that was last updated before what is purged was over would keep purged allocations, so that is at least
`LEAST_AGE` ago.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import ColumnElement, and_, delete, exists, func, not_, or_, select

from leasehold.db.event_log import mark_purged
from leasehold.db.past.record import keep_segments
from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.store import Database
from leasehold.db.tables import (
    PURGED,
    RECORD,
    allocations,
    dead_letters,
    events,
    idempotency_keys,
    lease_states,
    leases,
    metadata,
    outbox,
    pools,
    refusals,
    reservations,
    resource_properties,
    resources,
    segments,
    subscriptions,
    tasks,
)
from leasehold.db.task import END_NOTICE, LEASE
from leasehold.model.states import EventStatus, EventType, LeaseStatus
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from sqlalchemy import Connection, Engine, MetaData, Table

LEAST_AGE = timedelta(days=1)
"""How long ago something must have been over before it may be purged."""
BATCH = 100
"""Leases or resources in one transaction: few enough that no other transaction waits long for it."""
MANY = 2_000
"""Segments and the like in one transaction; no other transaction waits for them."""
COUNTED = (
    leases,
    reservations,
    allocations,
    events,
    tasks,
    outbox,
    lease_states,
    idempotency_keys,
    resources,
    resource_properties,
    segments,
    dead_letters,
    refusals,
)

EARLIEST = datetime.min.replace(tzinfo=UTC)

Key = TypeVar("Key", str, int, datetime)


def purge(
    engine: Engine, now: datetime, age: timedelta, *, dry_run: bool, record: bool = False, tables: MetaData = metadata
) -> dict[str, int]:
    """Remove what has been over for an age and return the number of removed rows by table; `dry_run` only counts.

    First remove leases that were deleted, or whose end was carried out, that long ago, with all their rows. Then remove
    the removed resources that nothing refers to any more, old events of resources and of alarms, old dead letters, and
    old rows of tables that say when those are over (`PURGED`), such as published offers.
    Keep what is alive, not released or has work left. `record` also removes the segments that ended that long ago, and
    what other tables of the record (`RECORD`) say was over then.
    """
    recorded = {each: each.c[each.info[RECORD]] for each in tables.tables.values() if RECORD in each.info}
    purged = {each: each.info[PURGED] for each in tables.tables.values() if PURGED in each.info}
    db, work = Database(engine), _Purge(now, now - age, dry_run, record)
    counts: Counter[str] = Counter()
    _in_batches(db, work.leases, "", counts, dry_run=dry_run)
    _in_batches(db, work.resources, 0, counts, dry_run=dry_run)
    _in_batches(db, work.news, 0, counts, dry_run=dry_run)
    _in_batches(db, work.dead_letters, "", counts, dry_run=dry_run)
    _in_batches(db, work.refusals, EARLIEST, counts, dry_run=dry_run)
    for table, dates in purged.items():
        over = or_(*(table.c[name] < work.before for name in dates))
        _in_batches(db, partial(work.those, table, over, BATCH), _first(table), counts, dry_run=dry_run)
    if record:
        _in_batches(db, work.segments, 0, counts, dry_run=dry_run)
        for table, over_at in recorded.items():
            over, first = over_at <= to_seconds(work.before), _first(table)
            _in_batches(db, partial(work.those, table, over, MANY), first, counts, dry_run=dry_run)
    return {table.name: counts[table.name] for table in (*COUNTED, *purged, *recorded)}


def _first(table: Table) -> Any:
    """Return what is before the key of every row."""
    (key,) = table.primary_key
    return key.type.python_type()


def _in_batches(
    db: Database,
    batch: Callable[[Connection, Key, Counter[str]], Key | None],
    first: Key,
    counts: Counter[str],
    *,
    dry_run: bool,
) -> None:
    """Run one transaction after the other until no key follows the last one."""

    def run(start: Key, connection: Connection) -> tuple[Key | None, Counter[str]]:
        # Begin to count anew in each run, because a transaction may run more than once.
        found: Counter[str] = Counter()
        return batch(connection, start, found), found

    after: Key | None = first
    while after is not None:
        work = partial(run, after)
        if dry_run:
            with db.reading() as connection:
                after, found = work(connection)
        else:
            after, found = db.transact(work)
        counts.update(found)


@dataclass(frozen=True, slots=True)
class _Purge:
    """The transactions: each takes the key to begin after and returns the last key it looked at, None at the end."""

    now: datetime
    before: datetime
    dry_run: bool
    record: bool

    def leases(self, connection: Connection, after: str, counts: Counter[str]) -> str | None:
        over = self._over()
        ids = _keys(connection, leases.c.id, after, over)
        if not ids:
            return None
        last = ids[-1]
        if not self.dry_run:
            held = select(allocations.c.pool).where(allocations.c.lease_id.in_(ids))
            _move(connection, set(connection.scalars(held)))
            # Every change of a lease locks its row first, so a condition checked under the lock holds until the commit.
            mine = leases.c.id.in_(ids)
            connection.execute(select(leases.c.id).where(mine).order_by(leases.c.id).with_for_update()).all()
            ids = list(connection.scalars(select(leases.c.id).where(mine, over)))
            if not self.record:
                keep_segments(connection, ids, self.now)
        for table in (allocations, reservations, events, idempotency_keys, lease_states):
            self._take(connection, table, table.c.lease_id.in_(ids), counts)
        # Tasks of every kind: only tasks about a lease have its id as their subject.
        self._take(connection, tasks, tasks.c.subject.in_(ids), counts)
        self._take_news(connection, outbox.c.lease_id.in_(ids), counts)
        self._take(connection, leases, leases.c.id.in_(ids), counts)
        return last

    def resources(self, connection: Connection, after: int, counts: Counter[str]) -> int | None:
        numbers = _keys(connection, resources.c.number, after, self._abandoned())
        if not numbers:
            return None
        mine = resources.c.number.in_(numbers)
        if not self.dry_run:
            # Enrolling, removing, and making the task of a removed host due again all lock the pool first.
            _move(connection, set(connection.scalars(select(resources.c.pool).where(mine))))
        rows = connection.execute(select(resources.c.number, resources.c.id).where(mine, self._abandoned())).all()
        found, ids = [row.number for row in rows], {row.id for row in rows}
        self._take(connection, resource_properties, resource_properties.c.resource_number.in_(found), counts)
        done = and_(tasks.c.kind != LEASE, tasks.c.subject.in_(ids), not_(_at_work()))
        self._take(connection, tasks, done, counts)
        self._take(connection, resources, resources.c.number.in_(found), counts)
        return numbers[-1]

    def segments(self, connection: Connection, after: int, counts: Counter[str]) -> int | None:
        old = segments.c.ends_at <= to_seconds(self.before)
        ids = _keys(connection, segments.c.id, after, old, most=MANY)
        if not ids:
            return None
        if not self.dry_run:
            _move(connection, set(connection.scalars(select(pools.c.name))))
        self._take(connection, segments, segments.c.id.in_(ids), counts)
        return ids[-1]

    def news(self, connection: Connection, after: int, counts: Counter[str]) -> int | None:
        """Remove old events of resources and of alarms; those of a lease go with it."""
        old = and_(outbox.c.lease_id == "", outbox.c.created_at < self.before)
        keys = _keys(connection, outbox.c.id, after, old)
        if not keys:
            return None
        self._take_news(connection, outbox.c.id.in_(keys), counts)
        return keys[-1]

    def dead_letters(self, connection: Connection, after: str, counts: Counter[str]) -> str | None:
        old = dead_letters.c.died_at < self.before
        theirs = exists().where(dead_letters.c.subscription_id == subscriptions.c.id, old)
        ids = _keys(connection, subscriptions.c.id, after, theirs)
        if not ids:
            return None
        self._take(connection, dead_letters, and_(dead_letters.c.subscription_id.in_(ids), old), counts)
        return ids[-1]

    def refusals(self, connection: Connection, after: datetime, counts: Counter[str]) -> datetime | None:
        """Remove the counts of old hours, one hour in a transaction."""
        hour = refusals.c.hour
        found: datetime | None = connection.scalar(select(func.min(hour)).where(hour > after, hour < self.before))
        if found is not None:
            self._take(connection, refusals, hour == found, counts)
        return found

    def those(
        self,
        table: Table,
        over: ColumnElement[bool],
        most: int,
        connection: Connection,
        after: Key,
        counts: Counter[str],
    ) -> Key | None:
        """Take the next batch of rows that nothing else belongs to."""
        (key,) = table.primary_key
        ids = _keys(connection, key, after, over, most)
        if not ids:
            return None
        self._take(connection, table, key.in_(ids), counts)
        return ids[-1]

    def _take_news(self, connection: Connection, which: ColumnElement[bool], counts: Counter[str]) -> None:
        if not self.dry_run:
            mark_purged(connection, which)
        self._take(connection, outbox, which, counts)

    def _take(self, connection: Connection, table: Table, which: ColumnElement[bool], counts: Counter[str]) -> None:
        if self.dry_run:
            counts[table.name] += connection.execute(select(func.count()).select_from(table).where(which)).scalar_one()
        else:
            counts[table.name] += connection.execute(delete(table).where(which)).rowcount

    def _over(self) -> ColumnElement[bool]:
        """Return the condition that a lease was over before the moment, holds no resources and has no work left."""
        # A missed start leaves a lease in ERROR although its end was carried out; then no work is left.
        end_done = exists().where(
            events.c.lease_id == leases.c.id, events.c.type == EventType.END, events.c.status == EventStatus.DONE
        )
        ended = and_(
            leases.c.deleted_at.is_(None),
            leases.c.status.in_([LeaseStatus.TERMINATED, LeaseStatus.ERROR, LeaseStatus.TIMEDOUT]),
            end_done,
            leases.c.end_at < self.before,
            or_(leases.c.updated_at.is_(None), leases.c.updated_at < self.before),
        )
        promised = and_(
            allocations.c.ends_at > to_seconds(self.before), allocations.c.ends_at > allocations.c.starts_at
        )
        held = exists().where(
            allocations.c.lease_id == leases.c.id,
            or_(allocations.c.released_at.is_(None), allocations.c.released_at >= self.before, promised),
        )
        busy = exists().where(tasks.c.kind.in_([LEASE, END_NOTICE]), tasks.c.subject == leases.c.id, _at_work())
        return and_(or_(leases.c.deleted_at < self.before, ended), not_(held), not_(busy))

    def _abandoned(self) -> ColumnElement[bool]:
        """Return the condition that a resource was removed before the moment and nothing refers to it."""
        promises = allocations.alias("promises")  # An alias, because `_over` queries `allocations` too.
        referring = select(promises.c.id).where(promises.c.resource_number == resources.c.number)
        if self.dry_run:
            # Ignore allocations that a real run would have removed with their lease.
            referring = referring.join(leases, leases.c.id == promises.c.lease_id).where(not_(self._over()))
        busy = exists().where(tasks.c.kind != LEASE, tasks.c.subject == resources.c.id, _at_work())
        removed = and_(resources.c.alive.is_(None), resources.c.deleted_at < self.before)
        return and_(removed, not_(referring.exists()), not_(busy))


def _move(connection: Connection, names: Collection[str]) -> None:
    """Lock pools and move them on, so that who has seen what is removed learns that it has changed (decision 0095)."""
    bump_pools(connection, lock_pools(connection, names))


def _at_work() -> ColumnElement[bool]:
    return or_(tasks.c.due_at.is_not(None), tasks.c.claimed_by.is_not(None))


def _keys(
    connection: Connection, column: ColumnElement[Any], after: Key, which: ColumnElement[bool], most: int = BATCH
) -> list[Key]:
    """Return the next batch of keys of rows that meet the condition, in order."""
    query = select(column).where(column > after, which).order_by(column).limit(most)
    return list(connection.execute(query).scalars())
