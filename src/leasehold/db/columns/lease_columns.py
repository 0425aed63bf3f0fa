"""The columns of leases, of their reservations and of their events: each stands here once.

What is selected, inserted and updated is made of these lists, and so is the state of a lease in its history, which is
JSON (`db/lease_state.py`). They are in the order in which rows are read (`db/leases/`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import JSON, bindparam, update

from leasehold.db.columns.default_properties import read_default_properties, write_default_properties
from leasehold.db.columns.ending import read_ending, write_ending
from leasehold.db.columns.facts import written_facts
from leasehold.db.columns.holding import NOTED
from leasehold.db.columns.no_show import read_no_show, write_no_show
from leasehold.db.columns.waits import read_waiting, write_waiting
from leasehold.db.dialects import JsonText
from leasehold.model.reminder import own_reminder
from leasehold.model.terms.heal_policy import HealPolicy
from leasehold.model.terms.lease_type import LeaseType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy import ColumnElement, Table, Update


class Written(Enum):
    """When a column is written."""

    ONCE = "when its row is made"
    ALWAYS = "when its row is made, and with each change"
    WAITING = "with what the lease waits for"
    REMINDERS = "with the reminders of its own"
    RISK = "when it comes to be, or is no longer, at risk"


RARELY: Final = (Written.WAITING, Written.REMINDERS, Written.RISK)
"""What most leases never have: written by a statement of its own where it differs."""


def _as_it_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Field:
    """One column: its name, when it is written, and its value for a lease, a reservation or an event.

    `back` makes the value of the field of what a state in the history has; without it states do not have the column,
    or have it under another name. A column that is not `read` follows from others. One that is `written` at no time of
    its own is known to who inserts the row.
    """

    name: str
    written: Written | None = Written.ALWAYS
    get: Callable[[Any], Any] | None = None
    back: Callable[[Any], Any] | None = None
    read: bool = True

    def value(self, of: Any) -> Any:
        """Return what is written."""
        return getattr(of, self.name) if self.get is None else self.get(of)


_moment = datetime.fromisoformat
ONCE, WAITING, REMINDERS = Written.ONCE, Written.WAITING, Written.REMINDERS
LEASE: Final = (
    Field("id", ONCE),
    Field("name"),
    Field("user_id", ONCE),
    Field("project_id", ONCE),
    Field("start_at", get=attrgetter("window.start")),
    Field("end_at", get=attrgetter("window.end")),
    Field("status"),
    Field("status_reason", back=_as_it_is),
    Field("degraded"),
    Field("generation"),
    Field("created_at", ONCE),
    Field("updated_at"),
    Field("deleted_at", back=_moment),
    Field("heal_policy", back=HealPolicy),
    Field("reminded", back=_as_it_is),
    Field("type", ONCE, lambda lease: None if lease.type is LeaseType.SCHEDULED else lease.type, LeaseType),
    Field("waiting", WAITING, lambda lease: write_waiting(lease.waiting), read_waiting),
    Field("reminders", REMINDERS, lambda lease: None if lease.reminders is None else list(lease.reminders), tuple),
    Field("at_risk", Written.RISK, back=_as_it_is),
    Field("offered_until", ONCE, back=_moment),
    Field("published_offer", ONCE, back=_as_it_is),
    Field(
        "waiting_since",
        WAITING,
        lambda lease: lease.waiting.since if lease.waits and lease.waiting else None,
        read=False,
    ),
    Field("remind_at", REMINDERS, own_reminder, read=False),
    Field("parent_id", ONCE, lambda lease: lease.lent and lease.lent.lease_id, read=False),
    *(Field(name, get=get, read=False) for name, get in NOTED.items()),
)
# What reservations and events both have comes first, for the statement that reads both.
RESERVATION: Final = (
    Field("id", ONCE),
    Field("lease_id", ONCE),
    Field("position", None),
    Field("resource_type", ONCE),
    Field("status"),
    Field("created_at", ONCE),
    Field("updated_at"),
    Field("resource_id", ONCE, back=_as_it_is),
    Field("request", get=lambda part: dict(part.request), back=_as_it_is),
    Field("missing_resources"),
    Field("resources_changed"),
    Field("cloud", get=written_facts, back=_as_it_is),
    Field("missing", back=_as_it_is),
    Field("ending", get=lambda part: write_ending(part.ending), back=read_ending),
    Field("no_show", get=lambda part: write_no_show(part.no_show), back=read_no_show),
    Field(
        "default_properties",
        get=lambda part: write_default_properties(part.default_properties),
        back=read_default_properties,
    ),
)
EVENT: Final = (
    Field("id", ONCE),
    Field("lease_id", ONCE),
    Field("type", ONCE),
    Field("time"),
    Field("status"),
    Field("created_at", ONCE),
    Field("updated_at"),
)


def selected(table: Table, fields: Iterable[Field]) -> tuple[ColumnElement[Any], ...]:
    """Return the columns to select, in this order; JSON as text, which `read_json` reads."""
    columns = (table.c[each.name] for each in fields if each.read)
    return tuple(JsonText(each).label(each.name) if isinstance(each.type, JSON) else each for each in columns)


def written(fields: Iterable[Field], of: Any, *when: Written) -> dict[str, Any]:
    """Return the values of the columns that are written at these times."""
    return {each.name: each.value(of) for each in fields if each.written in when}


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without those that say nothing."""
    return {name: value for name, value in values.items() if value is not None and value is not False}


def saving(table: Table, fields: Iterable[Field], when: Written) -> Update:
    """Return the statement that writes the columns of this time to the row with the id `key`."""
    names = (each.name for each in fields if each.written is when)
    return update(table).where(table.c.id == bindparam("key")).values({name: bindparam(name) for name in names})


def state_of(fields: Iterable[Field], of: Any) -> dict[str, Any]:
    """Return the columns that a state in the history has, as JSON."""
    values = given({each.name: each.value(of) for each in fields if each.back is not None})
    return {name: value.isoformat() if isinstance(value, datetime) else value for name, value in values.items()}


def fields_of(fields: Iterable[Field], state: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that `state_of` has written."""
    return {each.name: each.back(state[each.name]) for each in fields if each.back is not None and each.name in state}
