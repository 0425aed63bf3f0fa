"""The resources of owners, as the API shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.api.models.owned_resource import OwnedResourceAnswer
    from leasehold.model.owned_resource import OwnedResource


def show_owned(owned: OwnedResource) -> OwnedResourceAnswer:
    """Return a resource, and the leases that use it; times are in ISO 8601 with the zone."""
    resource = owned.resource
    return {
        "id": resource.id,
        "resource_type": resource.type,
        "name": resource.label,
        "owner": resource.owner or "",
        "projects": sorted(resource.projects or ()),
        "capacity": dict(resource.capacity),
        "reservable": resource.reservable,
        "health": resource.health,
        "leases": [
            {
                "id": use.lease_id,
                "project_id": use.project_id,
                "start_date": use.window.start.isoformat(),
                "end_date": use.window.end.isoformat(),
                "status": use.status,
            }
            for use in owned.uses
        ],
    }
