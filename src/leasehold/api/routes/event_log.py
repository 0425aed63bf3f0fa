"""The route of the event log."""

from __future__ import annotations

from leasehold.api.handlers.event_log import LogEventList, list_events
from leasehold.api.policies import event_log as rules
from leasehold.api.route import V1_2

_QUERY = ("after", "limit", "wait", "lease_id", "all_projects")

ROUTES = (
    V1_2("GET", "/v1/events", list_events, (rules.GET,), None, LogEventList, query=_QUERY, filters=("type", "from")),
)
