"""What a channel is: a way to send events to a target (decision 0040)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from datetime import timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from leasehold.features.subscription.model import Subscription
    from leasehold.features.subscription.settings import DeliverySettings
    from leasehold.model.event_log import LogEvent


class DeliveryError(Exception):
    """An event was not acknowledged; the message says why, in a sentence for the owner of the subscription.

    `refused` says that the receiver does not want this event; another one may be accepted.
    """

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class Sender(ABC):
    """Sends events to one target."""

    @abstractmethod
    def send(self, event: LogEvent, now: datetime) -> None:
        """Return when the receiver has acknowledged the event; raises DeliveryError."""


class Channel(ABC):
    """A way to send events."""

    @abstractmethod
    def check(self, target: str, settings: DeliverySettings) -> None:
        """Raise InvalidInputError unless events can be sent to this target."""

    @abstractmethod
    def secret(self) -> str:
        """Return a secret for a new subscription, shown once to who made it; empty if the channel has none."""

    def pause(self, settings: DeliverySettings) -> timedelta:  # noqa: ARG002 - for channels that have one.
        """Return the least time between two events to one subscription."""
        return timedelta()

    @abstractmethod
    def opened(self, subscription: Subscription, settings: DeliverySettings) -> AbstractContextManager[Sender]:
        """Return a sender for the length of a block, which then closes its connection."""
