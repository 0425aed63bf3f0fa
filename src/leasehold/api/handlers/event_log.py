"""The event log (feature D4, idea 13): what happened, in order, and on request the wait for what happens next."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from typing_extensions import TypedDict

from leasehold.api.call import Reply
from leasehold.api.limits.event_waits import Waiter
from leasehold.api.limits.parking import parking_of
from leasehold.api.paging import LONGEST_PAGE, asked_words
from leasehold.api.versions import FILTERS, PURPOSES, Version
from leasehold.api.views.shown import shown
from leasehold.leasing.reading.event_log import latest, read_events
from leasehold.model.event_log import BEGINNING, EVENT_TYPES, EventFilter, read_cursor

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.api.call import Call
    from leasehold.model.event_log import Cursor, EventPage, LogEvent


class LogEventAnswer(TypedDict):
    """An event of a lease, a resource, an alarm, a server, a filler or a budget; `payload` is the state after it.

    `id` never changes, and is a cursor. `position` counts up by one through all events of all projects.
    """

    id: str
    position: int
    type: str
    time: str
    project_id: str | None
    lease_id: str | None
    resource_type: str | None
    resource_id: str | None
    payload: dict[str, Any]


class LogEventList(TypedDict):
    """The answer about events; `next` is the cursor to go on with."""

    events: list[LogEventAnswer]
    next: str


PAGE = 100
LONGEST_WAIT = 60
LATEST = "latest"
RETRY_AFTER_SECONDS = 5
"""For a request that would have waited, and found no place to."""


def list_events(call: Call) -> Reply:
    """Show what happened to the leases of the caller's project, oldest first, after a cursor.

    A cursor is the `id` of an event or the `next` of an answer; `after=latest` begins with what happens from now on.
    With `wait` an empty list is answered only after so many seconds without an event. `next` is the cursor for the next
    request, also of an empty list. An administrator who asks for `all_projects` reads the events of all projects, and
    those of resources. From 1.3 on only those of one `type`, or of several by commas, and what happened at `from` or
    later. A reader who has missed events, because they were purged or the database went back, gets 410.
    """
    project = call.listed_project()
    types = asked_words(call, "type", sorted(EVENT_TYPES), "type of an event") if call.version >= FILTERS else ()
    wanted = EventFilter(project, call.query_id("lease_id"), tuple(sorted(types)), since=_since(call))
    limit = call.query_number("limit", 1, LONGEST_PAGE) or PAGE
    place = _place(call)
    while True:
        page = read_events(call.service, wanted, place.after, limit)
        if page.events or monotonic() >= place.end or call.api.admission.closing:
            return Reply(show_page(page, call.version))
        place = _Place(page.next, place.end)
        if not _wait(call, wanted, place):
            return Reply(show_page(page, call.version), {"Retry-After": str(RETRY_AFTER_SECONDS)})


def _since(call: Call) -> datetime | None:
    asked = call.query("from") if call.version >= FILTERS else None
    return call.date(asked, "from")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a request is in the log, and until when of the monotonic clock it waits for an event."""

    after: Cursor | None
    end: float


def _place(call: Call) -> _Place:
    """Return where the request begins: as it says, or where it was when it was parked."""
    text, seconds = call.query("after"), call.query_number("wait", 0, LONGEST_WAIT) or 0
    parking = parking_of(call.request.env)
    if parking is not None and parking.note is not None:
        place: _Place = parking.note
        return place
    after = latest(call.service) if text == LATEST else None if text is None else read_cursor(text)
    return _Place(after, monotonic() + seconds)


def _wait(call: Call, wanted: EventFilter, place: _Place) -> bool:
    """Wait until there may be an event, or the wait is over; return False at once if too many requests wait.

    The request has no permit meanwhile, and no thread if the server can park it: then this does not return.
    """
    waits, parking = call.api.event_waits, parking_of(call.request.env)
    position = BEGINNING.position if place.after is None else place.after.position
    caller = call.caller.project_id
    if parking is not None:
        return waits.begin(Waiter(caller, wanted.project_id, position, place.end, parking.wake)) and parking.leave(
            place
        )
    if not call.request.env["wsgi.multithread"]:
        # The server would answer nobody else meanwhile.
        return False
    with call.permit.lent():
        return waits.wait(caller, wanted.project_id, position, place.end)


def show_page(page: EventPage, version: Version) -> LogEventList:
    """Return a page of events with its cursor."""
    return {"events": [show_event(each, version) for each in page.events], "next": str(page.next)}


def show_event(event: LogEvent, version: Version) -> LogEventAnswer:
    """Return one event; its time is in ISO 8601 with the zone, and before 1.3 its payload has no purpose."""
    newer = () if version >= PURPOSES else ("purpose",)
    payload = {key: value for key, value in event.payload.items() if key not in newer}
    return shown(LogEventAnswer, event, id=str(event.cursor), position=event.cursor.position, payload=payload)
