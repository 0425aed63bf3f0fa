"""Maintenance windows, from 1.2 on (feature C7, decision 0044)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.lease_filter import asked_part
from leasehold.api.listing import Listing
from leasehold.api.spans import ending_as_sent, named_as_sent, parse_window
from leasehold.api.versions import FILTERS
from leasehold.api.views.maintenance import show_maintenance
from leasehold.leasing import maintenance as windows
from leasehold.leasing import queries
from leasehold.model.maintenance import MaintenanceDraft, OnConflict
from leasehold.model.resource import MAINTENANCE

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.api.models.maintenance import MaintenanceCreation


def list_maintenances(call: Call) -> Reply:
    """Show all maintenance windows; from 1.3 on in pages, by name, status and time, and sorted, as leases are."""
    part = asked_part(call) if call.version >= FILTERS else {}
    found = queries.each_lease(call.service, None, resource_type=MAINTENANCE, **part)
    return Reply(Listing("maintenances", map(show_maintenance, found)))


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
