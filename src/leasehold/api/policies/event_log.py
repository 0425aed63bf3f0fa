"""The rule about the event log."""

from __future__ import annotations

from leasehold.api.policies.base import READER_OR_ADMIN, rule

GET = "leasehold:events:get"

RULES = [
    rule(
        GET,
        READER_OR_ADMIN,
        "Read the events of a project; only administrators read those of all projects and of resources.",
        "GET /v1/events",
    ),
]
