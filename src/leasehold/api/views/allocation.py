"""Allocations as v1 shows them (contract http-api §6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.dates import to_wire

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.api.models.allocation import AllocationAnswer, ReservedAnswer
    from leasehold.model.allocation import Allocation
    from leasehold.model.resource import Resource


def show_allocations(resource: Resource, allocations: Sequence[Allocation]) -> AllocationAnswer:
    """Return the allocations of the resource; a reservation that has n slots of it is shown n times."""
    return {
        "resource_id": resource.id,
        "reservations": [_reserved(allocation) for allocation in allocations for _ in range(allocation.slots)],
    }


def _reserved(allocation: Allocation) -> ReservedAnswer:
    return {
        "id": allocation.reservation_id,
        "lease_id": allocation.lease_id,
        "start_date": to_wire(allocation.window.start),
        "end_date": to_wire(allocation.window.end),
    }
