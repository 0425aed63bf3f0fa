"""Held offers: leases whose resources are held until somebody accepts them, or until they lapse (feature I6)."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from datetime import datetime, timedelta

    from leasehold.model.lease import Lease


class OfferState(StrEnum):
    """What has become of an offer."""

    OPEN = "open"
    """It may be accepted, and holds what it shows."""
    ACCEPTED = "accepted"
    """It is a lease."""
    OVER = "over"
    """It has lapsed or was given up, or its lease is gone."""


def state_of(lease: Lease, now: datetime) -> OfferState:
    """Return what has become of the offer that a lease was made as; `now` is aware and in UTC.

    One whose time has passed is over, also while its resources are not released yet.
    """
    if lease.deleted_at is not None:
        return OfferState.OVER
    if lease.status is not LeaseStatus.OFFERED:
        return OfferState.ACCEPTED
    return OfferState.OVER if lapsed(lease, now) else OfferState.OPEN


def lapsed(lease: Lease, now: datetime) -> bool:
    """Say whether the time is over in which an offer can be accepted."""
    return lease.offered_until is None or lease.offered_until <= now


def offered(lease: Lease, hold: timedelta, now: datetime) -> Lease:
    """Return a new lease as an offer, which lapses `hold` from now, at the end of the lease at the latest."""
    return replace(lease, status=LeaseStatus.OFFERED, offered_until=min(now + hold, lease.window.end))
