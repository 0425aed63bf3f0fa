"""The rules about series of leases."""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, SCOPE

GET = "leasehold:series:get"
POST = "leasehold:series:post"
PUT = "leasehold:series:put"
DELETE = "leasehold:series:delete"

_ONE = "/v1/series/{series_id}"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        READER_OR_ADMIN,
        "Show the series of leases of a project; only administrators list those of all projects.",
        [{"path": "/v1/series", "method": "GET"}, {"path": _ONE, "method": "GET"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        POST,
        MEMBER_OR_ADMIN,
        "Create a series of leases; blazar:leases:post is needed too.",
        [{"path": "/v1/series", "method": "POST"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        PUT,
        MEMBER_OR_ADMIN,
        "Amend a series of leases; blazar:leases:put is needed too.",
        [{"path": _ONE, "method": "PUT"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        MEMBER_OR_ADMIN,
        "Delete a series and its leases; blazar:leases:delete is needed too.",
        [{"path": _ONE, "method": "DELETE"}],
        scope_types=SCOPE,
    ),
]
