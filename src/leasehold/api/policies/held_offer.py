"""The rules about offers."""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, SCOPE

GET = "leasehold:offers:get"
POST = "leasehold:offers:post"
ACCEPT = "leasehold:offers:accept"
DELETE = "leasehold:offers:delete"

_ONE = "/v1/offers/{offer_id}"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        READER_OR_ADMIN,
        "Show the offers of a project; only administrators list those of all projects.",
        [{"path": "/v1/offers", "method": "GET"}, {"path": _ONE, "method": "GET"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        POST,
        MEMBER_OR_ADMIN,
        "Have resources held for an offer; blazar:leases:post is needed too.",
        [{"path": "/v1/offers", "method": "POST"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        ACCEPT,
        MEMBER_OR_ADMIN,
        "Accept an offer, which makes it a lease; blazar:leases:post is needed too.",
        [{"path": f"{_ONE}/accept", "method": "POST"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        MEMBER_OR_ADMIN,
        "Give an offer up.",
        [{"path": _ONE, "method": "DELETE"}],
        scope_types=SCOPE,
    ),
]
