"""Which statuses of a lease, its reservations and its events agree (contract lifecycle §1.1); the audit reads this.

The table of transitions leads to no others: `tests/unit/model/test_transitions.py` walks through all of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.model.states import EventStatus, LeaseStatus, ReservationStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

_L, _P, _E = LeaseStatus, ReservationStatus, EventStatus
_ANY_PART = frozenset({_P.PENDING, _P.ACTIVE, _P.DELETED, _P.ERROR})
_ANY_EVENT = frozenset({_E.UNDONE, _E.IN_PROGRESS, _E.DONE, _E.ERROR})


@dataclass(frozen=True, slots=True)
class Agreeing:
    """What the reservations, the start and the end of a lease may be in one state of the lease."""

    parts: frozenset[ReservationStatus]
    start: frozenset[EventStatus]
    end: frozenset[EventStatus]


AGREEING: Mapping[LeaseStatus, Agreeing] = {
    _L.PENDING: Agreeing(frozenset({_P.PENDING}), frozenset({_E.UNDONE}), frozenset({_E.UNDONE})),
    _L.STARTING: Agreeing(
        frozenset({_P.PENDING, _P.ACTIVE, _P.ERROR}), frozenset({_E.IN_PROGRESS}), frozenset({_E.UNDONE})
    ),
    _L.ACTIVE: Agreeing(frozenset({_P.ACTIVE}), frozenset({_E.DONE}), frozenset({_E.UNDONE})),
    _L.TERMINATING: Agreeing(_ANY_PART, _ANY_EVENT, frozenset({_E.IN_PROGRESS})),
    _L.TERMINATED: Agreeing(frozenset({_P.DELETED}), frozenset({_E.DONE, _E.ERROR}), frozenset({_E.DONE})),
    _L.ERROR: Agreeing(_ANY_PART, frozenset({_E.DONE, _E.ERROR}), frozenset({_E.UNDONE, _E.ERROR, _E.DONE})),
    _L.DELETING: Agreeing(_ANY_PART, _ANY_EVENT, _ANY_EVENT),
    _L.IN_PROGRESS: Agreeing(frozenset({_P.PENDING}), frozenset({_E.UNDONE}), frozenset({_E.UNDONE})),
    _L.OFFERED: Agreeing(frozenset({_P.PENDING}), frozenset({_E.UNDONE}), frozenset({_E.UNDONE})),
    _L.TIMEDOUT: Agreeing(frozenset({_P.DELETED}), frozenset({_E.ERROR}), frozenset({_E.DONE})),
}
"""The combinations by the state of the lease: those that the table leads to, and those of a lease taken over."""
