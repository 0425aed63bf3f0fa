"""Check the dates of new and amended leases (contract http-api §5.3, §5.4).

Dates of 1.0 have no seconds, so a client's "now" is the minute in which it wrote the request. A request that arrives in
the next minute still means now, so the earliest accepted date is the start of the previous minute. The lease shows the
requested date; its allocations begin when the decision is made (`decide.promised_window`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.model.errors import InvalidDateError, InvalidInputError, OutOfWindowError
from leasehold.model.states import EventType
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import FIRST_YEAR, LAST_YEAR, OPEN_END, Window, moved, to_minute

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.model.draft import LeaseChanges, LeaseDraft
    from leasehold.model.lease import Lease


GRACE = timedelta(minutes=1)
"""How long a request may take from the minute in which a client wrote "now" until it is decided."""


def earliest(now: datetime) -> datetime:
    """Return the earliest date that counts as now: the start of the previous minute."""
    return to_minute(now) - GRACE


def asked_window(draft: LeaseDraft, now: datetime) -> Window:
    """Return the requested window; raises InvalidDateError by the rules of contract http-api §5.3."""
    if draft.start < earliest(now):
        message = f"Start date must be later than the current date, {to_minute(now):%Y-%m-%d %H:%M} UTC."
        raise InvalidDateError(message, field="start_date")
    if draft.end <= draft.start:
        message = "End date must be later than start date."
        raise InvalidDateError(message, field="end_date")
    if draft.end >= OPEN_END and not draft.open_ended:
        raise InvalidDateError(_UNNAMED, field="end_date")
    check_ahead(draft.end, now)
    return Window(draft.start, draft.end)


def check_open_end(longest: timedelta, type_: LeaseType) -> None:
    """Raise InvalidInputError for a lease without an end that nobody may have, or that would have to wait.

    `longest` is the option: as how long it counts, 0 where there are no such leases.
    """
    if not longest:
        message = "This cloud has no leases without an end; send `end_date` or `duration_seconds`."
        raise InvalidInputError(message, field="open_ended")
    if type_ not in (LeaseType.SCHEDULED, LeaseType.IMMEDIATE):
        message = f"A lease without an end does not wait; leave out the type {type_.value!r}, or send `end_date`."
        raise InvalidInputError(message, field="open_ended")


_UNNAMED = "No lease ends then; ask for an earlier end, or for a lease without an end (`open_ended`)."


def check_ahead(end: datetime, now: datetime) -> None:
    """Raise InvalidDateError when the requested end of a lease has passed."""
    if end <= now:
        message = "End date must be later than now."
        raise InvalidDateError(message, field="end_date")


def warning_time(window: Window, wanted: datetime | None, default: timedelta) -> datetime | None:
    """Return when the warning before the end is due; None when there is none (contract lifecycle §2).

    Raises OutOfWindowError when the wanted time does not lie strictly inside the lease.
    """
    if wanted is None:
        return _before_end(window, default) if default else None
    if not window.start < wanted < window.end:
        message = "before_end_date must lie after the lease's start and before its end."
        raise OutOfWindowError(message, field="before_end_date")
    return wanted


def new_window(lease: Lease, changes: LeaseChanges, now: datetime) -> Window:
    """Return the window after the change; raises InvalidInputError by the rules of contract http-api §5.4.

    A lease may start or end "now", even if the request arrives a minute after it was written.
    """
    minute, first = to_minute(now), earliest(now)
    start = changes.start or _shifted(lease.window.start, changes.start_by, "start_date")
    end = changes.end or _shifted(lease.window.end, changes.end_by, "end_date")
    if lease.open_ended and end >= to_minute(OPEN_END) and changes.end is not None:
        # A client of v1 sends back the date that it has read, and its dates have no seconds.
        end = OPEN_END
    if end >= OPEN_END and end != lease.window.end and not changes.open_ended:
        raise InvalidDateError(_UNNAMED, field="end_date")
    if lease.window.end < minute or lease.reached(EventType.END):
        message = "Terminated leases can only be renamed."
        raise InvalidInputError(message, field="name")
    if end != lease.window.end <= now:
        # Another lease may have had its resources since.
        message = "The lease has ended, so its end cannot be moved; ask for a new lease."
        raise InvalidInputError(message, field="end_date")
    if (lease.window.start < minute or lease.reached(EventType.START)) and start != lease.window.start:
        message = "Cannot modify the start date of an already started lease."
        raise InvalidInputError(message, field="start_date")
    if start != lease.window.start and start < first:
        message = "Start date must be later than current date."
        raise InvalidInputError(message, field="start_date")
    if changes.end == to_minute(start):
        # Dates of 1.0 have no seconds: what ends in the minute in which it starts ends when it starts.
        end = start
    if end < first or end < start:
        message = "End date must be later than current and start date."
        raise InvalidInputError(message, field="end_date")
    return Window(start, end)


def _shifted(moment: datetime, by: timedelta | None, field: str) -> datetime:
    """Return the date of a lease moved as is asked for; raises InvalidDateError for one that no lease can have."""
    there = moment if by is None else moved(moment, by)
    if there is None:
        message = f"The new date would not be in the years {FIRST_YEAR} to {LAST_YEAR}; move it by less."
        raise InvalidDateError(message, field=field)
    return there


def new_warning(lease: Lease, changes: LeaseChanges, window: Window) -> datetime | None:
    """Return when the warning is due after the change: as requested, else at its old distance to the end."""
    event = lease.event(EventType.BEFORE_END)
    if changes.before_end is None and event is not None and event.time is not None:
        return _before_end(window, lease.window.end - event.time)
    return warning_time(window, changes.before_end, timedelta(0))


def _before_end(window: Window, distance: timedelta) -> datetime:
    """Return the time `distance` before the end, but not before the start.

    The distance is compared before it is subtracted, because the result may lie outside the range of datetime.
    """
    return window.start if distance >= window.duration else window.end - distance
