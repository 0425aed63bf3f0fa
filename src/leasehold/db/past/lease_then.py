"""What a lease was at a moment, as its events and `lease_states` record each change of it (feature L9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, select

from leasehold.db.lease_state import ACTOR, WHOLE, lease_of
from leasehold.db.tables import lease_states, outbox
from leasehold.model.actor import Actor
from leasehold.model.lease_then import LeaseChange

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row, Select, Table

CHUNK = 2_000
"""Leases of one statement."""
TOLD = select(
    *(outbox.c.id, outbox.c.event_type, outbox.c.created_at.label("changed_at"), outbox.c.payload),
    *(outbox.c.lease_state, outbox.c.generation),
)
"""Changes that events tell of."""
# Rows of versions before 0.2 have no generation, and are older than all others. Databases sort NULL in different ways.
_NEWEST_TOLD = (func.coalesce(outbox.c.generation, 0).desc(), outbox.c.id.desc())
UNTOLD = select(lease_states)
"""Changes that no event tells of."""
TOLD_ID, UNTOLD_ID = "e", "s"
"""The first letters of the ids of changes."""
_NEWEST_UNTOLD = lease_states.c.generation.desc()


def change_at(connection: Connection, lease_id: str, moment: datetime) -> LeaseChange | None:
    """Return the last change of a lease up to a moment, None if none is recorded; two statements.

    The last is the one of the greatest generation: the clocks of two processes may differ by a moment.
    """
    query = TOLD.where(outbox.c.lease_id == lease_id, outbox.c.created_at <= moment)
    event = connection.execute(query.order_by(*_NEWEST_TOLD).limit(1)).one_or_none()
    query = UNTOLD.where(lease_states.c.lease_id == lease_id, lease_states.c.changed_at <= moment)
    state = connection.execute(query.order_by(_NEWEST_UNTOLD).limit(1)).one_or_none()
    if event is None or (state is not None and state.generation > (event.generation or 0)):
        return None if state is None else untold(state)
    return told(event)


def changes_at(connection: Connection, ids: Collection[str], moment: datetime) -> dict[str, LeaseChange]:
    """Return the last change of each of these leases up to a moment, as `change_at`; two statements a `CHUNK`."""
    wanted, found = sorted(ids), dict[str, LeaseChange]()
    for first in range(0, len(wanted), CHUNK):
        some = wanted[first : first + CHUNK]
        for row in connection.execute(_newest(TOLD, outbox, outbox.c.created_at, some, moment).order_by(outbox.c.id)):
            change = told(row)
            found[change.lease.id] = change
        for row in connection.execute(_newest(UNTOLD, lease_states, lease_states.c.changed_at, some, moment)):
            known, change = found.get(row.lease_id), untold(row)
            if known is None or row.generation > known.lease.generation:
                found[row.lease_id] = change
    return found


def _newest(
    query: Select[Any], table: Table, changed: ColumnElement[Any], ids: Collection[str], moment: datetime
) -> Select[Any]:
    """Return the rows of the greatest generation of each of these leases up to a moment."""
    generation = func.coalesce(table.c.generation, 0)
    there = (table.c.lease_id.in_(ids), changed <= moment)
    newest = select(table.c.lease_id, func.max(generation).label("newest")).where(*there).group_by(table.c.lease_id)
    last = newest.subquery()
    return query.join(last, and_(last.c.lease_id == table.c.lease_id, last.c.newest == generation)).where(*there)


def has_changes(connection: Connection, lease_id: str) -> bool:
    """Say whether an event tells of a lease; an offer that nobody has accepted has none."""
    return connection.execute(select(outbox.c.id).where(outbox.c.lease_id == lease_id).limit(1)).first() is not None


def told(row: Row[*tuple[Any, ...]]) -> LeaseChange:
    """Return the change that a row of `TOLD` has."""
    return _change(row, f"{TOLD_ID}{row.id}", row.event_type)


def untold(row: Row[*tuple[Any, ...]]) -> LeaseChange:
    """Return the change that a row of `UNTOLD` has."""
    return _change(row, f"{UNTOLD_ID}{row.generation}", None)


def _change(row: Row[*tuple[Any, ...]], ident: str, event_type: str | None) -> LeaseChange:
    state = row.lease_state or {}
    actor = state.get(ACTOR)
    return LeaseChange(
        id=ident,
        time=row.changed_at,
        type=event_type,
        lease=lease_of(row.payload, state, row.generation or 0),
        whole=WHOLE in state,
        actor=None if actor is None else Actor(actor["user_id"], actor["project_id"]),
    )
