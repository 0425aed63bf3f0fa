"""Held offers: leases whose resources are held until somebody accepts them, or until they lapse (feature I6)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from leasehold.model.lease import Lease


def lapsed(lease: Lease, now: datetime) -> bool:
    """Say whether the time is over in which an offer can be accepted."""
    return lease.offered_until is None or lease.offered_until <= now


def offered(lease: Lease, hold: timedelta, now: datetime) -> Lease:
    """Return a new lease as an offer, which lapses `hold` from now, at the end of the lease at the latest."""
    return replace(lease, status=LeaseStatus.OFFERED, offered_until=min(now + hold, lease.window.end))
