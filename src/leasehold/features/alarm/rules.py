"""The rules about capacity alarms."""

from __future__ import annotations

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, rule

GET = "leasehold:alarms:get"
POST = "leasehold:alarms:post"
DELETE = "leasehold:alarms:delete"

_ONE = "/v1/alarms/{alarm_id}"

RULES = [
    rule(
        GET,
        READER_OR_ADMIN,
        "Show the capacity alarms of a project; only administrators list those of all projects.",
        "GET /v1/alarms",
        f"GET {_ONE}",
    ),
    rule(POST, MEMBER_OR_ADMIN, "Make a capacity alarm for a project.", "POST /v1/alarms"),
    rule(DELETE, MEMBER_OR_ADMIN, "Delete a capacity alarm of a project.", f"DELETE {_ONE}"),
]
