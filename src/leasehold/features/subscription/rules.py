"""The rules about subscriptions."""

from __future__ import annotations

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, rule

GET = "leasehold:subscriptions:get"
POST = "leasehold:subscriptions:post"
DELETE = "leasehold:subscriptions:delete"
REPLAY = "leasehold:subscriptions:replay"

_ONE = "/v1/subscriptions/{subscription_id}"

RULES = [
    rule(
        GET,
        READER_OR_ADMIN,
        "Show the subscriptions of a project and their dead letters; only administrators see those of all projects.",
        "GET /v1/subscriptions",
        f"GET {_ONE}",
        f"GET {_ONE}/dead-letters",
    ),
    rule(
        POST,
        MEMBER_OR_ADMIN,
        "Subscribe to the events of a project; only administrators subscribe to those of all projects.",
        "POST /v1/subscriptions",
    ),
    rule(
        DELETE,
        MEMBER_OR_ADMIN,
        "Delete a subscription of a project; only administrators delete those of all projects.",
        f"DELETE {_ONE}",
    ),
    rule(
        REPLAY,
        MEMBER_OR_ADMIN,
        "Send events of a subscription again, or go on with one that is suspended.",
        f"POST {_ONE}/replay",
    ),
]
