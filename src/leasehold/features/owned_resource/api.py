"""What owners do with their resources, from 1.3 on (feature I1, decision 0108)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from leasehold.api.call import Reply
from leasehold.api.models.base import answer
from leasehold.api.paging import ListKeys
from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.route import EVERY, GONE, V1_3
from leasehold.api.views.shown import shown
from leasehold.features.owned_resource import use

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.features.owned_resource.model import OwnedResource


class OwnedUseAnswer(TypedDict):
    """A lease that uses a resource: its id, whose it is, when and how it stands."""

    id: str
    project_id: str
    start_date: str
    end_date: str
    status: str


class OwnedResourceAnswer(TypedDict):
    """A resource that belongs to the project `owner`, and the leases that use it now or later."""

    id: str
    resource_type: str
    name: str
    owner: str
    projects: list[str]
    capacity: dict[str, int]
    reservable: bool
    health: str
    leases: list[OwnedUseAnswer]


OwnedResourceList = answer(
    "OwnedResourceList", "The answer about the resources of owners.", owned_resources=list[OwnedResourceAnswer]
)


LISTED = ListKeys(texts=("name", "health"), switches=("reservable",), sorts=("name", "resource_type"))


def list_owned(call: Call) -> Reply:
    """Show the resources that the caller's project owns, and which leases use them, of whatever project.

    An administrator may ask for those of `all_projects`. In pages, by name and state, and sorted.
    """
    found = use.list_owned(call.service, call.listed_project(), LISTED.asked(call))
    return Reply({"owned_resources": list(map(show_owned, found))})


def end_lease(call: Call, owned_id: str) -> Reply:
    """Delete a lease, of whatever project, all of whose resources the caller's project owns.

    A lease that has none of them is not found. Nothing waits for its servers to be gone.
    """
    use.end_lease(call.service, call.caller.project_id, owned_id)
    return Reply()


def show_owned(owned: OwnedResource) -> OwnedResourceAnswer:
    """Return a resource, and the leases that use it; times are in ISO 8601 with the zone."""
    resource = owned.resource
    return shown(
        OwnedResourceAnswer,
        resource,
        resource_type=resource.type,
        name=resource.label,
        owner=resource.owner or "",
        projects=sorted(resource.projects or ()),
        leases=[
            shown(OwnedUseAnswer, each, id=each.lease_id, start_date=each.window.start, end_date=each.window.end)
            for each in owned.uses
        ],
    )


_ALL = "/v1/owned-resources"

GET = Rule(
    "leasehold:owned_resources:get",
    READER_OR_ADMIN,
    "Show the resources that a project owns, and which leases use them; only administrators list those of all.",
)
END_LEASE = Rule(
    "leasehold:owned_resources:end_lease",
    MEMBER_OR_ADMIN,
    "Delete a lease of any project all of whose resources the caller's project owns.",
)


ROUTES = (
    V1_3("GET", _ALL, list_owned, (GET,), None, OwnedResourceList, query=EVERY, filters=LISTED.query),
    V1_3("DELETE", "/v1/owned-leases/{owned_id}", end_lease, (END_LEASE,), success=GONE),
)
