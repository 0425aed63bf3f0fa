"""Hours of days of the week, by the clocks of a time zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from leasehold.model.errors import InvalidInputError
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date, tzinfo

EXAMPLE: Final = "'mon-fri 08:00-18:00' or '22:00-06:00'"
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HOURS = re.compile(
    r"(?:([a-z]{3})(?:-([a-z]{3}))? )?([0-9]{1,2}):([0-9]{2})-([0-9]{1,2}):([0-9]{2})", re.ASCII | re.IGNORECASE
)
_DAY = timedelta(days=1)
_OF_THE_MACHINE = re.compile(r"localtime|posixrules|Factory|(?:posix|right)/.*")
"""Files beside the zones: what they say depends on the machine, and `right/` counts leap seconds."""


@dataclass(frozen=True, slots=True)
class Hours:
    """Hours of days of the week, 0 for Monday; those that end no later than they start end on the next day."""

    days: frozenset[int]
    start: time
    end: time

    @classmethod
    def read(cls, text: str) -> Hours:
        """Return the hours that a text such as `mon-fri 08:00-18:00` names; raises ValueError for another one."""
        found = _HOURS.fullmatch(text.strip())
        if found is None:
            raise ValueError(text)
        first, last, *times = (each and each.lower() for each in found.groups())
        start, end = time(int(times[0]), int(times[1])), time(int(times[2]), int(times[3]))
        begin = 0 if first is None else _DAYS.index(first)
        stop = (6 if first is None else begin) if last is None else _DAYS.index(last)
        return cls(frozenset((begin + day) % 7 for day in range((stop - begin) % 7 + 1)), start, end)

    def contain(self, moment: datetime) -> bool:
        """Say whether a moment, in the time zone of the hours, is in them; those of a day may end on the next."""
        if self.start < self.end:
            return moment.weekday() in self.days and self.start <= moment.time() < self.end
        before = (moment - _DAY).weekday()
        evening = moment.weekday() in self.days and moment.time() >= self.start
        return evening or (before in self.days and moment.time() < self.end)

    def on(self, day: date, zone: tzinfo) -> tuple[datetime, datetime]:
        """Return from when to when the hours of a day are; a time that comes twice is the first of the two."""
        until = day if self.start < self.end else day + _DAY
        begin, end = datetime.combine(day, self.start, zone), datetime.combine(until, self.end, zone)
        return begin.astimezone(UTC), end.astimezone(UTC)


def stretches(hours: Iterable[Hours], zone: tzinfo, within: Window) -> list[Window]:
    """Return the parts of a window that are in any of these hours, in order and as long as possible.

    What meets is one part. Without any hours it is all of the window.
    """
    hours = tuple(hours)
    if not hours:
        return [within]
    day, last = within.start.astimezone(zone).date() - _DAY, within.end.astimezone(zone).date()
    found = []
    while day <= last:
        found += [each.on(day, zone) for each in hours if day.weekday() in each.days]
        day += _DAY
    merged: list[Window] = []
    for start, end in sorted(found):
        start, end = max(start, within.start), min(end, within.end)  # noqa: PLW2901 - they are cut to the window
        if start >= end:
            continue
        if merged and start <= merged[-1].end:
            merged[-1] = Window(merged[-1].start, max(end, merged[-1].end))
        else:
            merged.append(Window(start, end))
    return merged


def read_zone(name: str) -> ZoneInfo:
    """Return the time zone; raises InvalidInputError for a name that the machine does not know, or that is its own."""
    try:
        return ZoneInfo("" if _OF_THE_MACHINE.fullmatch(name) else name)
    except (ValueError, OSError, LookupError):
        message = f"There is no time zone {name[:64]!r}; write a name such as 'Europe/Berlin', or leave it out for UTC."
        raise InvalidInputError(message, field="time_zone") from None
