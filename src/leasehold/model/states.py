"""The state machines, as data (contract lifecycle §1, feature A7). No behaviour lives here."""

from __future__ import annotations

from enum import StrEnum


class LeaseStatus(StrEnum):
    """The status of a lease, as v1 shows it."""

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
    """The status of a reservation, as v1 shows it; lower case on the wire."""

    PENDING = "pending"
    ACTIVE = "active"
    DELETED = "deleted"
    ERROR = "error"


class EventStatus(StrEnum):
    """The status of an event."""

    UNDONE = "UNDONE"
    IN_PROGRESS = "IN_PROGRESS"
    DONE = "DONE"
    ERROR = "ERROR"


class EventType(StrEnum):
    """The types of the events that every lease may have."""

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
    # Our addition (decision 0026): failed work is tried again. ERROR lasts until a try succeeds or an amendment.
    _S.ERROR: frozenset({_S.STARTING, _S.ACTIVE, _S.TERMINATING, _S.TERMINATED, _S.UPDATING, _S.DELETING}),
    _S.DELETING: frozenset({_S.ERROR}),
}
"""Allowed transitions. STARTING to TERMINATING is our addition: a start may wait for the cloud until the end is due."""


def may_move(old: LeaseStatus, new: LeaseStatus) -> bool:
    """Say whether the table allows a lease to go from `old` to `new`; staying is always allowed."""
    return old == new or new in TRANSITIONS[old]
