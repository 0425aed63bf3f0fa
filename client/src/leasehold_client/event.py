"""The event log: what happened, and the wait for what happens next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel
from leasehold_client.calls.transport import Calls
from leasehold_client.calls.wire import said

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime


LATEST = "latest"
LONGEST_WAIT = 60


@dataclass(frozen=True, slots=True)
class LogEvent(AnswerModel):
    """Something that happened; `id` is a cursor, `payload` the state after it."""

    id: str
    type: str
    time: datetime
    lease_id: str | None
    payload: Mapping[str, Any]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in their order, and the cursor to go on with."""

    events: tuple[LogEvent, ...]
    next: str


class Events(Calls):
    """What happened to the leases of the caller's project."""

    def page(
        self,
        *,
        after: str | None = None,
        lease_id: str | None = None,
        wait: int = 0,
        types: Sequence[str] = (),
        since: datetime | None = None,
    ) -> EventPage:
        """Return what happened after a cursor, `latest` for the end of the log; None is the beginning.

        Where nothing did, the service answers only when something does, or after `wait` seconds, at most LONGEST_WAIT.
        Who waits goes on waiting while the service is away, for two minutes.
        `types` are those of the events, and none means all; `since` leaves out what happened before.
        """
        query = said(after=after, lease_id=lease_id, wait=wait or None, type=",".join(types) or None)
        query |= said(**{"from": since})
        answer = self._transport.get("/events", query, patient=wait > 0)
        return EventPage(tuple(LogEvent.read(each) for each in answer["events"]), answer["next"])

    def follow(
        self,
        *,
        after: str | None = None,
        lease_id: str | None = None,
        types: Sequence[str] = (),
        since: datetime | None = None,
    ) -> Iterator[LogEvent]:
        """Yield every event after a cursor, without end: when there is none, wait for the next."""
        while True:
            page = self.page(after=after, lease_id=lease_id, wait=LONGEST_WAIT, types=types, since=since)
            yield from page.events
            after = page.next
