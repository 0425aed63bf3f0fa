"""The rules about published offers, and about what leases lend."""

from __future__ import annotations

from leasehold.api.policies.base import ADMIN, MEMBER_OR_ADMIN, READER_OR_ADMIN, rule

GET = "leasehold:published_offers:get"
POST = "leasehold:published_offers:post"
DELETE = "leasehold:published_offers:delete"
CLAIM = "leasehold:published_offers:claim"
LEND = "leasehold:leases:lend"
OFFER = "leasehold:leases:offer"

_ALL, _ONE = "/v1/published-offers", "/v1/published-offers/{published_id}"

RULES = [
    rule(
        GET,
        READER_OR_ADMIN,
        "Show the published offers of a project and those open to it; only administrators list those of all projects.",
        f"GET {_ALL}",
        f"GET {_ONE}",
    ),
    rule(
        POST,
        MEMBER_OR_ADMIN,
        "Publish a resource that the project owns; administrators publish for any owner.",
        f"POST {_ALL}",
    ),
    rule(
        DELETE,
        MEMBER_OR_ADMIN,
        "Delete a published offer of the project, and the leases that were made of it; administrators any.",
        f"DELETE {_ONE}",
    ),
    rule(
        CLAIM,
        MEMBER_OR_ADMIN,
        "Claim a part of a published offer, which makes a lease; blazar:leases:post is needed too.",
        f"POST {_ONE}/claims",
    ),
    rule(
        LEND,
        ADMIN,
        "Lend hosts of a lease to another project, which is not asked and whose limits count; blazar:leases:put is "
        "needed too.",
        "POST /v1/leases/{lease_id}/sub-leases",
    ),
    rule(
        OFFER,
        MEMBER_OR_ADMIN,
        "Publish hosts of a lease for other projects to claim, and take back what was lent; blazar:leases:put is "
        "needed too.",
        "POST /v1/leases/{lease_id}/published-offers",
        "DELETE /v1/leases/{lease_id}/sub-leases/{sub_lease_id}",
    ),
]
