"""Events in the form of CloudEvents 1.0, structured mode in JSON (idea 14)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.model.event_log import LogEvent

CONTENT_TYPE = "application/cloudevents+json"
SOURCE = "/v1/events"


def as_cloud_event(event: LogEvent) -> bytes:
    """Return the event as ASCII JSON; source and id together never mean another event.

    `projectid` and `sequence`, the position with leading zeros, are extensions; `projectid` is absent for resources.
    """
    content = {
        "specversion": "1.0",
        "id": str(event.cursor),
        "source": SOURCE,
        "type": event.type,
        "subject": _subject(event),
        "time": event.time.isoformat(),
        "datacontenttype": "application/json",
        "sequence": f"{event.cursor.position:018d}",
        **({} if event.project_id is None else {"projectid": event.project_id}),
        "data": dict(event.payload),
    }
    return json.dumps(content, separators=(",", ":")).encode("ascii")


def _subject(event: LogEvent) -> str:
    if event.lease_id is not None:
        return f"leases/{event.lease_id}"
    if event.alarm_id is not None:
        return f"alarms/{event.alarm_id}"
    if event.server_id is not None:
        return f"servers/{event.server_id}"
    return f"resources/{event.resource_type}/{event.resource_id}"
