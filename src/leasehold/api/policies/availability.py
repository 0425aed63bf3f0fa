"""The rules about availability: everybody may ask, because the answers say how many and not who."""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import READER_OR_ADMIN, SCOPE

GET = "leasehold:availability:get"
SEARCH = "leasehold:availability:search"
GET_PROPERTIES = "leasehold:availability:get_properties"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        READER_OR_ADMIN,
        "Ask how much of a resource type is free, and when.",
        [{"path": "/v1/availability", "method": "GET"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        SEARCH,
        READER_OR_ADMIN,
        "Search the first windows in which a lease would be granted.",
        [{"path": "/v1/availability/search", "method": "POST"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        GET_PROPERTIES,
        READER_OR_ADMIN,
        "List by which properties leases can choose resources, without those that are private.",
        [{"path": "/v1/availability/properties", "method": "GET"}],
        scope_types=SCOPE,
    ),
]
