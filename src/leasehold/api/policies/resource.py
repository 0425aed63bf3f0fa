"""Rules about resources of any type, their allocations and their properties."""

from __future__ import annotations

from leasehold.api.policies.base import admin_only

GET = "leasehold:resources:get"
POST = "leasehold:resources:post"
PUT = "leasehold:resources:put"
DELETE = "leasehold:resources:delete"
GET_CANDIDATES = "leasehold:resources:get_candidates"
GET_ALLOCATIONS = "leasehold:resources:get_allocations"
GET_PROPERTIES = "leasehold:resources:get_properties"
UPDATE_PROPERTIES = "leasehold:resources:update_properties"

_ALL = "/v1/resources/{resource_type}"
_ONE = f"{_ALL}/{{resource_id}}"

RULES = [
    admin_only(GET, "List the resources of a type, or show one.", "GET", _ALL),
    admin_only(POST, "Enrol a resource.", "POST", _ALL),
    admin_only(PUT, "Change the properties or pool of a resource, or disable it.", "PUT", _ONE),
    admin_only(DELETE, "Remove a resource.", "DELETE", _ONE),
    admin_only(GET_CANDIDATES, "List what the cloud has and could be enrolled.", "GET", f"{_ALL}/candidates"),
    admin_only(GET_ALLOCATIONS, "List the allocations of resources.", "GET", f"{_ALL}/allocations"),
    admin_only(GET_PROPERTIES, "List the properties of resources.", "GET", f"{_ALL}/properties"),
    admin_only(UPDATE_PROPERTIES, "Hide or show a property.", "PATCH", f"{_ALL}/properties/{{name}}"),
]
