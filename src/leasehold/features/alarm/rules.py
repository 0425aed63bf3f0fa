"""The rules about capacity alarms."""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, SCOPE

GET = "leasehold:alarms:get"
POST = "leasehold:alarms:post"
DELETE = "leasehold:alarms:delete"

_ONE = "/v1/alarms/{alarm_id}"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        READER_OR_ADMIN,
        "Show the capacity alarms of a project; only administrators list those of all projects.",
        [{"path": "/v1/alarms", "method": "GET"}, {"path": _ONE, "method": "GET"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        POST,
        MEMBER_OR_ADMIN,
        "Make a capacity alarm for a project.",
        [{"path": "/v1/alarms", "method": "POST"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        MEMBER_OR_ADMIN,
        "Delete a capacity alarm of a project.",
        [{"path": _ONE, "method": "DELETE"}],
        scope_types=SCOPE,
    ),
]
