"""History: removal for good of what was deleted or over long ago (`leasehold-manage purge`).

Services may run meanwhile: each batch is a transaction of its own, and checks the chosen rows again under a lock. A
calendar that was last updated before `before` would keep purged allocations, so `before` lies at least `LEAST_AGE` in
the past.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import ColumnElement, and_, delete, exists, func, not_, or_, select

from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.store import Database
from leasehold.db.tables import (
    allocations,
    events,
    idempotency_keys,
    leases,
    outbox,
    reservations,
    resource_properties,
    resources,
    tasks,
)
from leasehold.db.task import LEASE
from leasehold.model.states import EventStatus, EventType, LeaseStatus
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection, Engine, Table

LEAST_AGE = timedelta(days=1)
"""How long ago something must have been over before it may be purged."""
BATCH = 100
"""Leases or resources in one transaction: few enough that no other transaction waits long for it."""
COUNTED = (
    leases,
    reservations,
    allocations,
    events,
    tasks,
    outbox,
    idempotency_keys,
    resources,
    resource_properties,
)

Key = TypeVar("Key", str, int)


def purge(engine: Engine, before: datetime, *, dry_run: bool) -> dict[str, int]:
    """Remove what was over before a moment and return the number of removed rows by table; `dry_run` only counts.

    First remove leases that were deleted, or whose end was carried out, before that moment, with all their rows. Then
    remove the removed resources that nothing refers to any more. Keep what is alive, not released or has work left.
    """
    db, work = Database(engine), _Purge(before, dry_run)
    counts: Counter[str] = Counter()
    _in_batches(db, work.leases, "", counts, dry_run=dry_run)
    _in_batches(db, work.resources, 0, counts, dry_run=dry_run)
    return {table.name: counts[table.name] for table in COUNTED}


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

    before: datetime
    dry_run: bool

    def leases(self, connection: Connection, after: str, counts: Counter[str]) -> str | None:
        over = self._over()
        ids = _keys(connection, leases.c.id, after, over)
        if not ids:
            return None
        last: str = ids[-1]
        if not self.dry_run:
            # Every change of a lease locks its row first, so a condition checked under the lock holds until the commit.
            mine = leases.c.id.in_(ids)
            connection.execute(select(leases.c.id).where(mine).order_by(leases.c.id).with_for_update()).all()
            ids = list(connection.scalars(select(leases.c.id).where(mine, over)))
        for table in (allocations, reservations, events, outbox, idempotency_keys):
            self._take(connection, table, table.c.lease_id.in_(ids), counts)
        # Tasks of every kind: only tasks about a lease have its id as their subject.
        self._take(connection, tasks, tasks.c.subject.in_(ids), counts)
        self._take(connection, leases, leases.c.id.in_(ids), counts)
        return last

    def resources(self, connection: Connection, after: int, counts: Counter[str]) -> int | None:
        numbers = _keys(connection, resources.c.number, after, self._abandoned())
        if not numbers:
            return None
        mine = resources.c.number.in_(numbers)
        if not self.dry_run:
            # Enrolling, removing, and making the task of a removed host due again all lock the pool first.
            pools = set(connection.scalars(select(resources.c.pool).where(mine)))
            generations = lock_pools(connection, pools)
            bump_pools(connection, generations)
        rows = connection.execute(select(resources.c.number, resources.c.id).where(mine, self._abandoned())).all()
        found, ids = [row.number for row in rows], {row.id for row in rows}
        self._take(connection, resource_properties, resource_properties.c.resource_number.in_(found), counts)
        done = and_(tasks.c.kind != LEASE, tasks.c.subject.in_(ids), not_(_at_work()))
        self._take(connection, tasks, done, counts)
        self._take(connection, resources, resources.c.number.in_(found), counts)
        last: int = numbers[-1]
        return last

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
            leases.c.status.in_([LeaseStatus.TERMINATED, LeaseStatus.ERROR]),
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
        busy = exists().where(tasks.c.kind == LEASE, tasks.c.subject == leases.c.id, _at_work())
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


def _at_work() -> ColumnElement[bool]:
    return or_(tasks.c.due_at.is_not(None), tasks.c.claimed_by.is_not(None))


def _keys(connection: Connection, column: ColumnElement[Any], after: object, which: ColumnElement[bool]) -> list[Any]:
    """Return the next batch of keys of rows that meet the condition, in order."""
    query = select(column).where(column > after, which).order_by(column).limit(BATCH)
    return list(connection.execute(query).scalars())
