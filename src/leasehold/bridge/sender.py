"""The channel of the message bus: an event is sent as a notification, and acknowledged by the bus (decision 0047)."""

from __future__ import annotations

import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING

from leasehold.bridge.notification import PRIORITY, as_notification, context_of
from leasehold.features.subscription.channel import Channel, DeliveryError, Sender

if TYPE_CHECKING:
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
