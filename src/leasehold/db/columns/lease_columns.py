"""The columns of leases, of their reservations and of their events: each stands here once.

The tables are made of these lists, and so is what is selected, inserted and updated, and the state of a lease in its
history, which is JSON (`db/lease_state.py`). Rows are read in the order of the lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import JSON, BigInteger, Boolean, Column, ForeignKey, Integer, String, Text, bindparam, update

from leasehold.db.columns.default_properties import read_default_properties, write_default_properties
from leasehold.db.columns.ending import read_ending, read_no_show, write_ending, write_no_show
from leasehold.db.columns.facts import DROPPED, SHARES, written_facts
from leasehold.db.columns.holding import NOTED
from leasehold.db.columns.opened import new, opened
from leasehold.db.columns.waits import read_waiting, write_waiting
from leasehold.db.dialects import JsonText
from leasehold.db.types import UtcDateTime, read_json
from leasehold.model.lease import Event, Lease
from leasehold.model.reminder import own_reminder
from leasehold.model.reservation import Reservation
from leasehold.model.states import EventStatus, LeaseStatus, ReservationStatus
from leasehold.model.terms.ending import DELETED_AT_ONCE
from leasehold.model.terms.heal_policy import HealPolicy
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Row, Table, Update

    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import EventFields


class Written(Enum):
    """When a column is written."""

    ONCE = "when its row is made"
    ALWAYS = "when its row is made, and with each change"
    WAITING = "with what the lease waits for"
    REMINDERS = "with the reminders of its own"
    RISK = "when it comes to be, or is no longer, at risk"
    PURPOSE = "with what its owner says that it is for"


RARELY: Final = (Written.WAITING, Written.REMINDERS, Written.RISK, Written.PURPOSE)
"""What most leases never have: written by a statement of its own where it differs."""


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Field:
    """One column: as the table has it, when it is written, and its value for a lease, a reservation or an event.

    `back` makes the value of the field of what a state in the history has; without it states do not have the column,
    or have it under another name. A column that is not `read` follows from others. One that is `written` at no time of
    its own is known to who inserts the row.
    """

    column: Column[Any]
    written: Written | None = Written.ALWAYS
    get: Callable[[Any], Any] | None = None
    back: Callable[[Any], Any] | None = None
    read: bool = True

    @property
    def name(self) -> str:
        """The name of the column, and of the field that it has without `get`."""
        return self.column.name


class Fields(tuple[Field, ...]):
    """The fields of a table, each list equal to itself alone: how they are read is looked up by it for every row."""

    __slots__ = ()
    __eq__ = object.__eq__
    __hash__ = object.__hash__


_moment = datetime.fromisoformat
ONCE, WAITING, REMINDERS = Written.ONCE, Written.WAITING, Written.REMINDERS
LEASE: Final = Fields(
    (
        Field(Column("id", String(36), primary_key=True), ONCE),
        Field(Column("name", String(80), nullable=False)),
        Field(Column("user_id", String(255), nullable=False), ONCE),
        Field(Column("project_id", String(255), nullable=False), ONCE),
        Field(Column("start_at", UtcDateTime, nullable=False), get=attrgetter("window.start")),
        Field(Column("end_at", UtcDateTime, nullable=False), get=attrgetter("window.end")),
        Field(Column("status", String(16), nullable=False)),
        Field(Column("status_reason", Text), back=_as_it_is),
        Field(Column("degraded", Boolean, nullable=False)),
        Field(Column("generation", BigInteger, nullable=False)),
        Field(Column("created_at", UtcDateTime, nullable=False), ONCE),
        Field(Column("updated_at", UtcDateTime)),
        Field(Column("deleted_at", UtcDateTime), back=_moment),
        Field(Column("heal_policy", String(24)), back=HealPolicy),
        Field(Column("reminded", Integer), back=_as_it_is),
        Field(
            Column("type", String(16)),
            ONCE,
            lambda lease: None if lease.type is LeaseType.SCHEDULED else lease.type,
            LeaseType,
        ),
        Field(
            Column("waiting", JSON(none_as_null=True)),
            WAITING,
            lambda lease: write_waiting(lease.waiting),
            read_waiting,
        ),
        Field(
            Column("reminders", JSON(none_as_null=True)),
            REMINDERS,
            lambda lease: None if lease.reminders is None else list(lease.reminders),
            tuple,
        ),
        Field(Column("at_risk", Boolean), Written.RISK, back=_as_it_is),
        Field(Column("offered_until", UtcDateTime), ONCE, back=_moment),
        Field(Column("published_offer", String(36)), ONCE, back=_as_it_is),
        Field(Column("purpose", String(255)), Written.PURPOSE),
        Field(
            Column("waiting_since", UtcDateTime),
            WAITING,
            lambda lease: lease.waiting.since if lease.waits and lease.waiting else None,
            read=False,
        ),
        Field(Column("remind_at", UtcDateTime), REMINDERS, own_reminder, read=False),
        Field(Column("parent_id", String(36)), ONCE, lambda lease: lease.lent and lease.lent.lease_id, read=False),
        *(Field(Column(name, BigInteger), get=get, read=False) for name, get in NOTED.items()),
    )
)
# What reservations and events both have comes first, for the statement that reads both.
RESERVATION: Final = Fields(
    (
        Field(Column("id", String(36), primary_key=True), ONCE),
        Field(Column("lease_id", ForeignKey("leases.id"), nullable=False), ONCE),
        Field(Column("position", Integer, nullable=False), None),
        Field(Column("resource_type", String(66), nullable=False), ONCE),
        Field(Column("status", String(16), nullable=False)),
        Field(Column("created_at", UtcDateTime, nullable=False), ONCE),
        Field(Column("updated_at", UtcDateTime)),
        Field(Column("resource_id", String(36), nullable=False), ONCE, back=_as_it_is),
        Field(Column("request", JSON, nullable=False), get=lambda part: dict(part.request), back=_as_it_is),
        Field(Column("missing_resources", Boolean, nullable=False)),
        Field(Column("resources_changed", Boolean, nullable=False)),
        Field(Column("cloud", JSON, nullable=False), get=written_facts, back=_as_it_is),
        Field(Column("missing", Integer), back=_as_it_is),
        Field(Column("ending", JSON(none_as_null=True)), get=lambda part: write_ending(part.ending), back=read_ending),
        Field(
            Column("no_show", JSON(none_as_null=True)), get=lambda part: write_no_show(part.no_show), back=read_no_show
        ),
        Field(
            Column("default_properties", JSON(none_as_null=True)),
            get=lambda part: write_default_properties(part.default_properties),
            back=read_default_properties,
        ),
    )
)
EVENT: Final = Fields(
    (
        Field(Column("id", String(36), primary_key=True), ONCE),
        Field(Column("lease_id", ForeignKey("leases.id"), nullable=False), ONCE),
        Field(Column("type", String(66), nullable=False), ONCE),
        Field(Column("time", UtcDateTime)),
        Field(Column("status", String(16))),
        Field(Column("created_at", UtcDateTime, nullable=False), ONCE),
        Field(Column("updated_at", UtcDateTime)),
    )
)


def selected(table: Table, fields: Iterable[Field]) -> tuple[ColumnElement[Any], ...]:
    """Return the columns to select, in this order; JSON as text, which `read_json` reads."""
    columns = (table.c[each.name] for each in fields if each.read)
    return tuple(JsonText(each).label(each.name) if isinstance(each.type, JSON) else each for each in columns)


@lru_cache
def _getters(fields: Fields, when: tuple[Written, ...] | None = None) -> Sequence[tuple[str, Callable[[Any], Any]]]:
    """Return the names and values of the columns that are written at these times; None: those that states have."""
    chosen = (each for each in fields if (each.back is not None if when is None else each.written in when))
    return [(each.name, each.get or attrgetter(each.name)) for each in chosen]


def written(fields: Fields, of: Any, *when: Written) -> dict[str, Any]:
    """Return the values of the columns that are written at these times."""
    return {name: get(of) for name, get in _getters(fields, when)}


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without those that say nothing."""
    return {name: value for name, value in values.items() if value is not None and value is not False}


