"""Leases: reservations of one project that start and end together."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from operator import attrgetter, is_
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from leasehold.model.resource import MAINTENANCE
from leasehold.model.states import EventStatus, EventType, LeaseStatus
from leasehold.model.terms.ending import counted_longest, held_longest
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import OPEN_END, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import datetime

    from _typeshed import DataclassInstance

    from leasehold.model.allocation import Allocation
    from leasehold.model.reservation import Reservation
    from leasehold.model.terms.ending import Ending, Lent
    from leasehold.model.terms.heal_policy import HealPolicy
    from leasehold.model.terms.notice import Notice
    from leasehold.model.terms.waiting import Waiting


Thing = TypeVar("Thing", bound="DataclassInstance")
EventFields: TypeAlias = "tuple[str, str, str, datetime | None, str | None, datetime | None, datetime | None]"
"""The values of the fields of an `Event`, in their order. A long list shows them and makes no event of them."""


@dataclass(frozen=True, slots=True)
class Event:
    """One event of a lease: when it is due, and its status.

    `type` is free text because clients may add events of their own (contract http-api §5.3). Such an event without a
    date has neither time nor status.
    """

    id: str
    lease_id: str
    type: str
    time: datetime | None
    status: EventStatus | None
    created_at: datetime | None = None
    updated_at: datetime | None = None


def with_fields(thing: Thing, **changes: Any) -> Thing:
    """Return a frozen dataclass with these fields: itself if it has them, because another one takes longer to make."""
    same = all(getattr(thing, name) == value for name, value in changes.items())
    return thing if same else replace(thing, **changes)


_FIELDS: Callable[[Event], EventFields] = attrgetter(*(each.name for each in fields(Event)))


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease of one project, from `window.start` to `window.end`.

    Every change increments `generation`, which shows an amendment whether the lease has changed since it was read.
    `heal_policy` None means the operator's default at the time of healing. `reminded` is the last reminder of its end
    that is done with, in seconds before the end (`model/reminder.py`); `reminders` are the reminders that its owner has
    chosen, None those of the operator. `waiting` is None for a lease that never had to wait for resources. `at_risk`
    says that a resource of it has failed which healing looks at later, because the lease does not begin soon.
    `offered_until` is None unless it was made as an offer: until then it may be, or might have been, accepted.
    `published_offer` is the published offer that it was made of by a claim: it keeps its resource, and to that window.
    `purpose` says what it is for, in its owner's words.
    """

    id: str
    name: str
    user_id: str
    project_id: str
    window: Window
    status: LeaseStatus
    status_reason: str | None = None
    degraded: bool = False
    generation: int = 1
    created_at: datetime | None = None
    updated_at: datetime | None = None
    deleted_at: datetime | None = None
    reservations: tuple[Reservation, ...] = field(default_factory=tuple)
    events: tuple[Event, ...] = field(default_factory=tuple)
    heal_policy: HealPolicy | None = None
    reminded: int | None = None
    type: LeaseType = LeaseType.SCHEDULED
    waiting: Waiting | None = None
    reminders: tuple[int, ...] | None = None
    at_risk: bool = False
    offered_until: datetime | None = None
    published_offer: str | None = None
    purpose: str | None = None

    @property
    def waits(self) -> bool:
        """Whether it waits for resources: its window is what was asked for, and it holds nothing."""
        return self.status is LeaseStatus.IN_PROGRESS

    @property
    def begins(self) -> datetime:
        """When the work of its start begins: before its start by the lead that it was made with."""
        return self.window.start - self.lead

    @property
    def lead(self) -> timedelta:
        """How long before its start the work of the start begins: the time of that event says so."""
        start = self.event(EventType.START)
        if start is None or start.time is None:
            return timedelta(0)
        return max(self.window.start - start.time, timedelta(0))

    @property
    def open_ended(self) -> bool:
        """Whether it was made without an end."""
        return self.window.end == OPEN_END

    @property
    def is_maintenance(self) -> bool:
        """Whether it is a maintenance window."""
        return any(part.resource_type == MAINTENANCE for part in self.reservations)

    @property
    def kept(self) -> tuple[Reservation, ...]:
        """Its reservations without those that were dropped: what it asks for and may get."""
        return tuple(part for part in self.reservations if not part.dropped)

    @property
    def lent(self) -> Lent | None:
        """From which lease it has its resources; None unless it is a sub-lease."""
        return next((part.ending.lent for part in self.reservations if part.ending.lent is not None), None)

    @property
    def notice(self) -> Notice | None:
        """How long ahead its holder is told that what it has is taken back; None: it may lose it at once."""
        return next((part.ending.notice for part in self.reservations if part.ending.notice is not None), None)

    @property
    def has_lent(self) -> bool:
        """Whether it has ever lent a resource; one that is read without its allocations never says so."""
        return any(held.lent for part in self.reservations for held in part.allocations)

    @property
    def unreleased(self) -> list[Allocation]:
        """What it has, and what it had and may still have servers on."""
        return [held for part in self.reservations for held in part.allocations if held.released_at is None]

    @property
    def shared_with(self) -> list[str]:
        """The projects that may use it beside its own."""
        return sorted({project for part in self.kept for project in part.shared_with})

    @property
    def projects(self) -> list[str]:
        """The projects that may use it: its own first, then those that it is shared with."""
        return [self.project_id, *self.shared_with]

    @property
    def held_window(self) -> Window:
        """The window in which it holds resources: servers of a reservation may live on after its end."""
        return held_longest(self.window, (part.ending for part in self.kept))

    @property
    def counted_window(self) -> Window:
        """The window that limits count: the time after its end as well, where its servers keep the resources."""
        return counted_longest(self.window, (part.ending for part in self.kept))

    @property
    def asked(self) -> list[tuple[Mapping[str, Any], Ending]]:
        """What each of its reservations asks for, and how it ends."""
        return [(part.request, part.ending) for part in self.kept]

    @property
    def event_fields(self) -> list[EventFields]:
        """The fields of its events."""
        return list(map(_FIELDS, self.events))

    def event(self, kind: EventType) -> Event | None:
        """Return the lease's event of this kind, if it has one."""
        return next((event for event in self.events if event.type == kind), None)

    def reached(self, kind: EventType) -> bool:
        """Say whether the event of this kind has begun: its status is no longer UNDONE."""
        event = self.event(kind)
        return event is not None and event.status is not EventStatus.UNDONE

    def with_event(self, kind: EventType, **changes: Any) -> Lease:
        """Return the lease with its event of this kind changed; unchanged if it has none."""
        return self.with_events({event.id for event in self.events if event.type == kind}, **changes)

    def with_times(self, times: Mapping[str, datetime | None]) -> Lease:
        """Return the lease with its events of these types at these times; None is as it was."""
        events = ((event, times.get(event.type) or event.time) for event in self.events)
        return with_fields(self, events=tuple(with_fields(event, time=time) for event, time in events))

    def ending_at(self, moment: datetime) -> Lease:
        """Return the lease with its end at a moment, or where its window is nearest; a later warning comes no more."""
        moment = max(self.window.start, min(self.window.end, moment))
        warning = self.event(EventType.BEFORE_END)
        warned = None if warning is None or warning.time is None else min(warning.time, moment)
        times: dict[str, datetime | None] = {EventType.END: moment, EventType.BEFORE_END: warned}
        return replace(self, window=Window(self.window.start, moment)).with_times(times)

    def with_events(self, ids: Collection[str], **changes: Any) -> Lease:
        """Return the lease with these events changed."""
        events = tuple(with_fields(event, **changes) if event.id in ids else event for event in self.events)
        return self if all(map(is_, events, self.events)) else replace(self, events=events)

    @property
    def own_events(self) -> list[Event]:
        """The events that its owner has added and that are not told yet."""
        ours = set(EventType)
        return [each for each in self.events if each.status is EventStatus.UNDONE and each.type not in ours]

    def with_reservations(self, ids: Collection[str] | None, **changes: Any) -> Lease:
        """Return the lease with these reservations changed; None means all of them."""
        parts = tuple(
            with_fields(part, **changes) if ids is None or part.id in ids else part for part in self.reservations
        )
        return self if all(map(is_, parts, self.reservations)) else replace(self, reservations=parts)
