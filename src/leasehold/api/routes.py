"""The table of all routes of the API."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from inspect import getdoc
from typing import TYPE_CHECKING, Any

from leasehold.api import versions
from leasehold.api.handlers import allocation, floatingip, host, lease, resource, version
from leasehold.api.handlers import property as properties
from leasehold.api.models.allocation import AllocationList, OneAllocation
from leasehold.api.models.floatingip import FloatingIpCreation, FloatingIpList, OneFloatingIp
from leasehold.api.models.host import HostChange, HostCreation, HostList, OneHost
from leasehold.api.models.lease import LeaseAmendment, LeaseCreation, LeaseList, OneLease
from leasehold.api.models.property import OneDefinition, PrivacyChange, PropertyList
from leasehold.api.models.resource import OneResource, ResourceChange, ResourceCreation, ResourceList, ResourceTypeList
from leasehold.api.models.version import HealthAnswer, VersionList
from leasehold.api.policies import floatingip as floatingip_rules
from leasehold.api.policies import host as host_rules
from leasehold.api.policies import lease as lease_rules
from leasehold.api.policies import resource as resource_rules

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.api.call import Reply
    from leasehold.api.models.base import RequestModel
    from leasehold.api.versions import Version

OK, CREATED, GONE, CHOICES = HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NO_CONTENT, HTTPStatus.MULTIPLE_CHOICES


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
    rules: tuple[str, ...] = ()
    request: type[RequestModel] | None = None
    answer: Any = None
    success: HTTPStatus = OK
    since: Version = versions.V1_0
    query: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    public: bool = False
    instant: bool = False

    @property
    def description(self) -> str:
        """What the handler says it does, for the OpenAPI document."""
        return getdoc(self.handler) or ""

    @property
    def summary(self) -> str:
        """The first clause of that."""
        return re.split(r"[.:;\n]", self.description, maxsplit=1)[0]


_L, _H, _F, _R = lease_rules, host_rules, floatingip_rules, resource_rules
_NARROW, _ALL = ("lease_id", "reservation_id"), ("detail", "all")

_LEASE, _HOST, _ADDRESS = "/v1/leases/{lease_id}", "/v1/os-hosts/{host_id}", "/v1/floatingips/{floatingip_id}"
_PROPERTIES, _ALLOCATIONS, _HELD_BY = "/v1/os-hosts/properties", "/v1/os-hosts/allocations", f"{_HOST}/allocation"
_TYPE, _RESOURCE = "/v1/resources/{resource_type}", "/v1/resources/{resource_type}/{resource_id}"
_HELD, _KEYS = f"{_TYPE}/allocations", f"{_TYPE}/properties"
_V1_2 = partial(Route, since=versions.RESOURCES)
_KEY, _MATCH = ("Idempotency-Key",), ("If-Match",)

# Columns: method, path, handler, rules, request, answer, success, and what is rare.
ROUTES: tuple[Route, ...] = (
    Route("GET", "/", version.list_versions, answer=VersionList, success=CHOICES),
    Route("GET", "/versions", version.list_versions, answer=VersionList, success=CHOICES),
    Route("GET", "/healthcheck", version.check_health, answer=HealthAnswer, public=True, instant=True),
    Route("GET", "/v1/openapi.json", version.show_document, answer=dict[str, Any], public=True),
    Route("GET", "/v1/leases", lease.list_leases, (_L.GET,), None, LeaseList, query=("limit", "marker")),
    Route("POST", "/v1/leases", lease.create, (_L.POST,), LeaseCreation, OneLease, CREATED, headers=_KEY),
    Route("GET", _LEASE, lease.show, (_L.GET,), None, OneLease),
    Route("PUT", _LEASE, lease.amend, (_L.GET, _L.PUT), LeaseAmendment, OneLease, headers=_MATCH),
    Route("DELETE", _LEASE, lease.delete, (_L.GET, _L.DELETE), success=GONE, headers=_MATCH),
    Route("GET", "/v1/os-hosts", host.list_hosts, (_H.GET,), None, HostList),
    Route("POST", "/v1/os-hosts", host.create, (_H.POST,), HostCreation, OneHost, CREATED),
    Route("GET", _ALLOCATIONS, allocation.list_allocations, (_H.GET_ALLOCATIONS,), None, AllocationList, query=_NARROW),
    Route("GET", _PROPERTIES, properties.list_properties, (_H.GET_PROPERTIES,), None, PropertyList, query=_ALL),
    Route("PATCH", f"{_PROPERTIES}/{{name}}", properties.change, (_H.UPDATE_PROPERTIES,), PrivacyChange, OneDefinition),
    Route("GET", _HOST, host.show, (_H.GET,), None, OneHost),
    Route("PUT", _HOST, host.change, (_H.GET, _H.PUT), HostChange, OneHost),
    Route("DELETE", _HOST, host.delete, (_H.GET, _H.DELETE), success=GONE),
    Route("GET", _HELD_BY, allocation.show_of_host, (_H.GET, _H.GET_ALLOCATIONS), None, OneAllocation, query=_NARROW),
    Route("GET", "/v1/floatingips", floatingip.list_floating_ips, (_F.GET,), None, FloatingIpList),
    Route("POST", "/v1/floatingips", floatingip.create, (_F.POST,), FloatingIpCreation, OneFloatingIp, CREATED),
    Route("GET", _ADDRESS, floatingip.show, (_F.GET,), None, OneFloatingIp),
    Route("DELETE", _ADDRESS, floatingip.delete, (_F.GET, _F.DELETE), success=GONE),
    _V1_2("GET", "/v1/resources", resource.list_types, (_R.GET,), None, ResourceTypeList),
    _V1_2("GET", _TYPE, resource.list_resources, (_R.GET,), None, ResourceList),
    _V1_2("POST", _TYPE, resource.create, (_R.POST,), ResourceCreation, OneResource, CREATED),
    _V1_2("GET", _HELD, allocation.list_allocations, (_R.GET_ALLOCATIONS,), None, AllocationList, query=_NARROW),
    _V1_2("GET", _KEYS, properties.list_properties, (_R.GET_PROPERTIES,), None, PropertyList, query=_ALL),
    _V1_2("PATCH", f"{_KEYS}/{{name}}", properties.change, (_R.UPDATE_PROPERTIES,), PrivacyChange, OneDefinition),
    _V1_2("GET", _RESOURCE, resource.show, (_R.GET,), None, OneResource),
    _V1_2("PUT", _RESOURCE, resource.change, (_R.GET, _R.PUT), ResourceChange, OneResource),
    _V1_2("DELETE", _RESOURCE, resource.delete, (_R.GET, _R.DELETE), success=GONE),
    _V1_2("GET", f"{_RESOURCE}/allocation", allocation.show, (_R.GET_ALLOCATIONS,), None, OneAllocation, query=_NARROW),
)
