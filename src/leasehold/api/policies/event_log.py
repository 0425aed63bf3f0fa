"""The rule about the event log."""

from __future__ import annotations

from oslo_policy import policy

from leasehold.api.policies.base import READER_OR_ADMIN, SCOPE

GET = "leasehold:events:get"

RULES = [
    policy.DocumentedRuleDefault(
        GET,
        READER_OR_ADMIN,
        "Read the events of a project; only administrators read those of all projects and of resources.",
        [{"path": "/v1/events", "method": "GET"}],
        scope_types=SCOPE,
    ),
]
