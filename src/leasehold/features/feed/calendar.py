"""What is in a calendar feed, in iCalendar (RFC 5545)."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from icalendar import Calendar, Event, vText

from leasehold.api.views.lease import reason_of
from leasehold.model.caller import NOTHING
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leasehold.features.feed.model import Feed
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation

_REFRESH: Final = timedelta(minutes=15)
_AMOUNTS: Final = ("min", "max", "amount")
_OF_CALENDARS: Final = {
    LeaseStatus.IN_PROGRESS: "TENTATIVE",
    LeaseStatus.ERROR: "CANCELLED",
    LeaseStatus.TIMEDOUT: "CANCELLED",
}
"""The statuses that are not CONFIRMED in a calendar: a lease that waits holds nothing, and a failed one is not had."""
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
"""No text of a calendar may have them (RFC 5545, section 3.1), and one of them would make all of it unreadable."""


def write_calendar(feed: Feed, leases: Iterable[Lease]) -> bytes:
    """Return the calendar of a feed, in UTF-8; each lease is an event whose UID never changes."""
    calendar = Calendar()
    calendar.add("prodid", "-//Leasehold//Leases//EN")
    calendar.add("version", "2.0")
    calendar.add("method", "PUBLISH")
    # Of what has no type of its own the library escapes only texts.
    calendar.add("x-wr-calname", vText(_text(feed.name or "Leases")))
    calendar.add("refresh-interval", _REFRESH, parameters={"VALUE": "DURATION"})
    calendar.add("x-published-ttl", "PT15M")
    for lease in leases:
        calendar.add_component(_event(feed, lease))
    written: bytes = calendar.to_ical()
    return written


def _event(feed: Feed, lease: Lease) -> Event:
    event = Event()
    event.add("uid", f"{lease.id}@leasehold")
    # The time of the last change, not of the request: a calendar that is read again has not changed.
    event.add("dtstamp", lease.updated_at or lease.created_at or feed.created_at)
    event.add("sequence", lease.generation)
    event.add("dtstart", lease.window.start)
    event.add("dtend", lease.window.end)
    event.add("summary", _text(lease.name))
    event.add("status", _OF_CALENDARS.get(lease.status, "CONFIRMED"))
    event.add("transp", "TRANSPARENT")
    event.add("description", _text("\n".join(_lines(lease))))
    return event


def _text(text: str) -> str:
    return _CONTROLS.sub("", text)


def _lines(lease: Lease) -> Iterable[str]:
    yield f"Status: {lease.status}"
    if lease.purpose:
        yield f"Purpose: {lease.purpose}"
    if lease.open_ended:
        yield "It has no end; the one in the calendar is the last that there can be."
    reason = reason_of(lease, NOTHING)
    if reason:
        yield reason
    for part in lease.kept:
        yield f"{part.resource_type} {_amount(part)}".rstrip()
    yield f"Lease: {lease.id}"


def _amount(part: Reservation) -> str:
    return ", ".join(f"{key} {part.request[key]}" for key in _AMOUNTS if part.request.get(key) is not None)
