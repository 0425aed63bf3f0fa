"""Windows of time: half-open intervals `[start, end)` in aware UTC, to the second."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_YEAR = 1970
LAST_YEAR = 9998
"""Databases store dates up to the year 9999; the last year is for the margins around a lease."""

OPEN_END = datetime(LAST_YEAR, 12, 31, 23, 59, 59, tzinfo=UTC)
"""The end of a lease that was made without one; no other lease ends then or later."""


def to_seconds(moment: datetime) -> int:
    """Return whole seconds since the epoch, rounded down: the calendar's unit of time."""
    return (moment - EPOCH) // timedelta(seconds=1)


def from_seconds(seconds: int) -> datetime:
    """Return the aware UTC moment that lies `seconds` after the epoch."""
    return EPOCH + timedelta(seconds=seconds)


def rounded_up(moment: datetime) -> datetime:
    """Return the first whole second that is not before a moment."""
    return from_seconds(-((EPOCH - moment) // timedelta(seconds=1)))


def to_minute(moment: datetime) -> datetime:
    """Return the moment cut to its minute: what Blazar's v1 calls "now" (contract http-api §4)."""
    return moment.replace(second=0, microsecond=0)


def is_storable(moment: datetime) -> bool:
    """Say whether a lease may have this date."""
    return FIRST_YEAR <= moment.year <= LAST_YEAR


def moved(moment: datetime, by: timedelta) -> datetime | None:
    """Return the moment that lies `by` later, or earlier if it is negative; None if a lease cannot have that date."""
    try:
        there = moment + by
    except OverflowError:
        return None
    return there if is_storable(there) else None


@dataclass(frozen=True, slots=True, order=True)
class Window:
    """The time from `start` (included) to `end` (excluded).

    Raises `ValueError` for naive moments and for an end before the start; an empty window is legal
    because v1 lets an update end a lease at its own start (contract http-api §5.4).
    """

    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        """Check the interval here, so that no other code has to."""
        if self.start.tzinfo is None or self.end.tzinfo is None:
            message = "A window needs moments with a time zone."
            raise ValueError(message)
        if self.end < self.start:
            message = f"A window cannot end ({self.end}) before it starts ({self.start})."
            raise ValueError(message)

    @classmethod
    def of_seconds(cls, start: int, end: int) -> Window:
        """Return the window between two moments given in seconds since the epoch."""
        return cls(from_seconds(start), from_seconds(end))

    @property
    def seconds(self) -> tuple[int, int]:
        """Start and end in whole seconds since the epoch."""
        return to_seconds(self.start), to_seconds(self.end)

    @property
    def duration(self) -> timedelta:
        """The length of the window."""
        return self.end - self.start

    def contains(self, other: Window) -> bool:
        """Say whether the other window lies within this one."""
        return self.start <= other.start and other.end <= self.end

    def without(self, other: Window) -> list[Window]:
        """Return what is left of the window before and after another one, which is not empty."""
        parts = (self.start, min(self.end, other.start)), (max(self.start, other.end), self.end)
        return [Window(start, end) for start, end in parts if start < end]

    def widened(self, margin: timedelta) -> Window:
        """Return the window with `margin` added on both sides (feature C10, the cleaning margin)."""
        return Window(self.start - margin, self.end + margin) if margin else self
