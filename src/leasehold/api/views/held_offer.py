"""Offers, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.dates import to_record
from leasehold.api.views.lease import show_lease
from leasehold.model.held_offer import state_of

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.api.call import Call
    from leasehold.api.models.held_offer import OfferAnswer
    from leasehold.model.lease import Lease


def show_offer(call: Call, lease: Lease, now: datetime) -> OfferAnswer:
    """Return what a lease was made as, and what has become of it."""
    return {
        "id": lease.id,
        "state": state_of(lease, now).value,
        "expires_at": to_record(lease.offered_until) or "",
        "lease": show_lease(lease, call.service.types, call.version, call.sight),
    }
