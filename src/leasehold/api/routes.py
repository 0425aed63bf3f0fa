"""The table of all routes of the API."""

from __future__ import annotations

from typing import Any

from leasehold.api.handlers import (
    allocation,
    event_log,
    floatingip,
    holding,
    host,
    lease,
    resource,
    version,
)
from leasehold.api.handlers import property as properties
from leasehold.api.handlers.lease_then import AS_OF
from leasehold.api.lease_filter import DELETED, FILTERS
from leasehold.api.models.allocation import AllocationList, OneAllocation
from leasehold.api.models.event_log import LogEventList
from leasehold.api.models.floatingip import FloatingIpCreation, FloatingIpList, OneFloatingIp
from leasehold.api.models.holding import HolderList
from leasehold.api.models.host import HostChange, HostCreation, HostList, OneHost
from leasehold.api.models.lease import LeaseAmendment, LeaseCreation, LeaseList, OneLease, SwapRequest
from leasehold.api.models.property import OneDefinition, PrivacyChange, PropertyList
from leasehold.api.models.resource import (
    CandidateList,
    OneResource,
    ResourceChange,
    ResourceCreation,
    ResourceList,
    ResourceTypeList,
)
from leasehold.api.models.version import HealthAnswer, VersionList
from leasehold.api.policies import event_log as event_log_rules
from leasehold.api.policies import floatingip as floatingip_rules
from leasehold.api.policies import host as host_rules
from leasehold.api.policies import lease as lease_rules
from leasehold.api.policies import resource as resource_rules
from leasehold.api.route import CHOICES, CREATED, GONE, V1_2, V1_3, Route
from leasehold.model.refused import Operation

_L, _H, _F, _R = lease_rules, host_rules, floatingip_rules, resource_rules
_NARROW, _ALL = ("lease_id", "reservation_id"), ("detail", "all")

_LEASE, _HOST, _ADDRESS = "/v1/leases/{lease_id}", "/v1/os-hosts/{host_id}", "/v1/floatingips/{floatingip_id}"
_ONE_OF = f"{_LEASE}/reservations/{{reservation_id}}/resources/{{resource_id}}"
_PROPERTIES, _ALLOCATIONS, _HELD_BY = "/v1/os-hosts/properties", "/v1/os-hosts/allocations", f"{_HOST}/allocation"
_TYPE, _RESOURCE = "/v1/resources/{resource_type}", "/v1/resources/{resource_type}/{resource_id}"
_HELD, _KEYS = f"{_TYPE}/allocations", f"{_TYPE}/properties"
_READING = ("after", "limit", "wait", "lease_id", "all_projects")
_KEY, _MATCH = ("Idempotency-Key",), ("If-Match",)
_BOTH, _AMENDS = (*_KEY, *_MATCH), (_L.GET, _L.PUT)

