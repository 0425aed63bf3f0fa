"""Idea 1: which windows a rule of RFC 5545 gives, and which rules are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from dateutil.rrule import rrulestr
from hypothesis import given
from hypothesis import strategies as st

from leasehold.features.series import recurrence
from leasehold.features.series.recurrence import HORIZON, MOST_OCCURRENCES, occurrences
from leasehold.model.errors import InvalidInputError
from leasehold.model.hours import read_zone
from leasehold.model.windows import Window

pytestmark = pytest.mark.slow

MONDAY = datetime(2031, 5, 5, 7, tzinfo=UTC)
HOURS = timedelta(hours=2)
BERLIN = read_zone("Europe/Berlin")


def starts(rule: str, zone: str = "UTC", start: datetime = MONDAY, length: timedelta = HOURS) -> list[datetime]:
    found = occurrences(rule, Window(start, start + length), read_zone(zone))
    assert {each.duration for each in found} == {length}
    return [each.start for each in found]


@pytest.mark.parametrize(
    ("rule", "days"),
    [
        ("FREQ=DAILY;COUNT=1", [5]),
        ("RRULE:FREQ=DAILY;COUNT=3", [5, 6, 7]),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=2", [5, 19]),
        ("FREQ=WEEKLY;BYDAY=MO,TH;COUNT=4", [5, 8, 12, 15]),
        ("FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR;UNTIL=20310513", [5, 6, 7, 8, 9, 12, 13]),
        ("FREQ=DAILY;UNTIL=20310507T070000Z", [5, 6, 7]),
        ("FREQ=DAILY;UNTIL=20310507T065959Z", [5, 6]),
        ("FREQ=MONTHLY;BYDAY=1MO;COUNT=1", [5]),
    ],
)
def test_what_a_rule_gives(rule: str, days: list[int]) -> None:
    assert starts(rule) == [datetime(2031, 5, day, 7, tzinfo=UTC) for day in days]


def test_nine_o_clock_stays_nine_o_clock_when_the_clocks_change() -> None:
    october = datetime(2031, 10, 20, 7, tzinfo=UTC)
    found = starts("FREQ=WEEKLY;COUNT=3", "Europe/Berlin", october)
    assert [each.astimezone(BERLIN).hour for each in found] == [9, 9, 9]
    assert [each.hour for each in found] == [7, 8, 8]


@given(
    st.integers(0, 2_900_000).map(lambda days: datetime(2026, 1, 1, 7, 30, tzinfo=UTC) + timedelta(days=days)),
    st.sampled_from(["DAILY", "WEEKLY", "MONTHLY", "YEARLY"]),
    st.integers(1, 40),
    st.integers(1, 30),
)
def test_the_cycle_in_which_a_rule_is_followed_changes_nothing(
    start: datetime, frequency: str, interval: int, count: int
) -> None:
    """Daily and weekly rules are steps of so many days; months and years keep the day of the month."""
    found = starts(f"FREQ={frequency};INTERVAL={interval};COUNT={count}", start=start, length=timedelta(minutes=1))
    assert found[0] == start
    assert len(found) <= count
    assert all(each - start <= HORIZON for each in found)
    if frequency in ("DAILY", "WEEKLY"):
        step = timedelta(days=interval * (7 if frequency == "WEEKLY" else 1))
        assert found == [start + number * step for number in range(len(found))]
        assert len(found) == count or start + len(found) * step > start + HORIZON
    else:
        assert {(each.day, each.time()) for each in found} == {(start.day, start.time())}


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("", "rule of RFC 5545"),
        ("every monday", "rule of RFC 5545"),
        ("FREQ=DAILY;COUNT=2\nEXDATE:20310506", "rule of RFC 5545"),
        ("DTSTART=20310505;FREQ=DAILY;COUNT=2", "does not know DTSTART"),
        ("FREQ=DAILY;BYHOUR=7,9;COUNT=2", "does not know BYHOUR"),
        ("FREQ=DAILY;FREQ=WEEKLY;COUNT=2", "more than once"),
        ("COUNT=2", "FREQ"),
        ("FREQ=HOURLY;COUNT=2", "FREQ"),
        ("FREQ=DAILY", "either COUNT or UNTIL"),
        ("FREQ=DAILY;COUNT=9;UNTIL=20310506", "either COUNT or UNTIL"),
        ("FREQ=DAILY;COUNT=0", "COUNT of the rule"),
        ("FREQ=DAILY;COUNT=99999", "COUNT of the rule"),
        ("FREQ=DAILY;INTERVAL=0;COUNT=2", "INTERVAL"),
        ("FREQ=DAILY;UNTIL=tomorrow", "rule of RFC 5545"),
        ("FREQ=DAILY;UNTIL=20311341", "UNTIL"),
        ("FREQ=DAILY;UNTIL=20310504", "does not give its first start"),
        ("FREQ=WEEKLY;BYDAY=TU;COUNT=2", "does not give its first start"),
        ("FREQ=WEEKLY;BYDAY=XX;COUNT=2", "cannot be followed"),
        (f"FREQ=DAILY;COUNT={MOST_OCCURRENCES + 1}", "more than 100"),
        ("FREQ=DAILY;UNTIL=20351231", "more than 100"),
    ],
)
def test_a_rule_that_is_refused_is_the_field_of_the_error(rule: str, words: str) -> None:
    with pytest.raises(InvalidInputError, match=words) as refused:
        starts(rule)
    assert refused.value.field == "rule"


@pytest.mark.parametrize("year", [2031, 2399, 9600, 9989])
def test_a_rule_is_followed_in_the_last_cycle_of_the_calendar(year: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that never comes true is followed to the year 9999: from there that takes a twentieth of the time."""
    begins = []

    def read(text: str, *, dtstart: datetime) -> Any:
        begins.append(dtstart)
        return rrulestr(text, dtstart=dtstart)

    monkeypatch.setattr(recurrence, "rrulestr", read)
    start = MONDAY.replace(year=year)
    with pytest.raises(InvalidInputError):
        starts("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30;COUNT=1", start=start)
    (begin,) = begins
    assert recurrence.LAST_YEAR - recurrence.CYCLE < begin.year <= recurrence.LAST_YEAR
    assert begin.weekday() == start.weekday()


