"""The table of all routes of the API."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from leasehold.api import versions
from leasehold.api.handlers import allocation, floatingip, host, lease, version
from leasehold.api.handlers import property as properties
from leasehold.api.models import allocation as allocations
from leasehold.api.models.floatingip import FloatingIpCreation, FloatingIpList, OneFloatingIp
from leasehold.api.models.host import HostChange, HostCreation, HostList, OneHost
from leasehold.api.models.lease import LeaseAmendment, LeaseCreation, LeaseList, OneLease
from leasehold.api.models.property import OneDefinition, PrivacyChange, PropertyList
from leasehold.api.models.version import HealthAnswer, VersionList
from leasehold.api.policies import floatingip as floatingip_rules
from leasehold.api.policies import host as host_rules
from leasehold.api.policies import lease as lease_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.api.call import Reply
    from leasehold.api.models.base import RequestModel
    from leasehold.api.versions import Version

OK, CREATED, GONE = HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NO_CONTENT


@dataclass(frozen=True, slots=True)
class Route:
    """One method of one path.

    The target of `rules` is the caller's own project. Where the path has a `lease_id`, the target is the lease's owner,
    and the handler gets the lease. `public` routes ask for no identity and ignore microversions. `instant` routes are
    answered from memory, so they need no permit. `query` and `headers` name the query keys and headers that the handler
    reads. `answer` None means an empty answer.
    """

    method: str
    path: str
    handler: Callable[..., Reply]
    summary: str
    rules: tuple[str, ...] = ()
    request: type[RequestModel] | None = None
    answer: Any = None
    success: HTTPStatus = OK
    since: Version = versions.V1_0
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    public: bool = False
    instant: bool = False


_L, _H, _F = lease_rules, host_rules, floatingip_rules
_NARROW = ("lease_id", "reservation_id")

# fmt: off - a table is read down its columns.
ROUTES: tuple[Route, ...] = (
    Route("GET", "/", version.list_versions, "List versions", answer=VersionList, success=HTTPStatus.MULTIPLE_CHOICES),
    Route(
        "GET",
        "/versions",
        version.list_versions,
        "List versions",
        answer=VersionList,
        success=HTTPStatus.MULTIPLE_CHOICES,
    ),
    Route(
        "GET",
        "/healthcheck",
        version.check_health,
        "Say whether the database answers",
        answer=HealthAnswer,
        public=True,
        instant=True,
    ),
    Route("GET", "/v1/openapi.json", version.show_document, "Describe this API", answer=dict[str, Any], public=True),
    Route(
        "GET",
        "/v1/leases",
        lease.list_leases,
        "List leases",
        (_L.GET,),
        answer=LeaseList,
        query=("limit", "marker"),
    ),
    Route(
        "POST",
        "/v1/leases",
        lease.create,
        "Create a lease",
        (_L.POST,),
        LeaseCreation,
        OneLease,
        CREATED,
        headers=("Idempotency-Key",),
    ),
    Route("GET", "/v1/leases/{lease_id}", lease.show, "Show a lease", (_L.GET,), answer=OneLease),
    Route(
        "PUT",
        "/v1/leases/{lease_id}",
        lease.amend,
        "Amend a lease",
        (_L.GET, _L.PUT),
        LeaseAmendment,
        OneLease,
        headers=("If-Match",),
    ),
    Route(
        "DELETE",
        "/v1/leases/{lease_id}",
        lease.delete,
        "Delete a lease",
        (_L.GET, _L.DELETE),
        success=GONE,
        headers=("If-Match",),
    ),
    Route("GET", "/v1/os-hosts", host.list_hosts, "List hosts", (_H.GET,), answer=HostList),
    Route("POST", "/v1/os-hosts", host.create, "Enrol a host", (_H.POST,), HostCreation, OneHost, CREATED),
    Route(
        "GET",
        "/v1/os-hosts/allocations",
        allocation.list_allocations,
        "List allocations",
        (_H.GET_ALLOCATIONS,),
        answer=allocations.AllocationList,
        query=_NARROW,
    ),
    Route(
        "GET",
        "/v1/os-hosts/properties",
        properties.list_properties,
        "List properties of hosts",
        (_H.GET_PROPERTIES,),
        answer=PropertyList,
        query=("detail", "all"),
    ),
    Route(
        "PATCH",
        "/v1/os-hosts/properties/{name}",
        properties.change,
        "Hide or show a property",
        (_H.UPDATE_PROPERTIES,),
        PrivacyChange,
        OneDefinition,
    ),
    Route("GET", "/v1/os-hosts/{host_id}", host.show, "Show a host", (_H.GET,), answer=OneHost),
    Route(
        "PUT", "/v1/os-hosts/{host_id}", host.change, "Set properties of a host", (_H.GET, _H.PUT), HostChange, OneHost
    ),
    Route("DELETE", "/v1/os-hosts/{host_id}", host.delete, "Remove a host", (_H.GET, _H.DELETE), success=GONE),
    Route(
        "GET",
        "/v1/os-hosts/{host_id}/allocation",
        allocation.show,
        "Show the allocations of a host",
        (_H.GET, _H.GET_ALLOCATIONS),
        answer=allocations.OneAllocation,
        query=_NARROW,
    ),
    Route(
        "GET", "/v1/floatingips", floatingip.list_floating_ips, "List floating IPs", (_F.GET,), answer=FloatingIpList
    ),
    Route(
        "POST",
        "/v1/floatingips",
        floatingip.create,
        "Enrol a floating IP",
        (_F.POST,),
        FloatingIpCreation,
        OneFloatingIp,
        CREATED,
    ),
    Route(
        "GET", "/v1/floatingips/{floatingip_id}", floatingip.show, "Show a floating IP", (_F.GET,), answer=OneFloatingIp
    ),
    Route(
        "DELETE",
        "/v1/floatingips/{floatingip_id}",
        floatingip.delete,
        "Remove a floating IP",
        (_F.GET, _F.DELETE),
        success=GONE,
    ),
)
# fmt: on
