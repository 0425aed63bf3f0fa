"""Reminders: at given times before a lease ends its project is told, at each of them once (feature D3, decision 0043).

A *rung* is such a time, in seconds before the end. `Lease.reminded` is the lowest rung that is done with, so the lease
alone says which one is next. The warning of v1, `before_end_lease`, is another thing.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.model.states import EventType, LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from leasehold.model.lease import Lease
    from leasehold.model.windows import Window


def due_rung(lease: Lease, now: datetime, rungs: Collection[int]) -> int | None:
    """Return the rung that is due for an active lease; None if none is.

    If several have passed, as after an outage, the last of them stands for all.
    """
    if lease.status is not LeaseStatus.ACTIVE or lease.deleted_at is not None or lease.window.end <= now:
        return None
    rung = _lowest_passed(lease.window, now, rungs)
    return rung if rung is not None and (lease.reminded is None or rung < lease.reminded) else None


def rungs_done(window: Window, now: datetime, rungs: Collection[int]) -> int | None:
    """Return the `reminded` of a lease that gets this window now: who asks for less time than a rung knows that."""
    return _lowest_passed(window, max(window.start, now), rungs)


def rearmed(before: Lease, after: Lease, now: datetime, rungs: Collection[int]) -> Lease:
    """Return an amended lease, which is reminded again if its end moves to a later time.

    If the end of a lease that has started moves to an earlier time, the rungs that it passes are due at once.
    """
    if after.window == before.window:
        return after
    anew = after.window.end > before.window.end or not before.reached(EventType.START)
    return replace(after, reminded=rungs_done(after.window, now, rungs)) if anew else after


def _lowest_passed(window: Window, now: datetime, rungs: Collection[int]) -> int | None:
    left = window.end - now
    return min((rung for rung in rungs if left <= timedelta(seconds=rung)), default=None)
