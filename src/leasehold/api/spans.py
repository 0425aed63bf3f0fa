"""Lengths of time in requests: a duration in place of an end, and dates that move from where they are; from 1.3 on."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Protocol

from leasehold.api import dates
from leasehold.model.errors import InvalidDateError, InvalidInputError, LeaseholdError
from leasehold.model.windows import LAST_YEAR, OPEN_END, moved

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from leasehold.api.models.lease import LeaseAmendment, LeaseCreation
    from leasehold.api.versions import Version

USUAL: Final = timedelta(days=7)
"""The length of a window of which only the start is asked for."""
DURATION, OPEN = "duration_seconds", "open_ended"
OF_END = ("end_date", "extend_seconds", "shorten_seconds")
OF_START = ("start_date", "start_later_seconds", "start_earlier_seconds")


class WindowRequest(Protocol):
    """A request for a window of time; its model requires the end, or the duration in place of an empty one."""

    @property
    def start_date(self) -> str: ...

    @property
    def end_date(self) -> str: ...

    @property
    def duration_seconds(self) -> int | None: ...


def parse_window(asked: WindowRequest, *, version: Version, now: datetime) -> tuple[datetime, datetime]:
    """Return the start and the end that a client asks for.

    Raises InvalidDateError, and InvalidInputError for an end beside a duration.
    """
    start = dates.parse(asked.start_date, version=version, now=now, field="start_date")
    if asked.duration_seconds is None:
        return start, dates.parse(asked.end_date, version=version, now=now, field="end_date")
    if asked.end_date:
        message = f"Send `end_date` or `{DURATION}`, which takes its place; not both."
        raise InvalidInputError(message, field=DURATION)
    end = moved(start, timedelta(seconds=asked.duration_seconds))
    if end is None:
        raise InvalidDateError(f"The end would come after the year {LAST_YEAR}; ask for less.", field=DURATION)
    return start, end


def parse_creation(asked: LeaseCreation, *, version: Version, now: datetime) -> tuple[datetime, datetime]:
    """Return the start and the end that a client asks for, which may be none; raises as `parse_window` does."""
    if not asked.open_ended:
        return parse_window(asked, version=version, now=now)
    if asked.end_date or asked.duration_seconds is not None:
        message = f"Send one of `end_date`, `{DURATION}` and `{OPEN}`."
        raise InvalidInputError(message, field=OPEN)
    return dates.parse(asked.start_date, version=version, now=now, field="start_date"), OPEN_END


def asks_open_end(body: LeaseAmendment) -> bool:
    """Say whether an amendment asks for a lease without an end; raises InvalidInputError for one beside an end."""
    if body.open_ended is False:
        raise InvalidInputError(f"Send `end_date` to end a lease, and leave `{OPEN}` out.", field=OPEN)
    if body.open_ended and any(getattr(body, name) for name in OF_END):
        names = ", ".join(f"`{name}`" for name in (*OF_END, OPEN))
        raise InvalidInputError(f"Send only one of {names}.", field=OPEN)
    return bool(body.open_ended)


def parse_shift(body: LeaseAmendment, names: tuple[str, str, str]) -> timedelta | None:
    """Return by how much a date is moved from where it is, to a later time if positive; None if that is not asked for.

    `names` are the keys of the date itself, of what moves it to a later time, and of what moves it to an earlier one.
    Raises InvalidInputError for more than one of them.
    """
    sent = [name for name in names if getattr(body, name)]
    if len(sent) > 1:
        message = f"Send only one of {', '.join(f'`{name}`' for name in names)}."
        raise InvalidInputError(message, field=sent[1])
    if not sent or sent[0] == names[0]:
        return None
    seconds = timedelta(seconds=getattr(body, sent[0]))
    return seconds if sent[0] == names[1] else -seconds


def sent_for(body: LeaseAmendment) -> dict[str, str]:
    """Return by the key of a date the key that was sent to move it."""
    names = (OF_START, (*OF_END, OPEN))
    return {each[0]: name for each in names for name in each[1:] if getattr(body, name) is not None}


@contextmanager
def named_as_sent(sent: Mapping[str, str]) -> Iterator[None]:
    """Have an error about a date name the key that was sent in place of it."""
    try:
        yield
    except LeaseholdError as error:
        error.field = sent.get(error.field or "", error.field)
        raise


def ending_as_sent(asked: WindowRequest) -> Mapping[str, str]:
    """Return by the key of the end the key that was sent in place of it."""
    if getattr(asked, OPEN, None):
        return {"end_date": OPEN}
    return {} if asked.duration_seconds is None else {"end_date": DURATION}
