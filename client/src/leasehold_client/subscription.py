"""Subscriptions: who is sent which events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import OwnCollection
from leasehold_client.calls.wire import said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Subscription(AnswerModel):
    """Where events are sent to; `secret` is there only in the answer that made it."""

    id: str
    channel: str
    target: str
    status: str
    secret: str | None
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The target, by which a person may name it."""
        return self.target

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Subscription:
        return read_as(cls, values, secret=values.get("secret"))


@dataclass(frozen=True, slots=True)
class DeadLetter(AnswerModel):
    """An event that the receiver refused; `died_at` is aware and in UTC."""

    id: str
    type: str
    lease_id: str | None
    died_at: datetime
    error: str


class Subscriptions(OwnCollection[Subscription]):
    """The subscriptions of the caller's project."""

    PATH, ONE, MANY, NOUN = "/subscriptions", "subscription", "subscriptions", "subscription"
    THING = Subscription

    def create(
        self,
        target: str,
        *,
        channel: str | None = None,
        event_types: Sequence[str] = (),
        lease_id: str | None = None,
        own: bool = False,
        all_projects: bool = False,
    ) -> Subscription:
        """Have events sent to this target, from now on; without types or a lease all events of the project."""
        body = said(target=target, channel=channel, event_types=list(event_types), lease_id=lease_id)
        return self._create(body | {"own": own, "all_projects": all_projects})

    def replay(self, ident: str, event_id: str | None = None) -> Subscription:
        """Send an event and all after it again; without one, go on where deliveries stopped."""
        return self._one(self._transport.post(f"{self.PATH}/{ident}/replay", said(event_id=event_id)))

    def dead_letters(self, ident: str) -> Iterator[DeadLetter]:
        """Yield the events that the receiver refused, in the order of the log."""
        query: dict[str, str] = {}
        while found := self._transport.get(f"{self.PATH}/{ident}/dead-letters", query)["dead_letters"]:
            yield from map(DeadLetter.read, found)
            query = {"after": found[-1]["id"]}
