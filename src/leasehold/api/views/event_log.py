"""Events of the log, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.api.models.event_log import LogEventAnswer, LogEventList
    from leasehold.model.event_log import EventPage, LogEvent


def show_page(page: EventPage) -> LogEventList:
    """Return a page of events with its cursor."""
    return {"events": list(map(show_event, page.events)), "next": str(page.next)}


def show_event(event: LogEvent) -> LogEventAnswer:
    """Return one event; its time is in ISO 8601 with the zone."""
    return {
        "id": str(event.cursor),
        "position": event.cursor.position,
        "type": event.type,
        "time": event.time.isoformat(),
        "project_id": event.project_id,
        "lease_id": event.lease_id,
        "resource_type": event.resource_type,
        "resource_id": event.resource_id,
        "payload": dict(event.payload),
    }
