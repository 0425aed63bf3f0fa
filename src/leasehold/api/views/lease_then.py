"""What a lease held at a moment, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.api.models.lease_then import HeldThen
    from leasehold.model.segment import Segment


def show_held_then(each: Segment, *, named: bool) -> HeldThen:
    """Return what a reservation held at a moment."""
    return {
        "reservation_id": each.reservation_id,
        "resource_type": each.resource_type,
        "name": each.label if named else None,
        "slots": each.slots,
        "demand": None if each.demand is None else dict(each.demand),
    }
