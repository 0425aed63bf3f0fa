"""Reminders: at given times before a lease ends its project is told, at each of them once (feature D3, decision 0043).

A *rung* is such a time, in seconds before the end. The owner chooses the rungs of a lease, or leaves them to the
operator. `Lease.reminded` is the lowest rung that is done with, so the lease alone says which one is next. The warning
of v1, `before_end_lease`, is another thing.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.model.lease import with_fields
from leasehold.model.states import EventType, LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from leasehold.model.lease import Lease
    from leasehold.model.windows import Window

_BEFORE_THE_END = frozenset({LeaseStatus.PENDING, LeaseStatus.STARTING, LeaseStatus.ACTIVE})


def due_rung(lease: Lease, now: datetime, configured: Collection[int]) -> int | None:
    """Return the rung that is due for an active lease; None if none is.

    If several have passed, as after an outage, the last of them stands for all.
    """
    if lease.status is not LeaseStatus.ACTIVE or lease.deleted_at is not None or lease.window.end <= now:
        return None
    rung = _lowest_passed(lease.window, now, _rungs_of(lease, configured))
    return rung if rung is not None and (lease.reminded is None or rung < lease.reminded) else None


def armed(lease: Lease, now: datetime, configured: Collection[int]) -> Lease:
    """Return a lease that gets its window or its rungs now: who asks for less time than a rung knows that."""
    begin = max(lease.window.start, now)
    return with_fields(lease, reminded=_lowest_passed(lease.window, begin, _rungs_of(lease, configured)))


def rearmed(before: Lease, after: Lease, now: datetime, configured: Collection[int]) -> Lease:
    """Return an amended lease, which is reminded again if its end moves to a later time, or its rungs change.

    If the end of a lease that has started moves to an earlier time, the rungs that it passes are due at once.
    """
    if (after.window, after.reminders) == (before.window, before.reminders):
        return after
    anew = after.window.end > before.window.end or not before.reached(EventType.START)
    return armed(after, now, configured) if anew or after.reminders != before.reminders else after


def own_reminder(lease: Lease) -> datetime | None:
    """Return when the next of the rungs is due that the owner has chosen; None if none is to come.

    A lease that is not active yet is not reminded, whatever this says.
    """
    if lease.reminders is None or lease.deleted_at is not None or lease.status not in _BEFORE_THE_END:
        return None
    left = [rung for rung in lease.reminders if lease.reminded is None or rung < lease.reminded]
    return lease.window.end - timedelta(seconds=max(left)) if left else None


def _rungs_of(lease: Lease, configured: Collection[int]) -> Collection[int]:
    return configured if lease.reminders is None else lease.reminders


def _lowest_passed(window: Window, now: datetime, rungs: Collection[int]) -> int | None:
    left = window.end - now
    return min((rung for rung in rungs if left <= timedelta(seconds=rung)), default=None)
