"""Routes of resources of any type, of what is allocated of them, and of their properties."""

from __future__ import annotations

from leasehold.api.handlers import allocation, resource
from leasehold.api.handlers import property as properties
from leasehold.api.handlers.allocation import AllocationList, OneAllocation
from leasehold.api.models.property import OneDefinition, PrivacyChange, PropertyList
from leasehold.api.models.resource import (
    CandidateList,
    OneResource,
    ResourceChange,
    ResourceCreation,
    ResourceList,
    ResourceTypeList,
)
from leasehold.api.policies import resource as rules
from leasehold.api.route import CREATED, GONE, V1_2, V1_3
from leasehold.api.routes.host import NARROW, SHOWN

_ALL, _ONE = "/v1/resources/{resource_type}", "/v1/resources/{resource_type}/{resource_id}"
_HELD, _KEYS = f"{_ALL}/allocations", f"{_ALL}/properties"
_SEES, _FILTERS = (rules.GET_ALLOCATIONS,), allocation.LISTED.query

ROUTES = (
    V1_2("GET", "/v1/resources", resource.list_types, (rules.GET,), None, ResourceTypeList),
    V1_2("GET", _ALL, resource.list_resources, (rules.GET,), None, ResourceList, filters=resource.LISTED.query),
    V1_2("POST", _ALL, resource.create, (rules.POST,), ResourceCreation, OneResource, CREATED),
    V1_2("GET", _HELD, allocation.list_allocations, _SEES, None, AllocationList, query=NARROW, filters=_FILTERS),
    V1_2("GET", _KEYS, properties.list_properties, (rules.GET_PROPERTIES,), None, PropertyList, query=SHOWN),
    V1_2("PATCH", f"{_KEYS}/{{name}}", properties.change, (rules.UPDATE_PROPERTIES,), PrivacyChange, OneDefinition),
    V1_2("GET", _ONE, resource.show, (rules.GET,), None, OneResource),
    V1_2("PUT", _ONE, resource.change, (rules.GET, rules.PUT), ResourceChange, OneResource),
    V1_2("DELETE", _ONE, resource.delete, (rules.GET, rules.DELETE), success=GONE),
    V1_2("GET", f"{_ONE}/allocation", allocation.show, _SEES, None, OneAllocation, query=NARROW),
    V1_3("GET", f"{_ALL}/candidates", resource.list_candidates, (rules.GET_CANDIDATES,), None, CandidateList),
)