def test_occurrences_do_not_overlap() -> None:
    assert len(starts("FREQ=DAILY;COUNT=2", length=timedelta(days=1))) == 2
    with pytest.raises(InvalidInputError, match="overlap"):
        starts("FREQ=DAILY;COUNT=2", length=timedelta(days=1, minutes=1))


UNKNOWN = ["", "Berlin", "../etc/passwd", "/etc/localtime", "x" * 300, "Europe", "\0"]


@pytest.mark.parametrize("name", [*UNKNOWN, "localtime", "posixrules", "Factory", "posix/UTC", "right/Europe/Berlin"])
def test_a_zone_that_is_not_known_is_named(name: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        read_zone(name)
    assert refused.value.field == "time_zone"


@pytest.mark.parametrize(
    ("rule", "start", "days"),
    [
        ("FREQ=DAILY;COUNT=4", "2031-03-28", 1),
        ("FREQ=WEEKLY;COUNT=4", "2031-03-17", 7),
        ("FREQ=WEEKLY;COUNT=4", "2031-10-13", 7),
    ],
)
def test_whole_days_and_weeks_follow_each_other_when_the_clocks_change(rule: str, start: str, days: int) -> None:
    begin = datetime.fromisoformat(start).replace(tzinfo=BERLIN)
    first = Window(begin.astimezone(UTC), (begin + timedelta(days=days)).astimezone(UTC))
    found = occurrences(rule, first, BERLIN)
    assert found[0] == first
    assert all(each.end == following.start for each, following in pairwise(found))
    assert {each.astimezone(BERLIN).hour for window in found for each in (window.start, window.end)} == {0}
    assert len({each.duration for each in found}) == 2


@pytest.mark.parametrize(
    ("begin", "end", "last"),
    [
        ((22, 0), (6, 0), timedelta(hours=7)),
        ((1, 30), (2, 30), timedelta(hours=1)),
        ((2, 30), (3, 15), timedelta(minutes=45)),
    ],
)
def test_a_night_in_which_the_clocks_change_ends_at_its_hour(
    begin: tuple[int, int], end: tuple[int, int], last: timedelta
) -> None:
    """On 30 March 2031 the clocks leave out the hour after 02:00: what would end in it is as long as the others."""
    day = 29 - (begin > end)
    start = datetime(2031, 3, day, *begin, tzinfo=BERLIN).astimezone(UTC)
    first = Window(start, datetime(2031, 3, 29, *end, tzinfo=BERLIN).astimezone(UTC))
    assert occurrences("FREQ=DAILY;COUNT=2", first, BERLIN)[1].duration == last
