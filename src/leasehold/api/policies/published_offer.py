"""The rules about published offers."""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, SCOPE

GET = "leasehold:published_offers:get"
POST = "leasehold:published_offers:post"
DELETE = "leasehold:published_offers:delete"
CLAIM = "leasehold:published_offers:claim"

_ALL, _ONE = "/v1/published-offers", "/v1/published-offers/{published_id}"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        READER_OR_ADMIN,
        "Show the published offers of a project and those open to it; only administrators list those of all projects.",
        [{"path": _ALL, "method": "GET"}, {"path": _ONE, "method": "GET"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        POST,
        MEMBER_OR_ADMIN,
        "Publish a resource that the project owns; administrators publish for any owner.",
        [{"path": _ALL, "method": "POST"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        MEMBER_OR_ADMIN,
        "Delete a published offer of the project, and the leases that were made of it; administrators any.",
        [{"path": _ONE, "method": "DELETE"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        CLAIM,
        MEMBER_OR_ADMIN,
        "Claim a part of a published offer, which makes a lease; blazar:leases:post is needed too.",
        [{"path": f"{_ONE}/claims", "method": "POST"}],
        scope_types=SCOPE,
    ),
]
