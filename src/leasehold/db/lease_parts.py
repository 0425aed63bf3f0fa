"""The reservations and the events of leases, as they are read."""

from __future__ import annotations

from collections import defaultdict
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, null, select, type_coerce, union_all

from leasehold.db.default_properties import read_default_properties
from leasehold.db.dialects import IDS, AmongIds, JsonText, among_few
from leasehold.db.ending import read_ending
from leasehold.db.no_show import read_no_show
from leasehold.db.opened import opened
from leasehold.db.tables import events, reservations
from leasehold.db.types import QuickJson, UtcDateTime
from leasehold.model.ending import DELETED_AT_ONCE
from leasehold.model.lease import Event
from leasehold.model.reservation import Reservation
from leasehold.model.states import EventStatus, ReservationStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Column, ColumnElement, Connection, Row

    from leasehold.model.allocation import Allocation

FEW = 100
"""The parts of so many leases are read by one statement; those of more by two, which have fewer columns."""


def quick_json(column: Column[Any]) -> ColumnElement[Any]:
    """Return a column of JSON as what `QuickJson` reads."""
    return type_coerce(JsonText(column), QuickJson).label(column.name)


# In the order in which `_reservation` and `_event` take them: a long list has many rows, and names take time. An event
# has no position, and its type is where reservations have theirs.
_RESERVATION: tuple[ColumnElement[Any], ...] = (
    *(reservations.c.id, reservations.c.lease_id, reservations.c.position, reservations.c.resource_type),
    *(reservations.c.status, reservations.c.created_at, reservations.c.updated_at),
    *(reservations.c.resource_id, quick_json(reservations.c.request), reservations.c.missing_resources),
    *(reservations.c.resources_changed, quick_json(reservations.c.cloud), reservations.c.missing),
    *(quick_json(reservations.c.ending), quick_json(reservations.c.no_show)),
    quick_json(reservations.c.default_properties),
)
_EVENT: tuple[ColumnElement[Any], ...] = (
    *(events.c.id, events.c.lease_id, null(), events.c.type),
    *(events.c.status, events.c.created_at, events.c.updated_at),
)
_LEASE_ID, _POSITION = 1, 2
_NO_TIME: ColumnElement[Any] = type_coerce(null(), UtcDateTime).label("time")
_ONLY_OF_RESERVATIONS = len(_RESERVATION) - len(_EVENT)

_RESERVATION_STATUSES = {each.value: each for each in ReservationStatus}
_EVENT_STATUSES: dict[str | None, EventStatus | None] = {None: None, **{each.value: each for each in EventStatus}}
_OPENED_RESERVATION, _OPENED_EVENT = map(opened, (Reservation, Event))
_new: Callable[[type[Any]], Any] = object.__new__

_RESERVATIONS = select(*_RESERVATION)
_EVENTS = select(*_EVENT, events.c.time)
_RESERVATIONS_BY_ID = _RESERVATIONS.where(AmongIds(reservations.c.lease_id))
_EVENTS_BY_ID = _EVENTS.where(AmongIds(events.c.lease_id))
_BOTH_BY_ID = union_all(
    _RESERVATIONS.add_columns(_NO_TIME).where(among_few(reservations.c.lease_id)),
    select(*_EVENT, *[null()] * _ONLY_OF_RESERVATIONS, events.c.time).where(among_few(events.c.lease_id)),
)


def read_parts(
    connection: Connection, ids: Sequence[str] | Select[Any], held: Mapping[str, Sequence[Allocation]]
) -> tuple[Mapping[str, list[Reservation]], Mapping[str, list[Event]]]:
    """Return the reservations by position and the events by time, of each of these leases.

    `held` are the allocations of each reservation. Takes two statements, and for `FEW` leases one.
    """
    if isinstance(ids, Select):
        parts = connection.execute(_RESERVATIONS.where(reservations.c.lease_id.in_(ids))).all()
        moments = connection.execute(_EVENTS.where(events.c.lease_id.in_(ids))).all()
    elif len(ids) > FEW:
        parts = connection.execute(_RESERVATIONS_BY_ID, {IDS: ids}).all()
        moments = connection.execute(_EVENTS_BY_ID, {IDS: ids}).all()
    else:
        both = connection.execute(_BOTH_BY_ID, {IDS: ids}).all()
        parts = [row for row in both if row[_POSITION] is not None]
        moments = [row for row in both if row[_POSITION] is None]
    return _reservations(parts, held), _events(moments)


def _reservations(
    rows: Sequence[Row[*tuple[Any, ...]]], held: Mapping[str, Sequence[Allocation]]
) -> Mapping[str, list[Reservation]]:
    found: defaultdict[str, list[Reservation]] = defaultdict(list)
    for row in sorted(rows, key=_position):
        found[row[_LEASE_ID]].append(_reservation(row, held))
    return found


def _position(row: Row[*tuple[Any, ...]]) -> int:
    position: int = row[_POSITION]
    return position


def _reservation(row: Row[*tuple[Any, ...]], held: Mapping[str, Sequence[Allocation]]) -> Reservation:
    made = _new(_OPENED_RESERVATION)
    (
        made.id,
        made.lease_id,
        _,
        made.resource_type,
        status,
        made.created_at,
        made.updated_at,
        made.resource_id,
        made.request,
        made.missing_resources,
        made.resources_changed,
        made.cloud,
        made.missing,
        ending,
        no_show,
        default,
        *_,
    ) = row
    made.status = _RESERVATION_STATUSES[status]
    made.allocations = tuple(held.get(made.id, ()))
    made.ending = DELETED_AT_ONCE if ending is None else read_ending(ending)
    made.no_show = None if no_show is None else read_no_show(no_show)
    made.default_properties = None if default is None else read_default_properties(default)
    made.__class__ = Reservation
    reservation: Reservation = made
    return reservation


def _events(rows: Sequence[Row[*tuple[Any, ...]]]) -> Mapping[str, list[Event]]:
    found: defaultdict[str, list[Event]] = defaultdict(list)
    for row in rows:
        made = _new(_OPENED_EVENT)
        made.id, lease_id, _, made.type, status, made.created_at, made.updated_at, *_, made.time = row
        made.lease_id, made.status = lease_id, _EVENT_STATUSES[status]
        made.__class__ = Event
        found[lease_id].append(made)
    return {lease_id: _in_order(each) for lease_id, each in found.items()}


_TIME = attrgetter("time")


def _in_order(found: list[Event]) -> list[Event]:
    """Return the events of a lease by time, those without one first."""
    try:
        return sorted(found, key=_TIME)
    except TypeError:  # One has no time; to ask each of them first would take longer than to sort them.
        return sorted(found, key=_moment)


def _moment(event: Event) -> tuple[bool, datetime | None]:
    return (False, None) if event.time is None else (True, event.time)
