"""When the occurrences of a series of leases are: rules of RFC 5545, read by python-dateutil (idea 1).

A rule counts in the wall time of a zone, so that a lease on Mondays from nine to five stays so when the clocks change,
and whole days and weeks follow each other without a gap. It names its days; the times of day are those of the first
occurrence. It has to end, and to give each start once.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from itertools import islice, pairwise
from typing import TYPE_CHECKING

from dateutil.rrule import rrulestr

from leasehold.model.errors import InvalidInputError
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Sequence
    from zoneinfo import ZoneInfo

MOST_OCCURRENCES = 100
HORIZON = timedelta(days=5 * 366)
"""How far after the first start an occurrence may start: a rule that never comes true is searched no further."""
CYCLE, LAST_YEAR = 400, 9990
"""In years. The horizon ends before the last year that Python knows."""
_RULE = re.compile(r"(?:RRULE:)?([A-Z]+=[A-Z0-9+,-]+(?:;[A-Z]+=[A-Z0-9+,-]+)*)", re.ASCII)
_UNTIL = re.compile(r"(\d{8})(?:T(\d{6})(Z?))?", re.ASCII)
_NUMBER = re.compile(r"[1-9]\d{0,3}", re.ASCII)
_FREQUENCIES = ("DAILY", "WEEKLY", "MONTHLY", "YEARLY")
_DAYS = ("BYDAY", "BYMONTHDAY", "BYMONTH", "BYYEARDAY", "BYWEEKNO", "BYSETPOS")
_PARTS = frozenset({"FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", *_DAYS})


def occurrences(rule: str, first: Window, zone: ZoneInfo) -> Sequence[Window]:
    """Return the windows of all occurrences; each has the hours of the day, and the days, of the first one.

    Raises InvalidInputError for a rule that is none, that may have no end, that gives too many occurrences or such that
    overlap, or that does not give the first one.
    """
    parts = _parts(rule)
    most = min(_count(parts), MOST_OCCURRENCES + 1)
    windows = _windows(parts, first, zone, most)
    if len(windows) > MOST_OCCURRENCES:
        raise _refused(f"The rule gives more than {MOST_OCCURRENCES} occurrences; end it sooner, by COUNT or UNTIL.")
    if not windows or windows[0] != first:
        raise _refused("The rule does not give its first start; choose a start_date that the rule has.")
    if any(following.start < each.end for each, following in pairwise(windows)):
        raise _refused("The occurrences overlap; make them shorter, or the rule less frequent.")
    return windows


def _window(local: datetime, first: Window, zone: ZoneInfo) -> Window:
    """Return the occurrence that starts at this wall time, which has no zone."""
    begin, end = (each.astimezone(zone) for each in (first.start, first.end))
    start = _moment(local, zone, begin.fold)
    until = _moment(local + (end.replace(tzinfo=None) - begin.replace(tzinfo=None)), zone, end.fold)
    # Where the clocks leave out the hour in which it would end, it is as long as the first one.
    return Window(start, until if until > start else start + first.duration)


def _moment(local: datetime, zone: ZoneInfo, fold: int) -> datetime:
    return local.replace(tzinfo=zone, fold=fold).astimezone(UTC)


def _windows(parts: dict[str, str], first: Window, zone: ZoneInfo, most: int) -> Sequence[Window]:
    """Return the first `most` occurrences within the horizon.

    dateutil looks for the next start up to the year 9999, also if there is none, which takes ten seconds. The calendar
    repeats itself after 400 years, so the rule is followed in the last of these cycles, where that is soon.
    """
    local = first.start.astimezone(zone)
    later = CYCLE * max(0, (LAST_YEAR - local.year) // CYCLE)
    begin = local.replace(year=local.year + later, tzinfo=None, fold=0)
    try:
        ends = min(_until(parts, zone), first.start + HORIZON).astimezone(zone)
        until = ends.replace(year=ends.year + later, tzinfo=None)
        text = ";".join(f"{name}={value}" for name, value in parts.items() if name not in ("COUNT", "UNTIL"))
        found = islice(rrulestr(text, dtstart=begin).replace(until=until), most)
        return [_window(each.replace(year=each.year - later), first, zone) for each in found]
    except (ValueError, TypeError, OverflowError, IndexError) as error:
        raise _refused(f"The rule cannot be followed: {error}.") from None


def _parts(rule: str) -> dict[str, str]:
    match = _RULE.fullmatch(rule)
    if match is None:
        raise _refused("rule has to be a recurrence rule of RFC 5545, such as 'FREQ=WEEKLY;BYDAY=MO,TH;COUNT=10'.")
    pairs = [pair.split("=", 1) for pair in match[1].split(";")]
    parts = {each[0]: each[1] for each in pairs}
    unknown = sorted(parts.keys() - _PARTS)
    if unknown or len(parts) < len(pairs):
        known = ", ".join(sorted(_PARTS))
        what = f"does not know {unknown[0]}" if unknown else "names a part more than once"
        raise _refused(f"The rule {what}; it may have each of {known}.")
    if parts.get("FREQ") not in _FREQUENCIES:
        raise _refused(f"FREQ of the rule has to be one of {', '.join(_FREQUENCIES)}.")
    if "INTERVAL" in parts and not _NUMBER.fullmatch(parts["INTERVAL"]):
        raise _refused("INTERVAL of the rule has to be a number from 1 to 9999.")
    if len(parts.keys() & {"COUNT", "UNTIL"}) != 1:
        raise _refused("The rule has to end in one way; give it either COUNT or UNTIL.")
    return parts


def _count(parts: dict[str, str]) -> int:
    if "COUNT" not in parts:
        return MOST_OCCURRENCES + 1
    if not _NUMBER.fullmatch(parts["COUNT"]):
        raise _refused(f"COUNT of the rule has to be a number from 1 to {MOST_OCCURRENCES}.")
    return int(parts["COUNT"])


def _until(parts: dict[str, str], zone: ZoneInfo) -> datetime:
    """Return the last moment at which an occurrence may start; a date alone means to the end of that day."""
    text = parts.get("UNTIL")
    if text is None:
        return datetime.max.replace(tzinfo=UTC)
    match = _UNTIL.fullmatch(text)
    try:
        if match is None:
            raise ValueError  # noqa: TRY301 - the message below is for each of these errors
        day = datetime.strptime(match[1], "%Y%m%d").date()  # noqa: DTZ007 - a date alone has no zone
        clock = time.max if match[2] is None else datetime.strptime(match[2], "%H%M%S").time()  # noqa: DTZ007 - as above
        until = datetime.combine(day, clock, UTC if match[3] else zone)
        return until.astimezone(UTC)
    except (ValueError, OverflowError):
        message = "UNTIL of the rule has to be a date such as 20311231, or a moment such as 20311231T235959Z."
        raise _refused(message) from None


def _refused(message: str) -> InvalidInputError:
    return InvalidInputError(message, field="rule")
