"""The rule about the event log."""

from __future__ import annotations

from leasehold.api.policies.base import READER_OR_ADMIN, Rule

GET = Rule(
    "leasehold:events:get",
    READER_OR_ADMIN,
    "Read the events of a project; only administrators read those of all projects and of resources.",
)
