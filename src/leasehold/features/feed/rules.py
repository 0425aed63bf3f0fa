"""The rules about calendar feeds. What a feed shows needs no rule: its address is the permission."""

from __future__ import annotations

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, rule

GET = "leasehold:feeds:get"
POST = "leasehold:feeds:post"
DELETE = "leasehold:feeds:delete"

_ONE = "/v1/feeds/{feed_id}"

RULES = [
    rule(
        GET,
        READER_OR_ADMIN,
        "Show the calendar feeds of a project without their addresses; only administrators list those of all projects.",
        "GET /v1/feeds",
        f"GET {_ONE}",
    ),
    rule(
        POST,
        MEMBER_OR_ADMIN,
        "Make a calendar feed of the leases of a project: whoever has its address reads them without a login.",
        "POST /v1/feeds",
    ),
    rule(
        DELETE,
        MEMBER_OR_ADMIN,
        "Delete a calendar feed of a project; its address answers nobody any more.",
        f"DELETE {_ONE}",
    ),
]
