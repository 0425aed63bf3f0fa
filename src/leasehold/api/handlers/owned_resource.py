"""What owners do with their resources, from 1.3 on (feature I1, decision 0108)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.paging import Choice
from leasehold.api.views.owned_resource import show_owned
from leasehold.leasing import owned_resource

LISTED = Choice(texts=("name", "health"), switches=("reservable",), sorts=("name", "resource_type"))

if TYPE_CHECKING:
    from leasehold.api.call import Call


def list_owned(call: Call) -> Reply:
    """Show the resources that the caller's project owns, and which leases use them, of whatever project.

    An administrator may ask for those of `all_projects`. In pages, by name and state, and sorted.
    """
    project = None if call.query_all_projects() else call.caller.project_id
    found = owned_resource.list_owned(call.service, project, LISTED.asked(call))
    return Reply({"owned_resources": list(map(show_owned, found))})


def end_lease(call: Call, owned_id: str) -> Reply:
    """Delete a lease, of whatever project, all of whose resources the caller's project owns.

    A lease that has none of them is not found. Nothing waits for its servers to be gone.
    """
    owned_resource.end_lease(call.service, call.caller.project_id, owned_id)
    return Reply()
