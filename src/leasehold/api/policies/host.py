"""Rules about hosts, their allocations and their properties."""

from __future__ import annotations

from leasehold.api.policies.base import admin_only

GET = "blazar:oshosts:get"
POST = "blazar:oshosts:post"
PUT = "blazar:oshosts:put"
DELETE = "blazar:oshosts:delete"
GET_ALLOCATIONS = "blazar:oshosts:get_allocations"
GET_PROPERTIES = "blazar:oshosts:get_resource_properties"
UPDATE_PROPERTIES = "blazar:oshosts:update_resource_properties"

RULES = [
    admin_only(GET, "List hosts, or show one.", "GET", "/v1/os-hosts"),
    admin_only(POST, "Enrol a host.", "POST", "/v1/os-hosts"),
    admin_only(PUT, "Change the properties or pool of a host, or disable it.", "PUT", "/v1/os-hosts/{host_id}"),
    admin_only(DELETE, "Remove a host.", "DELETE", "/v1/os-hosts/{host_id}"),
    admin_only(GET_ALLOCATIONS, "List the allocations of hosts.", "GET", "/v1/os-hosts/allocations"),
    admin_only(GET_PROPERTIES, "List the properties of hosts.", "GET", "/v1/os-hosts/properties"),
    admin_only(UPDATE_PROPERTIES, "Hide or show a property.", "PATCH", "/v1/os-hosts/properties/{name}"),
]
