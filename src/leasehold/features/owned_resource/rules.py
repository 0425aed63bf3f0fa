"""The rules about what owners do with their resources."""

from __future__ import annotations

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, rule

GET = "leasehold:owned_resources:get"
END_LEASE = "leasehold:owned_resources:end_lease"

RULES = [
    rule(
        GET,
        READER_OR_ADMIN,
        "Show the resources that a project owns, and which leases use them; only administrators list those of all.",
        "GET /v1/owned-resources",
    ),
    rule(
        END_LEASE,
        MEMBER_OR_ADMIN,
        "Delete a lease of any project all of whose resources the caller's project owns.",
        "DELETE /v1/owned-leases/{owned_id}",
    ),
]
