"""The recorded changes of a lease, page by page (feature L9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, literal, select, tuple_

from leasehold.db.past.lease_then import TOLD, TOLD_ID, UNTOLD, UNTOLD_ID, told, untold
from leasehold.db.tables import lease_states, outbox

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.model.lease_then import LeaseChange

_TOLD_ORDER = (func.coalesce(outbox.c.generation, 0), outbox.c.created_at, outbox.c.id)
"""The order of the events; the changes that no event tells of have generations of their own."""
LONGEST_NUMBER = 18
"""Digits of a number that every database can compare."""


def list_changes(
    connection: Connection, lease_id: str, since: str | None = None, most: int | None = None
) -> Sequence[LeaseChange]:
    """Return the recorded changes of a lease, in the order of its generations: at most `most`, from `since` on.

    That is the id of a change; there is none if the lease has no such change. Three statements at most, of which each
    reads no more than `most` changes.
    """
    events = TOLD.where(outbox.c.lease_id == lease_id).order_by(*_TOLD_ORDER).limit(most)
    states = UNTOLD.where(lease_states.c.lease_id == lease_id).order_by(lease_states.c.generation).limit(most)
    if since is not None:
        place = _place_of(connection, lease_id, since)
        if place is None:
            return []
        events = events.where(tuple_(*_TOLD_ORDER) >= tuple_(*map(literal, place)))
        states = states.where(lease_states.c.generation >= place[0])
    found = [*map(told, connection.execute(events)), *map(untold, connection.execute(states))]
    # Events of one transaction have one generation; they keep their order, because sorting is stable.
    return sorted(found, key=lambda change: (change.lease.generation, change.time))[:most]


def _place_of(connection: Connection, lease_id: str, ident: str) -> tuple[int, datetime, int] | None:
    """Return where a change is in the order of the events, None if the lease has no such change."""
    kind, number = ident[:1], ident[1:]
    if not (number.isascii() and number.isdecimal() and len(number) <= LONGEST_NUMBER):
        return None
    event = select(*_TOLD_ORDER).where(outbox.c.lease_id == lease_id, outbox.c.id == int(number))
    state = select(lease_states.c.generation, lease_states.c.changed_at, literal(0)).where(
        lease_states.c.lease_id == lease_id, lease_states.c.generation == int(number)
    )
    query = {TOLD_ID: event, UNTOLD_ID: state}.get(kind)
    row = None if query is None else connection.execute(query).one_or_none()
    return None if row is None else (row[0], row[1], row[2])