def saving(table: Table, fields: Iterable[Field], when: Written) -> Update:
    """Return the statement that writes the columns of this time to the row with the id `key`."""
    names = (each.name for each in fields if each.written is when)
    return update(table).where(table.c.id == bindparam("key")).values({name: bindparam(name) for name in names})


def state_of(fields: Fields, of: Any) -> dict[str, Any]:
    """Return the columns that a state in the history has, as JSON."""
    values = given({name: get(of) for name, get in _getters(fields)})
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def fields_of(fields: Iterable[Field], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that `state_of` has written."""
    return {each.name: each.back(state[each.name]) for each in fields if each.back is not None and each.name in state}


# ------------------------------------------------------------ rows, as `selected` has their columns

_LEASE_STATUSES = {each.value: each for each in LeaseStatus}
_RESERVATION_STATUSES = {each.value: each for each in ReservationStatus}
_EVENT_STATUSES: dict[str | None, EventStatus | None] = {None: None, **{each.value: each for each in EventStatus}}
_OPENED_LEASE, _OPENED_WINDOW, _OPENED_RESERVATION, _OPENED_EVENT = map(opened, (Lease, Window, Reservation, Event))


def read_lease(row: Row[*tuple[Any, ...]], parts: tuple[Reservation, ...], moments: tuple[Event, ...]) -> Lease:
    """Return the lease of a row, with these reservations and events; the row may have more columns at its end."""
    made = new(_OPENED_LEASE)
    # At once, because each `*` makes a list.
    (
        made.id,
        made.name,
        made.user_id,
        made.project_id,
        start_at,
        end_at,
        status,
        made.status_reason,
        made.degraded,
        made.generation,
        made.created_at,
        made.updated_at,
        made.deleted_at,
        heal_policy,
        made.reminded,
        kind,
        waiting,
        reminders,
        at_risk,
        made.offered_until,
        made.published_offer,
        made.purpose,
        *_,
    ) = row
    window = made.window = new(_OPENED_WINDOW)
    window.start, window.end = start_at, end_at
    window.__post_init__()
    window.__class__ = Window
    made.status = _LEASE_STATUSES[status]
    made.reservations, made.events = parts, moments
    made.heal_policy = None if heal_policy is None else HealPolicy(heal_policy)
    made.type = LeaseType.SCHEDULED if kind is None else LeaseType(kind)
    made.waiting = None if waiting is None else read_waiting(read_json(waiting))
    made.reminders = None if reminders is None else tuple(read_json(reminders))
    made.at_risk = bool(at_risk)
    made.__class__ = Lease
    lease: Lease = made
    return lease


def read_reservation(row: Row[*tuple[Any, ...]], held: Mapping[str, Sequence[Allocation]]) -> Reservation:
    """Return the reservation of a row, with its allocations among `held`; the row may have more columns at its end."""
    made = new(_OPENED_RESERVATION)
    (
        made.id,
        made.lease_id,
        _,
        made.resource_type,
        status,
        made.created_at,
        made.updated_at,
        made.resource_id,
        request,
        made.missing_resources,
        made.resources_changed,
        cloud,
        made.missing,
        ending,
        no_show,
        default,
        *_,
    ) = row
    made.status = _RESERVATION_STATUSES[status]
    facts = read_json(cloud)
    made.dropped, made.shares, made.cloud = facts.pop(DROPPED, False), facts.pop(SHARES, {}), facts
    made.request = _request(request).copy()
    made.allocations = tuple(held.get(made.id, ()))
    made.ending = DELETED_AT_ONCE if ending is None else read_ending(read_json(ending))
    made.no_show = None if no_show is None else read_no_show(read_json(no_show))
    made.default_properties = None if default is None else read_default_properties(read_json(default))
    made.__class__ = Reservation
    reservation: Reservation = made
    return reservation


@lru_cache(maxsize=256)
def _request(text: str) -> dict[str, Any]:
    """Return what a reservation asks for; most of a long list ask for the same as others. The caller takes a copy."""
    request: dict[str, Any] = read_json(text)
    return request


def read_event(values: EventFields) -> Event:
    """Return the event that has these fields."""
    made = new(_OPENED_EVENT)
    made.id, made.lease_id, made.type, made.time, status, made.created_at, made.updated_at = values
    made.status = _EVENT_STATUSES[status]
    made.__class__ = Event
    event: Event = made
    return event
