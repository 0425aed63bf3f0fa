"""The rules about offers."""

from __future__ import annotations

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, rule

GET = "leasehold:offers:get"
POST = "leasehold:offers:post"
ACCEPT = "leasehold:offers:accept"
DELETE = "leasehold:offers:delete"

_ONE = "/v1/offers/{offer_id}"

RULES = [
    rule(
        GET,
        READER_OR_ADMIN,
        "Show the offers of a project; only administrators list those of all projects.",
        "GET /v1/offers",
        f"GET {_ONE}",
    ),
    rule(
        POST, MEMBER_OR_ADMIN, "Have resources held for an offer; blazar:leases:post is needed too.", "POST /v1/offers"
    ),
    rule(
        ACCEPT,
        MEMBER_OR_ADMIN,
        "Accept an offer, which makes it a lease; blazar:leases:post is needed too.",
        f"POST {_ONE}/accept",
    ),
    rule(DELETE, MEMBER_OR_ADMIN, "Give an offer up.", f"DELETE {_ONE}"),
]
