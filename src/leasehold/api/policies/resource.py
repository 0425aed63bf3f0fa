"""Rules about resources of any type, their allocations and their properties."""

from __future__ import annotations

from leasehold.api.policies.base import ADMIN, Rule

GET = Rule("leasehold:resources:get", ADMIN, "List the resources of a type, or show one.")
POST = Rule("leasehold:resources:post", ADMIN, "Enrol a resource.")
PUT = Rule("leasehold:resources:put", ADMIN, "Change the properties or pool of a resource, or disable it.")
DELETE = Rule("leasehold:resources:delete", ADMIN, "Remove a resource.")
GET_CANDIDATES = Rule("leasehold:resources:get_candidates", ADMIN, "List what the cloud has and could be enrolled.")
GET_ALLOCATIONS = Rule("leasehold:resources:get_allocations", ADMIN, "List the allocations of resources.")
GET_PROPERTIES = Rule("leasehold:resources:get_properties", ADMIN, "List the properties of resources.")
UPDATE_PROPERTIES = Rule("leasehold:resources:update_properties", ADMIN, "Hide or show a property.")
