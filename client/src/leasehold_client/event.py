"""The event log: what happened, and the wait for what happens next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.wire import read_time, write_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from leasehold_client.transport import Transport

LATEST = "latest"
LONGEST_WAIT = 60


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened; `id` is a cursor, `payload` the state after it."""

    id: str
    type: str
    time: datetime
    lease_id: str | None
    payload: Mapping[str, Any]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Event:
        """Return the event of an answer."""
        time = read_time(values["time"])
        return cls(values["id"], values["type"], time, values["lease_id"], values["payload"], values)


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in their order, and the cursor to go on with."""

    events: tuple[Event, ...]
    next: str


class Events:
    """What happened to the leases of the caller's project."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

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
        query = {"after": after, "lease_id": lease_id, "wait": wait or None, "type": ",".join(types) or None}
        query["from"] = None if since is None else write_time(since)
        asked = {key: value for key, value in query.items() if value is not None}
        answer = self._transport.get("/events", asked, patient=wait > 0)
        return EventPage(tuple(Event.read(each) for each in answer["events"]), answer["next"])

    def follow(
        self,
        *,
        after: str | None = None,
        lease_id: str | None = None,
        types: Sequence[str] = (),
        since: datetime | None = None,
    ) -> Iterator[Event]:
        """Yield every event after a cursor, without end: when there is none, wait for the next."""
        while True:
            page = self.page(after=after, lease_id=lease_id, wait=LONGEST_WAIT, types=types, since=since)
            yield from page.events
            after = page.next
