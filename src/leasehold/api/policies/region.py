"""The rules about regions: what is free there is decided by the rules of each region's own service."""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import READER_OR_ADMIN, SCOPE

GET = "leasehold:regions:get"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
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
