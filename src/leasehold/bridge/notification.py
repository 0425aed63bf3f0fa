"""An event of the log as the notification that Blazar sends of it (contract lifecycle §9). Pure."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from leasehold.api.versions import MINIMUM
from leasehold.api.views.lease import show_lease
from leasehold.db.lease_state import lease_of
from leasehold.model.caller import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.event_log import LogEvent
    from leasehold.resource_types.registry import ResourceTypes

PRIORITY = "INFO"
STATUSES = {
    "lease.update": "UPDATING",
    "lease.event.before_end_lease.stop": "UPDATING",
    "lease.delete": "DELETING",
}
"""The status that Blazar names where it sends within the request; the lease here has its next status already."""


def as_notification(event: LogEvent, types: ResourceTypes, publisher: str) -> dict[str, Any]:
    """Return the message of a notification: its envelope, and the lease in the form of v1 in `payload`.

    `message_id` is the id of the event in the log, so that one that is sent again is known by it, and `timestamp` the
    time of the event in UTC.
    """
    return {
        "message_id": str(event.cursor),
        "publisher_id": publisher,
        "event_type": event.type,
        "priority": PRIORITY,
        "payload": _payload(event, types),
        "timestamp": str(event.time.astimezone(UTC).replace(tzinfo=None)),
    }


def context_of(event: LogEvent) -> dict[str, Any]:
    """Return the context of a notification: the owner of the lease, as oslo.context names user and project."""
    return {"user_id": event.payload["user_id"], "project_id": event.payload["project_id"]}


def _payload(event: LogEvent, types: ResourceTypes) -> Mapping[str, Any]:
    shown: dict[str, Any] = {**show_lease(lease_of(event.payload, event.lease_state), types, MINIMUM, EVERYTHING)}
    shown["lease_id"] = shown.pop("id")
    shown["status"] = STATUSES.get(event.type, shown["status"])
    return shown
