"""Times and durations as people write them: `tomorrow 14:00`, `in 2 h`, `3h`. Pure: clock and zone are arguments."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import tzinfo

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_WORDS = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), "m"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("w", "week", "weeks"), "w"),
}
_PART = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)\s*([a-z]+)", re.ASCII)
_DURATION = re.compile(rf"(?:{_PART.pattern}[\s,]*)+", re.ASCII)
_NEAR = {"yesterday": -1, "today": 0, "tomorrow": 1}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MOMENT = re.compile(
    r"(?P<day>\d{4}-\d{1,2}-\d{1,2}|[a-z]+)?(?:(?:^|\s+|(?<=\d)t)(?P<time>\d{1,2}:\d{2}(?::\d{2})?))?"
    r"\s*(?P<zone>z|utc|[+-]\d{2}:\d{2})?",
    re.ASCII,
)
_UTC_FORM = re.compile(r"\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{1,2}", re.ASCII)
DURATIONS = "such as 90m, 3h, 2d or 1w 2d"
MOMENTS = "such as now, 'in 2 h', 14:00, 'tomorrow 14:00', 'monday 9:00', '2031-05-01 14:00' or 2031-05-01T14:00Z"

PAST_MOMENTS = "such as '2 h ago', 14:00, 'yesterday 14:00', 'monday 9:00', '2031-05-01 14:00' or 2031-05-01T14:00Z"


class BadTimeError(ValueError):
    """The text is no time that can be read; the message says which are."""


def read_duration(text: str) -> timedelta:
    """Return a positive duration; a day is 24 hours. Raises BadTimeError."""
    lowered = text.strip().lower()
    parts = [(number, _WORDS.get(word)) for number, word in _PART.findall(lowered)]
    if not _DURATION.fullmatch(lowered) or not all(unit for _, unit in parts):
        raise BadTimeError(f"{text!r} is no duration. Write one {DURATIONS}.")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts if unit)
    if seconds <= 0:
        raise BadTimeError(f"{text!r} is no time at all. Write a duration {DURATIONS}.")
    return timedelta(seconds=round(seconds))


def read_moment(text: str, now: datetime, zone: tzinfo) -> datetime:
    """Return the time, aware and in UTC; without a zone of its own it is in `zone`. Raises BadTimeError.

    A time of day alone is the next such time, a weekday the next such day after today; a day alone begins at midnight.
    """
    lowered = " ".join(text.lower().split())
    # The API has times to the second.
    now = now.astimezone(UTC).replace(microsecond=0)
    if lowered == "now":
        return now
    if lowered.startswith(("in ", "+")):
        return now + read_duration(lowered.removeprefix("in ").removeprefix("+"))
    found = _MOMENT.fullmatch(lowered)
    if found is None or not (found["day"] or found["time"]):
        raise BadTimeError(f"{text!r} is no time. Write one {MOMENTS}.")
    its_zone = zone if found["zone"] is None else _zone(found["zone"])
    try:
        clock = time() if found["time"] is None else _time(found["time"])
        day = _day(found["day"], now.astimezone(its_zone), clock)
    except ValueError as error:
        raise BadTimeError(f"{text!r} is no time: {error}. Write one {MOMENTS}.") from None
    return _in_zone(datetime.combine(day, clock), its_zone, text)


def read_past(text: str, now: datetime, zone: tzinfo) -> datetime:
    """Return a time that is over, aware and in UTC, as `read_moment` does, and `yesterday 14:00`, `2 h ago`.

    A time of day alone is the last such time, a weekday the last such day before today. Raises BadTimeError.
    """
    lowered = " ".join(text.lower().split())
    if lowered.endswith(" ago"):
        return now.astimezone(UTC).replace(microsecond=0) - read_duration(lowered.removesuffix(" ago"))
    moment = read_moment(lowered, now, zone)
    return moment if moment <= now else (moment.astimezone(zone) - _recurs(lowered)).astimezone(UTC)


def read_end(text: str, start: datetime, now: datetime, zone: tzinfo) -> datetime:
    """Return the time of an end, as `read_moment` does; a time of day or a weekday alone is the first after the start.

    Raises BadTimeError.
    """
    moment = read_moment(text, now, zone)
    again = _recurs(" ".join(text.lower().split()))
    return read_moment(text, start, zone) if again and moment <= start else moment


def _recurs(lowered: str) -> timedelta:
    """Return after how long a weekday or a time of day comes again; nothing for another time."""
    found = _MOMENT.fullmatch(lowered)
    day = "" if found is None else found["day"]
    return timedelta(days=7 if day in _DAYS else 1 if day is None else 0)


def read_utc(text: str) -> datetime | None:
    """Return a time as Blazar's options take it: `now`, which is None, or `YYYY-MM-DD HH:MM` in UTC, or with a zone.

    Raises BadTimeError.
    """
    if text == "now":
        return None
    try:
        if _UTC_FORM.fullmatch(text):
            return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise BadTimeError(
            f"{text!r} is no time of the form 'YYYY-MM-DD HH:MM', which is in UTC. Or use --from or --until."
        )
    return moment.astimezone(UTC)


def _zone(word: str) -> tzinfo:
    return UTC if word in ("z", "utc") else datetime.strptime(word, "%z").tzinfo or UTC


def _time(text: str) -> time:
    hours, minutes, seconds = map(int, f"{text}:0".split(":")[:3])
    return time(hours, minutes, seconds)


def _day(text: str | None, here: datetime, clock: time) -> date:
    """Return the day that a word or date means; raises ValueError."""
    today = here.date()
    if text is None:
        return today if clock > here.time() else today + timedelta(days=1)
    if text in _NEAR:
        return today + timedelta(days=_NEAR[text])
    if text in _DAYS:
        return today + timedelta(days=(_DAYS.index(text) - today.weekday() - 1) % 7 + 1)
    try:
        return date(*map(int, text.split("-")))
    except TypeError:
        raise ValueError(f"{text!r} is no day") from None


def _in_zone(naive: datetime, zone: tzinfo, text: str) -> datetime:
    """Return a time of this zone in UTC; raises BadTimeError for one that the clocks leave out in spring."""
    moment = naive.replace(tzinfo=zone).astimezone(UTC)
    if moment.astimezone(zone).replace(tzinfo=None) != naive:
        raise BadTimeError(f"{text!r} does not exist in your time zone: the clocks are put forward over it.")
    return moment
