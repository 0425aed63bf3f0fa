"""When the no-shows of a lease are due, and what of it is looked at then; the lease alone says so (feature E10)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation


@dataclass(frozen=True, slots=True)
class Judging:
    """A reservation whose no-show is due: the allocations that it may lose, and whether it loses them or is warned."""

    allocations: frozenset[int]
    releases: bool


def next_no_show(lease: Lease) -> datetime | None:
    """Return when the next warning or release of a lease is due; None if none is."""
    return min((moment for _, moment in _dues(lease)), default=None)


def due_of(lease: Lease, part: Reservation) -> datetime | None:
    """Return when the next warning or release of one reservation is due; None if none is."""
    return next((due for each, due in _dues(lease) if each.id == part.id), None)


def judging(lease: Lease, part: Reservation, now: datetime) -> Judging | None:
    """Return what is looked at of a reservation now; None if neither its warning nor its release is due.

    What it got after the time began, in place of something that failed or was swapped, is kept. So is a resource of
    which it has another allocation that is kept.
    """
    moment, started, no_show = due_of(lease, part), _started(lease), part.no_show
    if moment is None or moment > now or started is None or no_show is None:
        return None
    begin = no_show.counts_from(started)
    held = [each for each in part.allocations if each.released_at is None and each.left_at is None]
    kept = {each.resource_number for each in held if each.id in no_show.used or each.window.start > begin}
    found = frozenset(each.id for each in held if each.resource_number not in kept and _runs(each, now))
    return Judging(found, releases=no_show.warned_at is not None)


def _runs(held: Allocation, now: datetime) -> bool:
    return held.window.start <= now < held.window.end


def _dues(lease: Lease) -> Iterator[tuple[Reservation, datetime]]:
    """Yield the reservations of an active lease that have something due, and when."""
    started = _started(lease)
    if started is None:
        return
    for part in lease.reservations:
        if part.no_show is not None and part.status is ReservationStatus.ACTIVE:
            due = part.no_show.due(started, lease.window.end)
            if due is not None:
                yield part, due


def _started(lease: Lease) -> datetime | None:
    """Return from when on an active lease can be used: its start was complete, and has come; None for any other."""
    event = lease.event(EventType.START)
    if lease.status is not LeaseStatus.ACTIVE or lease.deleted_at is not None or event is None:
        return None
    moment = event.updated_at or event.time
    # With a lead it may be ready before its start. Without a moment, which no lease has, nothing is counted.
    return max(moment, lease.window.start) if moment is not None and event.status is EventStatus.DONE else None
