"""The statuses of leases, reservations and events (contract lifecycle §1); `transitions.py` says how they change."""

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
