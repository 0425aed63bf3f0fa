"""The channel of the message bus: an event is sent as a notification, and acknowledged by the bus (decision 0047)."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from datetime import UTC
from typing import TYPE_CHECKING, Any

from leasehold.api.versions import MINIMUM
from leasehold.api.views.lease import show_lease
from leasehold.db.lease_state import lease_of
from leasehold.features.subscription.channel import Channel, DeliveryError, Sender
from leasehold.model.caller import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager
    from datetime import datetime

    from leasehold.bridge.transport import Bus
    from leasehold.features.subscription.model import Subscription
    from leasehold.features.subscription.settings import DeliverySettings
    from leasehold.model.event_log import LogEvent
    from leasehold.resource_types.registry import ResourceTypes

log = logging.getLogger(__name__)


class BusChannel(Channel):
    """Sends each event to the bus."""

    def __init__(self, bus: Bus, types: ResourceTypes, publisher: str) -> None:
        self._sender = BusSender(bus, types, publisher)

    def check(self, _target: str, _settings: DeliverySettings) -> None:
        """Do nothing: the configuration says where the bus is."""

    def secret(self) -> str:
        """Nothing is signed."""
        return ""

    def opened(self, _subscription: Subscription, _settings: DeliverySettings) -> AbstractContextManager[BusSender]:
        return nullcontext(self._sender)


class BusSender(Sender):
    """Sends notifications, each to all topics."""

    def __init__(self, bus: Bus, types: ResourceTypes, publisher: str) -> None:
        self._bus = bus
        self._types = types
        self._publisher = publisher

    def send(self, event: LogEvent, _now: datetime) -> None:
        """Return when the bus has confirmed the notification for each topic; raises DeliveryError.

        An event that cannot be shown counts as refused, so that it does not stop those after it for ever.
        """
        ident = event.cursor
        try:
            message, context = as_notification(event, self._types, self._publisher), context_of(event)
        except Exception as error:
            log.exception("Event %s cannot be shown as a notification", ident)
            raise DeliveryError("The event cannot be shown as a notification.", refused=True) from error
        for topic in self._bus.topics:
            for version in self._bus.formats:
                try:
                    self._bus.send(f"{topic}.{PRIORITY.lower()}", context, message, version)
                except Exception as error:
                    # Whatever the libraries raise: it was not confirmed.
                    log.warning("The message bus has not accepted event %s, which is sent again: %s", ident, error)
                    raise DeliveryError(f"The message bus has not accepted it: {error}") from error


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
