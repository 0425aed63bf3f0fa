"""Which statuses of a lease, its reservations and its events agree (contract lifecycle §1.1); the audit reads this.

The table of transitions leads to no others: `tests/unit/model/test_transitions.py` walks through all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.model.states import EventStatus, LeaseStatus, ReservationStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

_PENDING, _ACTIVE, _CLEARED = (
    frozenset({each}) for each in (ReservationStatus.PENDING, ReservationStatus.ACTIVE, ReservationStatus.DELETED)
)
_ANY_PART = frozenset(ReservationStatus)
_UNDONE, _BEGUN, _DONE = (frozenset({each}) for each in (EventStatus.UNDONE, EventStatus.IN_PROGRESS, EventStatus.DONE))
_FAILED, _ANY_EVENT = frozenset({EventStatus.ERROR}), frozenset(EventStatus)


@dataclass(frozen=True, slots=True)
class Agreeing:
    """What the reservations, the start and the end of a lease may be in one state of the lease."""

    parts: frozenset[ReservationStatus]
    start: frozenset[EventStatus]
    end: frozenset[EventStatus]


_NOT_BEGUN = Agreeing(_PENDING, _UNDONE, _UNDONE)
AGREEING: Mapping[LeaseStatus, Agreeing] = {
    LeaseStatus.PENDING: _NOT_BEGUN,
    LeaseStatus.STARTING: Agreeing(_ANY_PART - _CLEARED, _BEGUN, _UNDONE),
    LeaseStatus.ACTIVE: Agreeing(_ACTIVE, _DONE, _UNDONE),
    LeaseStatus.TERMINATING: Agreeing(_ANY_PART, _ANY_EVENT, _BEGUN),
    LeaseStatus.TERMINATED: Agreeing(_CLEARED, _DONE | _FAILED, _DONE),
    LeaseStatus.ERROR: Agreeing(_ANY_PART, _DONE | _FAILED, _UNDONE | _FAILED | _DONE),
    LeaseStatus.DELETING: Agreeing(_ANY_PART, _ANY_EVENT, _ANY_EVENT),
    LeaseStatus.IN_PROGRESS: _NOT_BEGUN,
    LeaseStatus.OFFERED: _NOT_BEGUN,
    LeaseStatus.TIMEDOUT: Agreeing(_CLEARED, _FAILED, _DONE),
}
"""The combinations by the state of the lease: those that the table leads to, and those of a lease taken over."""
