"""The rules about subscriptions."""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, SCOPE

GET = "leasehold:subscriptions:get"
POST = "leasehold:subscriptions:post"
DELETE = "leasehold:subscriptions:delete"
REPLAY = "leasehold:subscriptions:replay"

_ONE = "/v1/subscriptions/{subscription_id}"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        READER_OR_ADMIN,
        "Show the subscriptions of a project and their dead letters; only administrators see those of all projects.",
        [
            {"path": "/v1/subscriptions", "method": "GET"},
            {"path": _ONE, "method": "GET"},
            {"path": f"{_ONE}/dead-letters", "method": "GET"},
        ],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        POST,
        MEMBER_OR_ADMIN,
        "Subscribe to the events of a project; only administrators subscribe to those of all projects.",
        [{"path": "/v1/subscriptions", "method": "POST"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        DELETE,
        MEMBER_OR_ADMIN,
        "Delete a subscription of a project; only administrators delete those of all projects.",
        [{"path": _ONE, "method": "DELETE"}],
        scope_types=SCOPE,
    ),
    policy.DocumentedRuleDefault(
        REPLAY,
        MEMBER_OR_ADMIN,
        "Send events of a subscription again, or go on with one that is suspended.",
        [{"path": f"{_ONE}/replay", "method": "POST"}],
        scope_types=SCOPE,
    ),
]
