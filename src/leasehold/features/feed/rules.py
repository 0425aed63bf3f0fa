"""The rules about calendar feeds. What a feed shows needs no rule: its address is the permission."""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, SCOPE

GET = "leasehold:feeds:get"
POST = "leasehold:feeds:post"
DELETE = "leasehold:feeds:delete"

_ONE = "/v1/feeds/{feed_id}"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        READER_OR_ADMIN,
        "Show the calendar feeds of a project without their addresses; only administrators list those of all projects.",
        [{"path": "/v1/feeds", "method": "GET"}, {"path": _ONE, "method": "GET"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        POST,
        MEMBER_OR_ADMIN,
        "Make a calendar feed of the leases of a project: whoever has its address reads them without a login.",
        [{"path": "/v1/feeds", "method": "POST"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        MEMBER_OR_ADMIN,
        "Delete a calendar feed of a project; its address answers nobody any more.",
        [{"path": _ONE, "method": "DELETE"}],
        scope_types=SCOPE,
    ),
]
