"""Usage: what becomes of a promise, and what is used of it (decision 0150). Pure; moments are seconds since the epoch.

A promise is an amount from a start to an end. Each second of each unit of it is `late`, `missing`, `given_up`, or
active, which is what is left. A closed span never changes: an extension is a new promise, and takes nothing back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.model.resource import MAINTENANCE
from leasehold.model.states import EventType, LeaseStatus, ReservationStatus
from leasehold.model.windows import OPEN_END, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation


class Loss(StrEnum):
    """Why a part of a promise was not used by its owner."""

    LATE = "late"
    """It was held, and its start was not done."""
    MISSING = "missing"
    """It was not held: the reservation had fewer resources than it was promised."""
    GIVEN_UP = "given_up"
    """Its owner has ended, shortened, dropped or deleted it before."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What is known of a reservation since `told_at`: it is promised an `amount`, of which some is `missing`.

    `delivered_at` is when its start was done, None before; `over_at` when it ended, None before. `lender_project_id` is
    the project from which a sub-lease has its resources.
    """

    reservation_id: str
    lease_id: str
    project_id: str
    user_id: str
    resource_type: str
    amount: int
    missing: int
    starts_at: int
    ends_at: int
    told_at: int
    delivered_at: int | None = None
    over_at: int | None = None
    lender_project_id: str | None = None

    def ahead(self, moment: int) -> tuple[int, int]:
        """Return the part of its time from a moment on; the end is not before the start."""
        start = max(moment, self.starts_at)
        return start, max(start, self.ends_at)


@dataclass(frozen=True, slots=True)
class LostSpan:
    """So much of a reservation's promise was lost in `[starts_at, ends_at)`."""

    state: Loss
    amount: int
    starts_at: int
    ends_at: int


FOR_EVER = to_seconds(OPEN_END)
NOT_PROMISED = frozenset({LeaseStatus.IN_PROGRESS, LeaseStatus.TIMEDOUT, LeaseStatus.OFFERED})
"""A lease that waits has nothing yet, and an offer nobody has accepted may lapse."""


def promises_of(lease: Lease) -> Sequence[Reservation]:
    """Return the reservations of a lease that promise something to its project."""
    if lease.status in NOT_PROMISED:
        return ()
    return [part for part in lease.reservations if part.resource_type != MAINTENANCE]


def is_over(lease: Lease, part: Reservation) -> bool:
    """Say whether a reservation promises nothing any more."""
    ending = lease.status in (LeaseStatus.TERMINATING, LeaseStatus.TERMINATED, LeaseStatus.DELETING)
    gone = part.dropped or part.status is ReservationStatus.DELETED or lease.deleted_at is not None
    return gone or ending or lease.reached(EventType.END)


def account(known: Terms | None, told: Terms, *, owner_chose: bool = True) -> tuple[Terms, list[LostSpan]]:
    """Return what is known after an event that says `told`, and the spans that it closes.

    Until the event everything was as `known`. What is promised ahead of it and no longer is given up, unless the owner
    did not choose that; a promise that is moved as a whole is the same promise, and only what it is shorter is given
    up. What is over stays so, and of a reservation that was not known before nothing is closed.
    """
    if known is None:
        return (told if told.over_at is None else _over(told, told)), []
    if known.over_at is not None:
        return known, []
    told = replace(
        told,
        told_at=max(known.told_at, told.told_at),
        delivered_at=known.delivered_at or told.delivered_at,
        lender_project_id=known.lender_project_id or told.lender_project_id,
    )
    if replace(told, told_at=known.told_at) == known:
        # Nothing ends here, so no span does.
        return known, []
    after = told if told.over_at is None else _over(known, told)
    return after, [*_until(known, after.told_at), *(_given_up(known, after) if owner_chose else ())]


def _over(known: Terms, told: Terms) -> Terms:
    """Return a reservation that ended as it was known, at the moment at which that was told."""
    end = min(known.ends_at, max(told.told_at, known.starts_at))
    return replace(known, ends_at=end, told_at=told.told_at, over_at=told.told_at, delivered_at=told.delivered_at)


def _until(known: Terms, moment: int) -> Iterator[LostSpan]:
    """Yield what was lost since the last event, up to a moment."""
    start, end = max(known.told_at, known.starts_at), min(moment, known.ends_at)
    late = known.amount - known.missing if known.delivered_at is None else 0
    for state, amount in ((Loss.LATE, late), (Loss.MISSING, known.missing)):
        if amount > 0 and start < end:
            yield LostSpan(state, amount, start, end)


def _given_up(known: Terms, after: Terms) -> Iterator[LostSpan]:
    """Yield what the owner has no longer, of what lay ahead; nothing of a promise without an end."""
    if known.ends_at == FOR_EVER:
        return
    (start, end), (again, last) = known.ahead(after.told_at), after.ahead(after.told_at)
    kept = end - max(0, (end - start) - (last - again))
    if kept < end:
        yield LostSpan(Loss.GIVEN_UP, known.amount, kept, end)
    if after.amount < known.amount and start < kept:
        yield LostSpan(Loss.GIVEN_UP, known.amount - after.amount, start, kept)


# ---------------------------------------------------------------- what is used


@dataclass(frozen=True, slots=True)
class Use:
    """A span in which each poll found at least `amount` used; `seen_at` is the last poll, None if it cannot go on.

    `id` None: it is not written yet.
    """

    amount: int
    starts_at: int
    ends_at: int
    seen_at: int | None
    id: int | None = None


def observed(use: Use | None, amount: int, moment: int, farthest: int) -> list[Use]:
    """Return what becomes of a span that goes on, if any does, when a poll finds an amount; new ones are among them.

    Between two polls that much was used that both have found. Nothing is known between polls that are farther apart
    than `farthest` seconds.
    """
    begun = Use(amount, moment, moment, moment)
    if use is None or moment - use.ends_at > farthest:
        return [*_closed(use), *([begun] if amount else ())]
    longer = replace(use, ends_at=moment, seen_at=moment)
    if amount == use.amount:
        return [longer]
    if amount > use.amount:
        return [replace(longer, seen_at=None), begun]
    return [*_closed(use), *([replace(begun, starts_at=use.ends_at)] if amount else ())]


def _closed(use: Use | None) -> list[Use]:
    return [] if use is None else [replace(use, seen_at=None)]
