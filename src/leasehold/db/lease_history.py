"""The past of a lease: what it was after each change, as its events and `lease_states` record it (feature L9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, literal, select, tuple_

from leasehold.db.lease_state import ACTOR, WHOLE, lease_of
from leasehold.db.tables import lease_states, outbox
from leasehold.model.actor import Actor
from leasehold.model.lease_history import Change

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row, Select, Table

CHUNK = 2_000
"""Leases of one statement."""
_TOLD = select(
    *(outbox.c.id, outbox.c.event_type, outbox.c.created_at.label("changed_at"), outbox.c.payload),
    *(outbox.c.lease_state, outbox.c.generation),
)
# Rows of versions before 0.2 have no generation, and are older than all others. Databases sort NULL in different ways.
_NEWEST_TOLD = (func.coalesce(outbox.c.generation, 0).desc(), outbox.c.id.desc())
_TOLD_ORDER = (func.coalesce(outbox.c.generation, 0), outbox.c.created_at, outbox.c.id)
"""The order of the events; the changes that no event tells of have generations of their own."""
_TOLD_ID, _UNTOLD_ID = "e", "s"
LONGEST_NUMBER = 18
"""Digits of a number that every database can compare."""
_UNTOLD = select(lease_states)
_NEWEST_UNTOLD = lease_states.c.generation.desc()


def list_changes(
    connection: Connection, lease_id: str, since: str | None = None, most: int | None = None
) -> Sequence[Change]:
    """Return the recorded changes of a lease, in the order of its generations: at most `most`, from `since` on.

    That is the id of a change; there is none if the lease has no such change. Three statements at most, of which each
    reads no more than `most` changes.
    """
    told = _TOLD.where(outbox.c.lease_id == lease_id).order_by(*_TOLD_ORDER).limit(most)
    untold = _UNTOLD.where(lease_states.c.lease_id == lease_id).order_by(lease_states.c.generation).limit(most)
    if since is not None:
        place = _place_of(connection, lease_id, since)
        if place is None:
            return []
        told = told.where(tuple_(*_TOLD_ORDER) >= tuple_(*map(literal, place)))
        untold = untold.where(lease_states.c.generation >= place[0])
    found = [*map(_told, connection.execute(told)), *map(_untold, connection.execute(untold))]
    # Events of one transaction have one generation; they keep their order, because sorting is stable.
    return sorted(found, key=lambda change: (change.lease.generation, change.time))[:most]


def _place_of(connection: Connection, lease_id: str, ident: str) -> tuple[int, datetime, int] | None:
    """Return where a change is in the order of the events, None if the lease has no such change."""
    kind, number = ident[:1], ident[1:]
    if not (number.isascii() and number.isdecimal() and len(number) <= LONGEST_NUMBER):
        return None
    told = select(*_TOLD_ORDER).where(outbox.c.lease_id == lease_id, outbox.c.id == int(number))
    untold = select(lease_states.c.generation, lease_states.c.changed_at, literal(0)).where(
        lease_states.c.lease_id == lease_id, lease_states.c.generation == int(number)
    )
    query = {_TOLD_ID: told, _UNTOLD_ID: untold}.get(kind)
    row = None if query is None else connection.execute(query).one_or_none()
    return None if row is None else (row[0], row[1], row[2])


def change_at(connection: Connection, lease_id: str, moment: datetime) -> Change | None:
    """Return the last change of a lease up to a moment, None if none is recorded; two statements.

    The last is the one of the greatest generation: the clocks of two processes may differ by a moment.
    """
    query = _TOLD.where(outbox.c.lease_id == lease_id, outbox.c.created_at <= moment)
    told = connection.execute(query.order_by(*_NEWEST_TOLD).limit(1)).one_or_none()
    query = _UNTOLD.where(lease_states.c.lease_id == lease_id, lease_states.c.changed_at <= moment)
    untold = connection.execute(query.order_by(_NEWEST_UNTOLD).limit(1)).one_or_none()
    if told is None or (untold is not None and untold.generation > (told.generation or 0)):
        return None if untold is None else _untold(untold)
    return _told(told)


def changes_at(connection: Connection, ids: Collection[str], moment: datetime) -> dict[str, Change]:
    """Return the last change of each of these leases up to a moment, as `change_at`; two statements a `CHUNK`."""
    wanted, found = sorted(ids), dict[str, Change]()
    for first in range(0, len(wanted), CHUNK):
        some = wanted[first : first + CHUNK]
        for row in connection.execute(_newest(_TOLD, outbox, outbox.c.created_at, some, moment).order_by(outbox.c.id)):
            change = _told(row)
            found[change.lease.id] = change
        for row in connection.execute(_newest(_UNTOLD, lease_states, lease_states.c.changed_at, some, moment)):
            known, change = found.get(row.lease_id), _untold(row)
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


def _told(row: Row[*tuple[Any, ...]]) -> Change:
    return _change(row, f"{_TOLD_ID}{row.id}", row.event_type)


def _untold(row: Row[*tuple[Any, ...]]) -> Change:
    return _change(row, f"{_UNTOLD_ID}{row.generation}", None)


def _change(row: Row[*tuple[Any, ...]], ident: str, event_type: str | None) -> Change:
    state = row.lease_state or {}
    actor = state.get(ACTOR)
    return Change(
        id=ident,
        time=row.changed_at,
        type=event_type,
        lease=lease_of(row.payload, state, row.generation or 0),
        whole=WHOLE in state,
        actor=None if actor is None else Actor(actor["user_id"], actor["project_id"]),
    )
