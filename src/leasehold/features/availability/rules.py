"""The rules about availability: everybody may ask, because the answers say how many and not who.

What is free in another region is decided by the rules of that region's own service.
"""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import READER_OR_ADMIN, SCOPE

GET = "leasehold:availability:get"
SEARCH = "leasehold:availability:search"
GET_PROPERTIES = "leasehold:availability:get_properties"
GET_REGIONS = "leasehold:regions:get"

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
    policy.DocumentedRuleDefault(
        GET_REGIONS,
        READER_OR_ADMIN,
        "List the regions, and ask their services how much is free there.",
        [
            {"path": "/v1/regions", "method": "GET"},
            {"path": "/v1/regions/availability", "method": "GET"},
            {"path": "/v1/regions/availability/search", "method": "POST"},
        ],
        scope_types=SCOPE,
    ),
]
