"""The state machines, as data (contract lifecycle §1, feature A7). No behaviour lives here."""

from __future__ import annotations

from enum import StrEnum


class LeaseStatus(StrEnum):
    """What v1 shows of a lease."""

    CREATING = "CREATING"
    PENDING = "PENDING"
    STARTING = "STARTING"
    ACTIVE = "ACTIVE"
    UPDATING = "UPDATING"
    TERMINATING = "TERMINATING"
    TERMINATED = "TERMINATED"
    DELETING = "DELETING"
    ERROR = "ERROR"


class ReservationStatus(StrEnum):
    """What v1 shows of a reservation; lower case on the wire."""

    PENDING = "pending"
    ACTIVE = "active"
    DELETED = "deleted"
    ERROR = "error"


class EventStatus(StrEnum):
    """How far an event has come."""

    UNDONE = "UNDONE"
    IN_PROGRESS = "IN_PROGRESS"
    DONE = "DONE"
    ERROR = "ERROR"


class EventType(StrEnum):
    """The moments of a lease's life."""

    START = "start_lease"
    BEFORE_END = "before_end_lease"
    END = "end_lease"


_S = LeaseStatus

TRANSITIONS: dict[LeaseStatus, frozenset[LeaseStatus]] = {
    _S.CREATING: frozenset({_S.PENDING, _S.DELETING}),
    _S.PENDING: frozenset({_S.STARTING, _S.UPDATING, _S.DELETING}),
    _S.STARTING: frozenset({_S.ACTIVE, _S.ERROR, _S.TERMINATING, _S.DELETING}),
    _S.ACTIVE: frozenset({_S.TERMINATING, _S.UPDATING, _S.DELETING}),
    _S.UPDATING: frozenset({_S.PENDING, _S.ACTIVE, _S.TERMINATED, _S.ERROR, _S.DELETING}),
    _S.TERMINATING: frozenset({_S.TERMINATED, _S.ERROR, _S.DELETING}),
    _S.TERMINATED: frozenset({_S.UPDATING, _S.DELETING}),
    # Ours: what failed is tried again (decision 0026): ERROR until a try succeeds; an amendment starts it anew.
    _S.ERROR: frozenset({_S.STARTING, _S.ACTIVE, _S.TERMINATING, _S.TERMINATED, _S.UPDATING, _S.DELETING}),
    _S.DELETING: frozenset({_S.ERROR}),
}
"""Allowed moves. STARTING to TERMINATING is ours: a start that waited for the cloud until the end has to end."""


def may_move(old: LeaseStatus, new: LeaseStatus) -> bool:
    """Say whether the table lets a lease go from `old` to `new`; staying is always allowed."""
    return old == new or new in TRANSITIONS[old]
