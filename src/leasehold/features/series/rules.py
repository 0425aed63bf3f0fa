"""The rules about series of leases."""

from __future__ import annotations

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, rule

GET = "leasehold:series:get"
POST = "leasehold:series:post"
PUT = "leasehold:series:put"
DELETE = "leasehold:series:delete"

_ALL, _ONE = "/v1/series", "/v1/series/{series_id}"

RULES = [
    rule(
        GET,
        READER_OR_ADMIN,
        "Show the series of leases of a project; only administrators list those of all projects.",
        f"GET {_ALL}",
        f"GET {_ONE}",
    ),
    rule(POST, MEMBER_OR_ADMIN, "Create a series of leases; blazar:leases:post is needed too.", f"POST {_ALL}"),
    rule(PUT, MEMBER_OR_ADMIN, "Amend a series of leases; blazar:leases:put is needed too.", f"PUT {_ONE}"),
    rule(
        DELETE,
        MEMBER_OR_ADMIN,
        "Delete a series and its leases; blazar:leases:delete is needed too.",
        f"DELETE {_ONE}",
    ),
]
