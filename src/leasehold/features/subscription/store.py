"""Subscriptions: their rows, their claims, and the events that their receivers refused (decision 0040).

A claim is a compare-and-swap with an expiry, as for tasks. While somebody has the claim, only they move `position`; a
replay takes the claim away.
"""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, bindparam, case, delete, exists, func, insert, or_, select, update

from leasehold.db.paging import Listed, of_project
from leasehold.db.tables import dead_letters, event_log, outbox, subscriptions
from leasehold.features.subscription.model import (
    SUBSCRIBABLE,
    ChannelName,
    DeadLetter,
    DeliveryProgress,
    DueSubscription,
    Subscription,
)
from leasehold.features.subscription.model import SubscriptionStatus as Status
from leasehold.model.paging import WHOLE, PageRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row, Select

LONGEST_ERROR = 1_000
"""In characters."""
MOST_CANDIDATES = 1_000
"""Subscriptions, of slow ones and of others, that one look for work reads; the rest follow when these are served."""

_END = select(event_log.c.last).scalar_subquery()
_NEWS = exists().where(
    outbox.c.project_id == subscriptions.c.project_id,
    outbox.c.position > subscriptions.c.position,
    outbox.c.resource_id.is_(None),
)
_VISIBLE = subscriptions.c.channel.in_([each.value for each in SUBSCRIBABLE])
_FREE = and_(
    subscriptions.c.suspended_at.is_(None),
    or_(subscriptions.c.due_at.is_(None), subscriptions.c.due_at <= bindparam("now")),
    or_(subscriptions.c.claim_until.is_(None), subscriptions.c.claim_until < bindparam("now")),
)


def _candidates(which: ColumnElement[bool]) -> Select[Any]:
    """Select those to serve by project in turn: of each project the one that was served longest ago, then the next."""
    mine = subscriptions.c
    turns = select(mine.project_id, func.max(mine.served_at).label("turn")).where(which).group_by(mine.project_id)
    turn = turns.subquery()
    place = func.row_number().over(partition_by=mine.project_id, order_by=(mine.served_at, mine.id)).label("place")
    # A newer version may know channels that this one does not, and each program serves its own.
    served_here = mine.channel.in_(bindparam("channels", expanding=True))
    return (
        select(mine.id, mine.project_id, place, turn.c.turn)
        .join(turn, turn.c.project_id == mine.project_id)
        .where(which, mine.position < _END, _FREE, or_(mine.all_projects, _NEWS), served_here)
        .order_by(place, turn.c.turn, mine.project_id)
        .limit(MOST_CANDIDATES)
    )


_SLOW = _candidates(subscriptions.c.slow_until > bindparam("now"))
_QUICK = _candidates(or_(subscriptions.c.slow_until.is_(None), subscriptions.c.slow_until <= bindparam("now")))
_CLAIM = (
    update(subscriptions)
    .where(subscriptions.c.id.in_(bindparam("ids", expanding=True)), _FREE)
    .values(claimed_by=bindparam("claimer"), claim_until=bindparam("until"), served_at=bindparam("now"))
)
_NAMES = tuple(each.name for each in fields(Subscription))
_STATUS = case(
    (subscriptions.c.suspended_at.is_not(None), Status.SUSPENDED),
    (subscriptions.c.failing_since.is_(None), Status.ACTIVE),
    else_=Status.FAILING,
)
_LISTED = Listed(subscriptions, {"status": _STATUS, "own": subscriptions.c.own.is_(True)})


def _columns(progress: DeliveryProgress) -> dict[str, Any]:
    """Return the columns, with the error cut to `LONGEST_ERROR`."""
    error = None if progress.last_error is None else progress.last_error[:LONGEST_ERROR]
    return {**asdict(progress), "last_error": error}


def add_subscription(connection: Connection, new: Subscription) -> None:
    """Write a subscription."""
    connection.execute(
        insert(subscriptions), {**asdict(new), "event_types": list(new.event_types), "served_at": new.created_at}
    )


def count_subscriptions(connection: Connection, project_id: str) -> int:
    """Return how many subscriptions a project has."""
    query = select(func.count()).select_from(subscriptions).where(subscriptions.c.project_id == project_id)
    return connection.execute(query).scalar_one()


def list_subscriptions(
    connection: Connection, project_id: str | None, part: PageRequest = WHOLE
) -> Sequence[Subscription]:
    """Return a part of the subscriptions of a project, or with None of all projects, oldest first, without the bus."""
    return list(map(_subscription, _LISTED.rows(connection, part, _VISIBLE, *of_project(subscriptions, project_id))))


def find_subscription(
    connection: Connection, ident: str, *, lock: bool = False, channels: Collection[ChannelName] = SUBSCRIBABLE
) -> Subscription | None:
    """Return a subscription of these channels, or None; `lock` keeps others from changing it before the commit."""
    mine = (subscriptions.c.id == ident, subscriptions.c.channel.in_([each.value for each in channels]))
    query = select(subscriptions).where(*mine)
    row = connection.execute(query.with_for_update() if lock else query).first()
    return None if row is None else _subscription(row)


