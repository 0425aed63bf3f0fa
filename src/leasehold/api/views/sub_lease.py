"""Sub-leases as their lender sees them, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.dates import to_wire

if TYPE_CHECKING:
    from leasehold.api.models.sub_lease import SubLeaseAnswer
    from leasehold.model.lease import Lease
    from leasehold.resource_types.registry import ResourceTypes


def show_sub_lease(lease: Lease, types: ResourceTypes) -> SubLeaseAnswer:
    """Return what the lender may know: its name is that of the project that has it, which may have changed it."""
    return {
        "id": lease.id,
        "parent_id": "" if lease.lent is None else lease.lent.lease_id,
        "project_id": lease.project_id,
        "start_date": to_wire(lease.window.start),
        "end_date": to_wire(lease.window.end),
        "status": lease.status.value,
        "amount": sum(types.amount(part) for part in lease.reservations),
    }
