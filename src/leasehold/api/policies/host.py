"""Rules about hosts, their allocations and their properties."""

from __future__ import annotations

from leasehold.api.policies.base import ADMIN, Rule

GET = Rule("blazar:oshosts:get", ADMIN, "List hosts, or show one.")
POST = Rule("blazar:oshosts:post", ADMIN, "Enrol a host.")
PUT = Rule("blazar:oshosts:put", ADMIN, "Change the properties or pool of a host, or disable it.")
DELETE = Rule("blazar:oshosts:delete", ADMIN, "Remove a host.")
GET_ALLOCATIONS = Rule("blazar:oshosts:get_allocations", ADMIN, "List the allocations of hosts.")
GET_PROPERTIES = Rule("blazar:oshosts:get_resource_properties", ADMIN, "List the properties of hosts.")
UPDATE_PROPERTIES = Rule("blazar:oshosts:update_resource_properties", ADMIN, "Hide or show a property.")