# Columns: method, path, handler, rules, request, answer, success, and what is rare.
ROUTES: tuple[Route, ...] = (
    Route("GET", "/", version.list_versions, answer=VersionList, success=CHOICES),
    Route("GET", "/versions", version.list_versions, answer=VersionList, success=CHOICES),
    Route("GET", "/healthcheck", version.check_health, answer=HealthAnswer, public=True, instant=True),
    Route("GET", "/v1/openapi.json", version.show_document, answer=dict[str, Any], public=True),
    Route(
        "GET",
        "/v1/leases",
        lease.list_leases,
        (_L.GET,),
        None,
        LeaseList,
        query=("limit", "marker"),
        filters=(*FILTERS, DELETED),
    ),
    Route(
        "POST",
        "/v1/leases",
        lease.create,
        (_L.POST,),
        LeaseCreation,
        OneLease,
        CREATED,
        headers=_KEY,
        counts=Operation.CREATE,
    ),
    Route("GET", _LEASE, lease.show, (_L.GET,), None, OneLease, filters=(AS_OF,)),
    Route("PUT", _LEASE, lease.amend, _AMENDS, LeaseAmendment, OneLease, headers=_BOTH, counts=Operation.AMEND),
    Route("DELETE", _LEASE, lease.delete, (_L.GET, _L.DELETE), success=GONE, headers=_MATCH),
    Route("GET", "/v1/os-hosts", host.list_hosts, (_H.GET,), None, HostList, filters=host.LISTED.query),
    Route("POST", "/v1/os-hosts", host.create, (_H.POST,), HostCreation, OneHost, CREATED),
    Route(
        "GET",
        _ALLOCATIONS,
        allocation.list_allocations,
        (_H.GET_ALLOCATIONS,),
        None,
        AllocationList,
        query=_NARROW,
        filters=allocation.LISTED.query,
    ),
    Route("GET", _PROPERTIES, properties.list_properties, (_H.GET_PROPERTIES,), None, PropertyList, query=_ALL),
    Route("PATCH", f"{_PROPERTIES}/{{name}}", properties.change, (_H.UPDATE_PROPERTIES,), PrivacyChange, OneDefinition),
    Route("GET", _HOST, host.show, (_H.GET,), None, OneHost),
    Route("PUT", _HOST, host.change, (_H.GET, _H.PUT), HostChange, OneHost),
    Route("DELETE", _HOST, host.delete, (_H.GET, _H.DELETE), success=GONE),
    Route("GET", _HELD_BY, allocation.show_of_host, (_H.GET, _H.GET_ALLOCATIONS), None, OneAllocation, query=_NARROW),
    Route(
        "GET",
        "/v1/floatingips",
        floatingip.list_floating_ips,
        (_F.GET,),
        None,
        FloatingIpList,
        filters=floatingip.LISTED.query,
    ),
    Route("POST", "/v1/floatingips", floatingip.create, (_F.POST,), FloatingIpCreation, OneFloatingIp, CREATED),
    Route("GET", _ADDRESS, floatingip.show, (_F.GET,), None, OneFloatingIp),
    Route("DELETE", _ADDRESS, floatingip.delete, (_F.GET, _F.DELETE), success=GONE),
    V1_2("GET", f"{_LEASE}/resources", holding.list_holdings, (_L.GET, _L.GET_RESOURCES), None, HolderList),
    V1_2("POST", f"{_LEASE}/heal", lease.heal, (_L.GET, _L.HEAL), None, OneLease, headers=_MATCH),
    V1_2(
        "POST",
        f"{_LEASE}/swap",
        lease.swap,
        (_L.GET, _L.SWAP),
        SwapRequest,
        OneLease,
        headers=_MATCH,
        counts=Operation.SWAP,
    ),
    V1_3("DELETE", f"{_LEASE}/reservations/{{reservation_id}}", lease.drop, _AMENDS, success=GONE, headers=_MATCH),
    V1_3("DELETE", _ONE_OF, lease.vacate, _AMENDS, success=GONE, headers=_MATCH),
    V1_2(
        "GET",
        "/v1/events",
        event_log.list_events,
        (event_log_rules.GET,),
        None,
        LogEventList,
        query=_READING,
        filters=("type", "from"),
    ),
    V1_2("GET", "/v1/resources", resource.list_types, (_R.GET,), None, ResourceTypeList),
    V1_2("GET", _TYPE, resource.list_resources, (_R.GET,), None, ResourceList, filters=resource.LISTED.query),
    V1_2("POST", _TYPE, resource.create, (_R.POST,), ResourceCreation, OneResource, CREATED),
    V1_2(
        "GET",
        _HELD,
        allocation.list_allocations,
        (_R.GET_ALLOCATIONS,),
        None,
        AllocationList,
        query=_NARROW,
        filters=allocation.LISTED.query,
    ),
    V1_2("GET", _KEYS, properties.list_properties, (_R.GET_PROPERTIES,), None, PropertyList, query=_ALL),
    V1_2("PATCH", f"{_KEYS}/{{name}}", properties.change, (_R.UPDATE_PROPERTIES,), PrivacyChange, OneDefinition),
    V1_2("GET", _RESOURCE, resource.show, (_R.GET,), None, OneResource),
    V1_2("PUT", _RESOURCE, resource.change, (_R.GET, _R.PUT), ResourceChange, OneResource),
    V1_2("DELETE", _RESOURCE, resource.delete, (_R.GET, _R.DELETE), success=GONE),
    V1_2("GET", f"{_RESOURCE}/allocation", allocation.show, (_R.GET_ALLOCATIONS,), None, OneAllocation, query=_NARROW),
    V1_3("GET", f"{_TYPE}/candidates", resource.list_candidates, (_R.GET_CANDIDATES,), None, CandidateList),
)
