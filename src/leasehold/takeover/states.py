"""Converts the state of a lease at the time when Blazar was stopped to one that our manager can continue.

Blazar marks an event IN_PROGRESS and loses it when it is stopped in the middle; the lease then stays STARTING,
TERMINATING and so on for ever. We run such a step again from its beginning: converging the cloud is idempotent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.model.states import EventStatus, EventType, LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.lease import Event

Events = dict[EventType, EventStatus]


@dataclass(frozen=True, slots=True)
class State:
    """The status of a lease and of its events by type; `note` says what was changed, or is None."""

    status: LeaseStatus
    events: Events
    note: str | None = None


_FIXED: Mapping[LeaseStatus, Events] = {
    LeaseStatus.STARTING: {EventType.START: EventStatus.IN_PROGRESS, EventType.END: EventStatus.UNDONE},
    LeaseStatus.TERMINATING: {EventType.START: EventStatus.DONE, EventType.END: EventStatus.IN_PROGRESS},
}
"""The statuses whose step runs again, with the event statuses that hold during that step."""

_TOLD: Mapping[tuple[EventStatus, EventStatus], LeaseStatus] = {
    (EventStatus.UNDONE, EventStatus.UNDONE): LeaseStatus.PENDING,
    (EventStatus.DONE, EventStatus.UNDONE): LeaseStatus.ACTIVE,
    (EventStatus.DONE, EventStatus.DONE): LeaseStatus.TERMINATED,
}
"""The status of the lease by the statuses of its start and end events; any other pair means ERROR."""

_STEPS = {
    LeaseStatus.STARTING: "was starting; the start is run again",
    LeaseStatus.TERMINATING: "was ending; the end is run again",
    LeaseStatus.DELETING: "was being deleted; the deletion is completed",
    LeaseStatus.CREATING: "was never completely created, and its user was not told that it was granted; it is deleted",
}


def carry_on(status: str | None, events: Events) -> State:
    """Return the state from which our manager continues, given Blazar's status and the lease's events."""
    known = LeaseStatus(status) if status in set(LeaseStatus) else None
    if known is LeaseStatus.DELETING or known is LeaseStatus.CREATING:
        return State(LeaseStatus.DELETING, _undone(events), _STEPS[known])
    if known is not None and known in _FIXED:
        fixed = {**events, **_FIXED[known]}
        if events.get(EventType.START) is EventStatus.ERROR and known is LeaseStatus.TERMINATING:
            fixed[EventType.START] = EventStatus.ERROR
        return State(known, _undone(fixed, keep=True), _STEPS[known])
    return _at_rest(known, status, events)


def _at_rest(known: LeaseStatus | None, text: str | None, events: Events) -> State:
    """Return the stable state that the events imply, by Blazar's own rule (contract lifecycle §1.1)."""
    calm = _undone(events)
    lost = calm != events
    if known is LeaseStatus.ERROR:
        if events.get(EventType.START) is EventStatus.IN_PROGRESS:
            calm[EventType.START] = EventStatus.ERROR
        return _failed(calm, "has a step that Blazar began and lost" if lost else None)
    start = calm.get(EventType.START, EventStatus.UNDONE)
    end = calm.get(EventType.END, EventStatus.UNDONE)
    told = _TOLD.get((start, end), LeaseStatus.ERROR)
    if told is known:
        return State(told, calm, "has a step that Blazar began and lost; it is done when it is due" if lost else None)
    note = f"has the status {text}, but its events say {told}; the events count"
    return _failed(calm, note) if told is LeaseStatus.ERROR else State(told, calm, note)


def _failed(events: Events, note: str | None) -> State:
    """Return ERROR; an end that failed in Blazar is tried again when it is due."""
    if events.get(EventType.END) is not EventStatus.ERROR:
        return State(LeaseStatus.ERROR, events, note)
    again = {**events, EventType.END: EventStatus.UNDONE}
    return State(LeaseStatus.ERROR, again, "could not be ended by Blazar; its end is tried again")


def _undone(events: Events, *, keep: bool = False) -> Events:
    """Return the events with IN_PROGRESS reset to UNDONE; with `keep`, only for the before_end event."""
    open_kinds = {EventType.BEFORE_END} if keep else set(EventType)
    return {
        kind: EventStatus.UNDONE if status is EventStatus.IN_PROGRESS and kind in open_kinds else status
        for kind, status in events.items()
    }


def with_states(events: tuple[Event, ...], states: Events) -> tuple[Event, ...]:
    """Return the events with the given statuses; events of other types, which clients may add, keep theirs."""
    kinds = {str(kind): status for kind, status in states.items()}
    return tuple(replace(event, status=kinds.get(event.type, event.status)) for event in events)
