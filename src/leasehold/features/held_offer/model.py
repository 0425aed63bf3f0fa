"""What becomes of an offer that holds what it shows."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.model.errors import ConflictError
from leasehold.model.held_offer import lapsed
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.model.lease import Lease


class OfferOverError(ConflictError):
    """The offer cannot be accepted any more: it has lapsed or was given up, or its lease is gone."""

    code = "leasehold.offer.over"

    def __init__(self) -> None:
        message = "The offer is over: it has lapsed or was given up, or its lease was deleted. Ask for another offer."
        super().__init__(message)


class OfferAcceptedError(ConflictError):
    """The offer was accepted, so it cannot be given up any more."""

    code = "leasehold.offer.accepted"

    def __init__(self, lease_id: str) -> None:
        super().__init__(f"The offer was accepted. To give its resources back, delete the lease {lease_id}.")


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
