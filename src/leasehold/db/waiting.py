"""Leases that wait for resources, in the database: what they wait for, who is next, and tries that come sooner.

A pool's row says whether any lease may wait for it. Transactions that free something have read that row under its lock,
so they need no statement to learn that nobody waits.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, or_, select, update

from leasehold.db.pool import lock_order
from leasehold.db.tables import leases, pools, tasks
from leasehold.db.task import LEASE
from leasehold.model.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection

    from leasehold.db.pool import LockedPools
    from leasehold.model.lease import Lease

MOST = 100
"""How many leases that wait are looked at together, oldest first: the others are tried when their pause is over."""
AT_ONCE = 10
"""So many are tried as soon as something becomes free, the others of them `SOON` after."""
SOON = timedelta(seconds=5)
"""However often something becomes free, each of the others is tried once in this time: each try locks its pools."""
_IN_LINE = select(leases.c.id, leases.c.waiting).where(leases.c.waiting_since.is_not(None))
_ORDER = (leases.c.waiting_since, leases.c.id)
_HURRY = (
    update(tasks)
    .where(
        tasks.c.kind == LEASE,
        tasks.c.subject.in_(bindparam("ids", expanding=True)),
        or_(tasks.c.due_at > bindparam("due"), tasks.c.claimed_by.is_not(None)),
    )
    .values(due_at=bindparam("due"))
)
_MARK = update(pools).where(pools.c.name == bindparam("pool")).values(waiting=bindparam("flag"))


def write_waiting(lease: Lease) -> dict[str, Any]:
    """Return the columns of a lease that say what it waits for."""
    waiting = lease.waiting
    if waiting is None:
        return {"waiting": None, "waiting_since": None}
    stored = {
        "since": waiting.since.isoformat(),
        "next_try": waiting.next_try.isoformat(),
        "pause": waiting.pause.total_seconds(),
        "pools": sorted(waiting.pools),
        "retries": waiting.retries,
        "deadline": None if waiting.deadline is None else waiting.deadline.isoformat(),
        "tried": waiting.tried,
        "passed_over": waiting.passed_over,
        "granted": waiting.granted,
    }
    return {"waiting": stored, "waiting_since": waiting.since if lease.waits else None}


def read_waiting(stored: Mapping[str, Any] | None) -> Waiting | None:
    """Return what `write_waiting` has written."""
    if stored is None:
        return None
    deadline = stored["deadline"]
    return Waiting(
        since=datetime.fromisoformat(stored["since"]),
        next_try=datetime.fromisoformat(stored["next_try"]),
        pause=timedelta(seconds=stored["pause"]),
        pools=frozenset(stored["pools"]),
        retries=stored["retries"],
        deadline=None if deadline is None else datetime.fromisoformat(deadline),
        tried=stored["tried"],
        passed_over=stored["passed_over"],
        granted=stored["granted"],
    )


def ahead_of(
    connection: Connection, pool_names: Collection[str], place: tuple[datetime, str] | None
) -> list[tuple[str, Waiting]]:
    """Return the leases that wait for any of these pools, the longest waiting first, `MOST` at most.

    With a `place`, which is since when a lease waits and its id, only those before it.
    """
    query = _IN_LINE
    if place is not None:
        since, lease_id = place
        same = and_(leases.c.waiting_since == since, leases.c.id < lease_id)
        query = query.where(or_(leases.c.waiting_since < since, same))
    found = []
    for row in connection.execute(query.order_by(*_ORDER)):
        waiting = read_waiting(row.waiting)
        if waiting is not None and not waiting.pools.isdisjoint(pool_names):
            found.append((row.id, waiting))
            if len(found) == MOST:
                break
    return found


def mark_waiting(connection: Connection, pool_names: Collection[str]) -> None:
    """Note at the rows of these pools, which the transaction has locked, that a lease waits for them."""
    _mark(connection, pool_names, flag=True)


def hurry_waiting(connection: Connection, locked: LockedPools, now: datetime) -> None:
    """Make the tries of leases due that wait for these pools, of which something may have become free.

    The first `AT_ONCE` in line are due now, the others a little later. Takes no statement if no lease waits for them.
    """
    marked = {name for name, state in locked.states.items() if state.waiting}
    if not marked:
        return
    found = ahead_of(connection, marked, None)
    ids = [ident for ident, _ in found]
    hurry_tries(connection, ids[:AT_ONCE], now)
    hurry_tries(connection, ids[AT_ONCE:], now + SOON)
    unwanted = marked.difference(*(waiting.pools for _, waiting in found))
    if len(found) < MOST:
        _mark(connection, unwanted, flag=False)


def hurry_tries(connection: Connection, lease_ids: Sequence[str], due: datetime) -> None:
    """Make the tasks of these leases due at a moment, unless they are due before; also those that run at present."""
    if lease_ids:
        connection.execute(_HURRY, {"ids": sorted(lease_ids), "due": due})


def _mark(connection: Connection, names: Collection[str], *, flag: bool) -> None:
    for name in lock_order(names):
        connection.execute(_MARK, {"pool": name, "flag": flag})
