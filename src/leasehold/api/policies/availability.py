"""The rules about availability: everybody may ask, because the answers say how many and not who."""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import READER_OR_ADMIN, SCOPE

GET = "leasehold:availability:get"
SEARCH = "leasehold:availability:search"

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
]
