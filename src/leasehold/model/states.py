"""The statuses of leases, reservations and events (contract lifecycle §1); `transitions.py` says how they change."""

from __future__ import annotations

from enum import StrEnum


class LeaseStatus(StrEnum):
    """The status of a lease, as v1 shows it; two from microversion 1.2 on, and OFFERED from 1.3 on."""

    CREATING = "CREATING"
    PENDING = "PENDING"
    STARTING = "STARTING"
    ACTIVE = "ACTIVE"
    UPDATING = "UPDATING"
    TERMINATING = "TERMINATING"
    TERMINATED = "TERMINATED"
    DELETING = "DELETING"
    ERROR = "ERROR"
    IN_PROGRESS = "IN_PROGRESS"
    """It waits for resources, and holds none."""
    TIMEDOUT = "TIMEDOUT"
    """Its deadline came before it was granted."""
    OFFERED = "OFFERED"
    """It is an offer that nobody has accepted yet: it holds its resources, and only the routes of offers show it."""

    @property
    def of_v1(self) -> LeaseStatus:
        """The status that clients see who know only the nine of Blazar (feature A6)."""
        return _OF_V1.get(self, self)


_OF_V1 = {LeaseStatus.IN_PROGRESS: LeaseStatus.PENDING, LeaseStatus.TIMEDOUT: LeaseStatus.ERROR}


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
