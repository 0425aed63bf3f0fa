"""Routes of hosts, of what is allocated of them, and of their properties."""

from __future__ import annotations

from leasehold.api.handlers import allocation, host
from leasehold.api.handlers import property as properties
from leasehold.api.handlers.allocation import AllocationList, OneAllocation
from leasehold.api.models.host import HostChange, HostCreation, HostList, OneHost
from leasehold.api.models.property import OneDefinition, PrivacyChange, PropertyList
from leasehold.api.policies import host as rules
from leasehold.api.route import CREATED, GONE, Route

_ALL, _ONE = "/v1/os-hosts", "/v1/os-hosts/{host_id}"
_HELD, _KEYS = f"{_ALL}/allocations", f"{_ALL}/properties"
NARROW = ("lease_id", "reservation_id")
"""The query keys of allocations."""
SHOWN = ("detail", "all")
"""Those of properties."""
_SEES, _FILTERS = (rules.GET, rules.GET_ALLOCATIONS), allocation.LISTED.query

ROUTES = (
    Route("GET", _ALL, host.list_hosts, (rules.GET,), None, HostList, filters=host.LISTED.query),
    Route("POST", _ALL, host.create, (rules.POST,), HostCreation, OneHost, CREATED),
    Route(
        "GET",
        _HELD,
        allocation.list_allocations,
        (rules.GET_ALLOCATIONS,),
        None,
        AllocationList,
        query=NARROW,
        filters=_FILTERS,
    ),
    Route("GET", _KEYS, properties.list_properties, (rules.GET_PROPERTIES,), None, PropertyList, query=SHOWN),
    Route("PATCH", f"{_KEYS}/{{name}}", properties.change, (rules.UPDATE_PROPERTIES,), PrivacyChange, OneDefinition),
    Route("GET", _ONE, host.show, (rules.GET,), None, OneHost),
    Route("PUT", _ONE, host.change, (rules.GET, rules.PUT), HostChange, OneHost),
    Route("DELETE", _ONE, host.delete, (rules.GET, rules.DELETE), success=GONE),
    Route("GET", f"{_ONE}/allocation", allocation.show_of_host, _SEES, None, OneAllocation, query=NARROW),
)
