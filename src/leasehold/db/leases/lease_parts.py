"""The reservations and the events of leases, as they are read."""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import null, select, type_coerce, union_all

from leasehold.db.columns.lease_columns import EVENT, RESERVATION, read_event, read_lease, read_reservation, selected
from leasehold.db.dialects import IDS, AmongIds, among_few
from leasehold.db.tables import events, reservations
from leasehold.db.types import UtcDateTime

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row

    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Event, EventFields, Lease
    from leasehold.model.reservation import Reservation

Found: TypeAlias = "tuple[Row[*tuple[Any, ...]], tuple[Reservation, ...], Sequence[EventFields]]"
"""The row of a lease, its reservations, and the fields of its events."""
FEW = 100
"""The parts of so many leases are read by one statement; those of more by two, which have fewer columns."""


_RESERVATION = selected(reservations, RESERVATION)
_SHARED: tuple[ColumnElement[Any], ...] = (
    *(events.c.id, events.c.lease_id, null(), events.c.type),
    *(events.c.status, events.c.created_at, events.c.updated_at),
)
_EVENT = selected(events, EVENT)
_LEASE_ID, _POSITION = 1, 2
_NO_TIME: ColumnElement[Any] = type_coerce(null(), UtcDateTime).label("time")
_ONLY_OF_RESERVATIONS = len(_RESERVATION) - len(_SHARED)

_RESERVATIONS = select(*_RESERVATION)
_RESERVATIONS_BY_ID = _RESERVATIONS.where(AmongIds(reservations.c.lease_id))
_EVENTS_BY_ID = select(*_EVENT).where(AmongIds(events.c.lease_id))
_BOTH_BY_ID = union_all(
    _RESERVATIONS.add_columns(_NO_TIME).where(among_few(reservations.c.lease_id)),
    select(*_SHARED, *[null()] * _ONLY_OF_RESERVATIONS, events.c.time).where(among_few(events.c.lease_id)),
)


def read_parts(
    connection: Connection, ids: Sequence[str], held: Mapping[str, Sequence[Allocation]]
) -> tuple[Mapping[str, list[Reservation]], Mapping[str, list[EventFields]]]:
    """Return the reservations by position, and the fields of the events in any order, of each of these leases.

    `held` are the allocations of each reservation. Takes two statements, and for `FEW` leases one.
    """
    moments: Iterable[Any]
    if len(ids) > FEW:
        parts = connection.execute(_RESERVATIONS_BY_ID, {IDS: ids}).all()
        moments = connection.execute(_EVENTS_BY_ID, {IDS: ids}).all()
    else:
        both = connection.execute(_BOTH_BY_ID, {IDS: ids}).all()
        parts = [row for row in both if row[_POSITION] is not None]
        moments = (_event_fields(*row) for row in both if row[_POSITION] is None)
    found: defaultdict[str, list[EventFields]] = defaultdict(list)
    for each in moments:
        found[each[_LEASE_ID]].append(each)
    return _reservations(parts, held), found


def _event_fields(ident: str, lease_id: str, _: None, kind: str, *values: Any) -> EventFields:
    status, created_at, updated_at, *_others, time = values
    return ident, lease_id, kind, time, status, created_at, updated_at


def _reservations(
    rows: Sequence[Row[*tuple[Any, ...]]], held: Mapping[str, Sequence[Allocation]]
) -> Mapping[str, list[Reservation]]:
    found: defaultdict[str, list[Reservation]] = defaultdict(list)
    for row in sorted(rows, key=itemgetter(_POSITION)):
        found[row[_LEASE_ID]].append(read_reservation(row, held))
    return found


def events_of(found: Iterable[EventFields]) -> tuple[Event, ...]:
    """Return the events of a lease by time, those without one first."""
    made = list(map(read_event, found))
    try:
        made.sort(key=_TIME)
    except TypeError:  # One has no time; to ask each of them first would take longer than to sort them.
        made.sort(key=_moment)
    return tuple(made)


_TIME = attrgetter("time")


def _moment(event: Event) -> tuple[bool, datetime | None]:
    return (False, None) if event.time is None else (True, event.time)


def with_parts(
    connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]], ids: Sequence[str], held: Iterable[Allocation] = ()
) -> list[Found]:
    """Return the rows of leases with their parts, of which the reservations have these allocations in their order."""
    allocations_of: dict[str, list[Allocation]] = {}
    for each in held:
        allocations_of.setdefault(each.reservation_id, []).append(each)
    reservations_of, moments_of = read_parts(connection, ids, allocations_of)
    return [(row, tuple(reservations_of.get(row[0], ())), moments_of.get(row[0], ())) for row in rows]


def whole_lease(row: Row[*tuple[Any, ...]], parts: tuple[Reservation, ...], moments: Sequence[EventFields]) -> Lease:
    """Return a lease with its events."""
    return read_lease(row, parts, events_of(moments))
