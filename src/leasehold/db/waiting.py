"""Leases that wait for resources, in the database: what they wait for, and tries that come sooner.

A pool's row says whether any lease may wait for it. Transactions that free something have read that row under its lock,
so they need no statement to learn that nobody waits.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, bindparam, func, or_, select, update

from leasehold.db.columns.waits import read_waiting
from leasehold.db.pool import lock_order
from leasehold.db.tables import allocations, leases, pools, resources, tasks
from leasehold.db.task import LEASE
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.waiting import WaitingLease
from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.pool import LockedPools
    from leasehold.model.terms.margins import Margins
    from leasehold.model.terms.waiting import Waiting

MOST = 100
"""How many leases that wait are looked at together: the others are tried when their pause is over."""
AT_ONCE = 10
"""So many are tried as soon as something becomes free, the others of them `SOON` after."""
SOON = timedelta(seconds=5)
"""However often something becomes free, each of the others is tried once in this time: each try locks its pools."""
_HOLDING = frozenset({LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE, LeaseStatus.TERMINATING})
_WAITING = (
    select(leases.c.id, leases.c.project_id, leases.c.user_id, leases.c.waiting)
    .where(leases.c.waiting_since.is_not(None))
    .order_by(leases.c.waiting_since, leases.c.id)
)
_HURRY = (
    update(tasks)
    .where(
        tasks.c.kind == LEASE,
        tasks.c.subject.in_(bindparam("ids", expanding=True)),
        or_(tasks.c.due_at > bindparam("due"), tasks.c.claimed_by.is_not(None)),
    )
    .values(due_at=bindparam("due"))
)
_FIRST_END = (
    select(func.min(allocations.c.ends_at))
    # From the resources, because of the index of allocations over these columns.
    .join(resources, resources.c.number == allocations.c.resource_number)
    .where(
        resources.c.pool.in_(bindparam("pools", expanding=True)),
        allocations.c.ends_at > bindparam("after", type_=BigInteger),
        allocations.c.ends_at <= bindparam("until", type_=BigInteger),
    )
)
_LONGER = select(func.count()).select_from(leases).where(leases.c.waiting_since < bindparam("since"))
_MARK = update(pools).where(pools.c.name == bindparam("pool")).values(waiting=bindparam("flag"))


def waiting_for(connection: Connection, pool_names: Collection[str]) -> Iterator[WaitingLease]:
    """Yield the leases that wait for any of these pools, the longest waiting first."""
    for row in connection.execute(_WAITING):
        waiting = read_waiting(row.waiting)
        if waiting is not None and not waiting.pools.isdisjoint(pool_names):
            yield WaitingLease(row.id, row.project_id, row.user_id, waiting)


def count_granted(connection: Connection, project_ids: Collection[str], now: datetime) -> Mapping[str, int]:
    """Return for each of these projects how many leases it has that were granted and are not over."""
    found = select(leases.c.project_id, func.count()).where(
        leases.c.project_id.in_(sorted(project_ids)),
        leases.c.deleted_at.is_(None),
        leases.c.end_at > now,
        leases.c.status.in_(sorted(_HOLDING)),
    )
    counts = dict.fromkeys(project_ids, 0)
    counts.update((row[0], row[1]) for row in connection.execute(found.group_by(leases.c.project_id)))
    return counts


def mark_waiting(connection: Connection, pool_names: Collection[str]) -> None:
    """Note at the rows of these pools, which the transaction has locked, that a lease waits for them."""
    _mark(connection, pool_names, flag=True)


def hurry_waiting(connection: Connection, locked: LockedPools, now: datetime) -> None:
    """Make the tries of leases due that wait for these pools, of which something may have become free.

    The `AT_ONCE` that have waited longest are due now, the others a little later. Takes no statement if no lease waits
    for the pools.
    """
    marked = {name for name, state in locked.states.items() if state.waiting}
    if not marked:
        return
    found = list(islice(waiting_for(connection, marked), MOST))
    ids = [each.id for each in found]
    hurry_tries(connection, ids[:AT_ONCE], now)
    hurry_tries(connection, ids[AT_ONCE:], now + SOON)
    unwanted = marked.difference(*(each.waiting.pools for each in found))
    if len(found) < MOST:
        _mark(connection, unwanted, flag=False)


def hurry_tries(connection: Connection, lease_ids: Sequence[str], due: datetime) -> None:
    """Make the tasks of these leases due at a moment, unless they are due before; also those that run at present."""
    if lease_ids:
        connection.execute(_HURRY, {"ids": sorted(lease_ids), "due": due})


def next_clean(connection: Connection, waiting: Waiting, margins: Margins, now: datetime) -> datetime | None:
    """Return when to try a lease because the next resources that ended leases had are clean; None: nothing is cleaned.

    They were released before, mostly, and all who wait were tried in vain. As with `hurry_waiting` the `AT_ONCE` that
    have waited longest come first, and those beyond `MOST` wait for their pause. Takes no statement without cleaning.
    """
    cleaned: dict[timedelta, list[str]] = defaultdict(list)
    for pool in sorted(waiting.pools):
        cleaned[margins.of(pool)].append(pool)
    cleaned.pop(timedelta(0), None)
    ahead = connection.execute(_LONGER, {"since": waiting.since}).scalar_one() if cleaned else MOST
    if ahead >= MOST:
        return None
    moments = []
    for cleaning, pool_names in cleaned.items():
        values = {"after": to_seconds(now - cleaning), "until": to_seconds(now), "pools": pool_names}
        end: int | None = connection.execute(_FIRST_END, values).scalar_one()
        if end is not None:
            moments.append(from_seconds(end) + cleaning)
    return min(moments) + (timedelta(0) if ahead < AT_ONCE else SOON) if moments else None


def _mark(connection: Connection, names: Collection[str], *, flag: bool) -> None:
    for name in lock_order(names):
        connection.execute(_MARK, {"pool": name, "flag": flag})
