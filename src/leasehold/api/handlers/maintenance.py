"""Maintenance windows, from 1.2 on (feature C7, decision 0044)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.spans import ending_as_sent, named_as_sent, parse_window
from leasehold.api.views.maintenance import show_maintenance
from leasehold.leasing import maintenance as windows
from leasehold.model.maintenance import MaintenanceDraft, OnConflict

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.api.models.maintenance import MaintenanceCreation


def list_maintenances(call: Call) -> Reply:
    """Show all maintenance windows."""
    return Reply({"maintenances": [show_maintenance(each) for each in windows.list_maintenances(call.service)]})


def show(call: Call, maintenance_id: str) -> Reply:
    """Show one maintenance window."""
    return Reply({"maintenance": show_maintenance(windows.get_maintenance(call.service, maintenance_id))})


def create(call: Call, body: MaintenanceCreation) -> Reply:
    """Make a maintenance window: its hosts are promised to nobody else; `on_conflict` says what becomes of leases."""
    now = call.service.now()
    start, end = parse_window(body, version=call.version, now=now)
    draft = MaintenanceDraft(
        name=body.name,
        start=start,
        end=end,
        hosts=tuple(body.hosts),
        on_conflict=OnConflict(body.on_conflict),
    )
    with named_as_sent(ending_as_sent(body)):
        made = windows.make_maintenance(call.service, call.caller, draft)
    return Reply({"maintenance": show_maintenance(made)})


def delete(call: Call, maintenance_id: str) -> Reply:
    """Delete a maintenance window; the leases that were moved stay where they are."""
    windows.delete_maintenance(call.service, maintenance_id)
    return Reply()
