"""The event log: rows of the outbox get their positions, and readers page through them (design §3, decision 0037).

Transactions commit in another order than they insert, so the key of a row is no place in a log that is read while it is
written. A row becomes visible to readers when the sequencer, in a transaction of its own, gives it a position: the next
one, without gaps. The sequencer and the purge lock the row of `event_log` first.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import bindparam, func, select, update

from leasehold.db.store import GenerationRaceError
from leasehold.db.tables import event_log, outbox
from leasehold.model.event_log import Cursor, EventFilter, LogEvent, in_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row

CHUNK = 50
"""Rows that are read at a time: the payload of a lease may have some 100 kB."""

_WAITING = select(
    *(outbox.c.id, outbox.c.lease_id, outbox.c.generation, outbox.c.event_type, outbox.c.created_at)
).where(outbox.c.position.is_(None))
_PLACE = update(outbox).where(outbox.c.id == bindparam("key")).values(position=bindparam("at"), nonce=bindparam("mark"))


@dataclass(frozen=True, slots=True)
class LogState:
    """How far the log has come: the cursor of its last event, and the last position that was purged (0: none)."""

    end: Cursor
    purged: int


@dataclass(frozen=True, slots=True)
class Sequenced:
    """An event that was given its position: its type, and when it happened."""

    type: str
    time: datetime


def is_anything_unsequenced(connection: Connection) -> bool:
    """Say whether an event has no position yet."""
    return connection.execute(_WAITING.with_only_columns(outbox.c.id).limit(1)).first() is not None


def sequence(connection: Connection, most: int) -> Sequence[Sequenced]:
    """Give the oldest events without a position their positions, `most` or a few more; return them.

    Raises GenerationRaceError when another node of a cluster did so at the same time.
    """
    state = lock_log(connection)
    rows = connection.execute(_WAITING.order_by(outbox.c.id).limit(most)).all()
    if len(rows) == most:
        # An event of these leases may have a greater key than a later one (`in_order`), and one may have been committed
        # since the first look, so all of theirs are looked up at one moment.
        leases = {row.lease_id for row in rows if row.lease_id}
        of_them = connection.execute(_WAITING.where(outbox.c.lease_id.in_(leases))).all()
        rows = sorted({row.id: row for row in (*rows, *of_them)}.values(), key=lambda row: row.id)
    if not rows:
        return ()
    nonce = secrets.token_hex(8)
    places = enumerate(in_order(rows), start=state.end.position + 1)
    connection.execute(_PLACE, [{"key": row.id, "at": position, "mark": nonce} for position, row in places])
    mine = (event_log.c.last == state.end.position, event_log.c.nonce == state.end.nonce)
    moved = update(event_log).where(*mine).values(last=state.end.position + len(rows), nonce=nonce)
    if connection.execute(moved).rowcount != 1:
        message = "Another process sequenced events at the same time."
        raise GenerationRaceError(message)
    return [Sequenced(row.event_type, row.created_at) for row in rows]


def mark_purged(connection: Connection, which: ColumnElement[bool]) -> None:
    """Record that the events that meet a condition are about to be purged, so that readers learn that they miss some.

    The lock keeps these events from getting positions meanwhile, which nobody would find.
    """
    state = lock_log(connection)
    last = connection.execute(select(func.max(outbox.c.position)).where(which)).scalar_one() or 0
    connection.execute(update(event_log).values(purged=max(state.purged, last)))


def lock_log(connection: Connection) -> LogState:
    """Lock the log until the end of the transaction, and return how far it has come."""
    return _state(connection.execute(select(event_log).with_for_update()).one())


def log_state(connection: Connection) -> LogState:
    """Return how far the log has come."""
    return _state(connection.execute(select(event_log)).one())


def _state(row: Row[Any]) -> LogState:
    return LogState(Cursor(row.last, row.nonce), row.purged)


def nonce_at(connection: Connection, position: int) -> str | None:
    """Return the nonce of the event at a position; None if there is no such event."""
    nonce: str | None = connection.execute(select(outbox.c.nonce).where(outbox.c.position == position)).scalar()
    return nonce


def each_event(connection: Connection, after: int, wanted: EventFilter, limit: int) -> Iterator[LogEvent]:
    """Yield up to `limit` events after a position, in order; reads `CHUNK` of them with each statement."""
    query = select(outbox).order_by(outbox.c.position).where(*_conditions(wanted))
    while limit > 0:
        most = min(limit, CHUNK)
        rows = connection.execute(query.where(outbox.c.position > after).limit(most)).all()
        yield from map(_event, rows)
        if len(rows) < most:
            return
        after, limit = rows[-1].position, limit - most


def _conditions(wanted: EventFilter) -> list[ColumnElement[bool]]:
    found = []
    if wanted.project_id is not None:
        # The second condition holds anyway, because no caller has an empty project; it is there to stay true.
        found += [outbox.c.project_id == wanted.project_id, outbox.c.resource_id.is_(None)]
    if wanted.lease_id is not None:
        found += [outbox.c.lease_id == wanted.lease_id]
    if wanted.types:
        found += [outbox.c.event_type.in_(wanted.types)]
    if wanted.since is not None:
        found += [outbox.c.created_at >= wanted.since]
    if wanted.user_id is not None:
        # Events of resources have no user. MariaDB ignores blanks at the end of a value in JSON, hence the stop.
        found += [outbox.c.payload["user_id"].as_string().concat(".") == f"{wanted.user_id}."]
    return found


def _event(row: Row[Any]) -> LogEvent:
    return LogEvent(
        cursor=Cursor(row.position, row.nonce),
        type=row.event_type,
        time=row.created_at,
        project_id=row.project_id or None,
        lease_id=row.lease_id or None,
        resource_type=row.resource_type,
        resource_id=row.resource_id,
        payload=row.payload,
        lease_state=row.lease_state,
    )


def last_by_project(connection: Connection, after: int) -> Mapping[str, int]:
    """Return the position of the last event of each project that has any after a position; "" has the resources'."""
    query = select(outbox.c.project_id, func.max(outbox.c.position)).where(outbox.c.position > after)
    return dict(connection.execute(query.group_by(outbox.c.project_id)).all())