def delete_subscription(connection: Connection, ident: str) -> None:
    """Remove a subscription, which is locked, with its dead letters."""
    connection.execute(delete(dead_letters).where(dead_letters.c.subscription_id == ident))
    connection.execute(delete(subscriptions).where(subscriptions.c.id == ident))


def _subscription(row: Row[Any]) -> Subscription:
    values = {name: row._mapping[name] for name in _NAMES}  # noqa: SLF001 - SQLAlchemy's public name for it.
    read = {"channel": ChannelName(row.channel), "event_types": tuple(row.event_types), "own": bool(row.own)}
    return Subscription(**{**values, **read})


# ---------------------------------------------------------------- claims


def candidates(
    connection: Connection, now: datetime, channels: Collection[ChannelName] = SUBSCRIBABLE
) -> Sequence[DueSubscription]:
    """Return the subscriptions of these channels that nobody has claimed and that have events, by project in turn.

    Neither those of a project with many slow receivers nor those furthest behind are served again and again.
    """
    found = []
    # One after the other, so that many that are slow do not fill the places of the others.
    for slow, query in ((False, _QUICK), (True, _SLOW)):
        values = {"now": now, "channels": [each.value for each in channels]}
        found += [(row, slow) for row in connection.execute(query, values)]
    found.sort(key=lambda each: (each[0].place, each[0].turn, each[0].project_id))
    return [DueSubscription(row.id, row.project_id, slow) for row, slow in found]


def claim_subscriptions(
    connection: Connection, ids: Collection[str], claimer: str, now: datetime, until: datetime
) -> Sequence[Subscription]:
    """Claim those of these subscriptions that are still free, and return them; `claimer` must be new for each call."""
    if connection.execute(_CLAIM, {"ids": ids, "claimer": claimer, "now": now, "until": until}).rowcount == 0:
        return []
    won = select(subscriptions).where(subscriptions.c.id.in_(ids), subscriptions.c.claimed_by == claimer)
    return list(map(_subscription, connection.execute(won)))


def save_progress(
    connection: Connection,
    ident: str,
    claimer: str,
    progress: DeliveryProgress,
    until: datetime | None,
    dead: DeadLetter | None = None,
) -> bool:
    """Record how far a claimed subscription has come, and an event that is given up; say whether the claim still holds.

    The claim then lasts until a moment, None releases it. Without the claim nothing is written.
    """
    mine = (subscriptions.c.id == ident, subscriptions.c.claimed_by == claimer)
    claim = {"claim_until": until, "claimed_by": None if until is None else claimer}
    if connection.execute(update(subscriptions).where(*mine).values(**_columns(progress), **claim)).rowcount == 0:
        return False
    if dead is not None:
        row = {**asdict(dead), "lease_id": dead.lease_id or "", "error": dead.error[:LONGEST_ERROR]}
        _forget(connection, ident, dead_letters.c.position == dead.position)
        connection.execute(insert(dead_letters), {"subscription_id": ident, **row})
    return True


def release_claims(connection: Connection, ids: Collection[str], claimers: Collection[str]) -> None:
    """Release these claims at once: their manager stops before it has begun."""
    mine = (subscriptions.c.id.in_(ids), subscriptions.c.claimed_by.in_(claimers))
    connection.execute(update(subscriptions).where(*mine).values(claimed_by=None, claim_until=None))


# ---------------------------------------------------------------- dead letters


def list_dead_letters(connection: Connection, ident: str, after: int, limit: int) -> Sequence[DeadLetter]:
    """Return up to `limit` dead letters of a subscription after a position, in the order of the log."""
    mine = (dead_letters.c.subscription_id == ident, dead_letters.c.position > after)
    rows = connection.execute(select(dead_letters).where(*mine).order_by(dead_letters.c.position).limit(limit))
    return [
        DeadLetter(row.event_id, row.position, row.event_type, row.lease_id or None, row.died_at, row.error)
        for row in rows
    ]


def rewind(connection: Connection, ident: str, position: int, due_at: datetime | None = None) -> None:
    """Let a subscription, which is locked, go on after a position, whatever failed before; its claim is taken away.

    Nothing is sent before `due_at`, if one is given. It stays slow: otherwise a replay would get a receiver that hangs
    a thread of the others.
    """
    values = {**_columns(DeliveryProgress(position, due_at=due_at)), "claimed_by": None, "claim_until": None}
    del values["slow_until"]
    connection.execute(update(subscriptions).where(subscriptions.c.id == ident).values(**values))
    _forget(connection, ident, dead_letters.c.position > position)


def _forget(connection: Connection, ident: str, which: ColumnElement[bool]) -> None:
    connection.execute(delete(dead_letters).where(dead_letters.c.subscription_id == ident, which))
