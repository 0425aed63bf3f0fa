"""The event log's use cases: put new events in order, and read on from a cursor (feature D4, idea 13)."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from leasehold.db import event_log
from leasehold.metrics.event import count_event
from leasehold.model.errors import EventsPurgedError, EventsRewoundError
from leasehold.model.event_log import BEGINNING, EventPage

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.event_log import Cursor, EventFilter, LogEvent

MOST_AT_ONCE = 500
"""Events that one transaction puts in order."""
LARGEST_PAGE = 1024 * 1024
"""Characters of JSON in the payloads after which a page ends, whatever its limit: a payload may have some 100 kB."""


def sequence_events(service: Service) -> int:
    """Give all events that are committed their positions, and return how many there were."""
    with service.db.reading() as connection:
        if not event_log.is_anything_unsequenced(connection):
            return 0
    total = 0
    while found := service.db.transact(partial(event_log.sequence, most=MOST_AT_ONCE)):
        total += len(found)
        now = service.now()
        for event in found:
            count_event(event.type, (now - event.time).total_seconds())
    return total


def latest(service: Service) -> Cursor:
    """Return the cursor after the last event of all."""
    with service.db.reading() as connection:
        return event_log.log_state(connection).end


def read_events(service: Service, wanted: EventFilter, after: Cursor | None, limit: int) -> EventPage:
    """Return the events after a cursor, oldest first; None is before the oldest that there is.

    A page has `limit` events at most, and fewer if they are large. Its `next` is the last event of the page, and of the
    whole log if nothing follows the page; so a reader of few events moves on with the log. Raises EventsPurgedError if
    events after the cursor were purged, EventsRewoundError if the cursor is of a history that the database does not
    have.
    """
    with service.db.reading() as connection:
        state = event_log.log_state(connection)
        if after is not None:
            _check(connection, after, state)
        start = BEGINNING if after is None else after
        found: list[LogEvent] = []
        size = 0
        for event in event_log.each_event(connection, start.position, wanted, limit):
            found.append(event)
            size += len(json.dumps(event.payload))
            if size >= LARGEST_PAGE:
                break
    whole = len(found) < limit and size < LARGEST_PAGE
    return EventPage(found, state.end if whole else found[-1].cursor)


def _check(connection: Connection, after: Cursor, state: event_log.LogState) -> None:
    if after.position > state.end.position:
        raise EventsRewoundError
    if after.position == state.end.position:
        known: str | None = state.end.nonce
    elif after.position == BEGINNING.position:
        known = after.nonce
    else:
        known = event_log.nonce_at(connection, after.position)
    if known is None or (known == after.nonce and after.position < state.purged):
        raise EventsPurgedError
    if known != after.nonce:
        raise EventsRewoundError
