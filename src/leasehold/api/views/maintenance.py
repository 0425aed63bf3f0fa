"""Maintenance windows, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.dates import to_record, to_wire
from leasehold.leasing.maintenance import request_of

if TYPE_CHECKING:
    from leasehold.api.models.maintenance import MaintenanceAnswer
    from leasehold.model.lease import Lease


def show_maintenance(lease: Lease) -> MaintenanceAnswer:
    """Return a window by its lease."""
    request = request_of(lease)
    return {
        "id": lease.id,
        "name": lease.name,
        "project_id": lease.project_id,
        "user_id": lease.user_id,
        "start_date": to_wire(lease.window.start),
        "end_date": to_wire(lease.window.end),
        "status": lease.status.value,
        "hosts": list(request.hosts),
        "moved": list(request.moved),
        "warned": list(request.warned),
        "created_at": to_record(lease.created_at),
        "updated_at": to_record(lease.updated_at),
    }
