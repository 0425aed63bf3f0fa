"""Hours of the week: read from text, and exactly the parts of a window in which the clocks of a zone show them."""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.model.hours import Hours, stretches
from leasehold.model.windows import Window

STEP = timedelta(minutes=15)
CLOCKS_CHANGE = [
    datetime(2031, 3, 29, tzinfo=UTC),
    datetime(2031, 10, 25, tzinfo=UTC),
    datetime(2031, 4, 5, tzinfo=UTC),
]
# Clocks change from one to three o'clock there.
TIMES = st.builds(time, st.integers(4, 23), st.sampled_from([0, 15, 30, 45])) | st.just(time(0))
HOURS = st.builds(Hours, st.frozensets(st.integers(0, 6), min_size=1), TIMES, TIMES)


@given(
    st.lists(HOURS, min_size=1, max_size=3),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu"]),
    st.sampled_from(CLOCKS_CHANGE),
    st.integers(0, 96),
    st.integers(1, 300),
)
def test_they_are_what_clocks_show(hours: list[Hours], zone: str, day: datetime, first: int, length: int) -> None:
    within = Window(day + first * STEP, day + (first + length) * STEP)
    found = stretches(hours, ZoneInfo(zone), within)
    assert all(one.end < other.start for one, other in pairwise(found))
    for number in range(length):
        moment = within.start + number * STEP
        shown = any(each.contain(moment.astimezone(ZoneInfo(zone))) for each in hours)
        assert any(each.start <= moment < each.end for each in found) == shown, moment


def test_a_night_is_as_long_as_it_is() -> None:
    night = Hours.read("sat 22:00-06:00")
    lengths = []
    for day in ("2031-03-29", "2031-04-05", "2031-10-25"):
        start = datetime.fromisoformat(f"{day}T12:00:00+00:00")
        (found,) = stretches([night], ZoneInfo("Europe/Berlin"), Window(start, start + timedelta(days=1)))
        lengths.append(found.duration / timedelta(hours=1))
    assert lengths == [7, 8, 9]


def test_a_weekend_is_one_part_and_without_hours_it_is_all_of_the_time() -> None:
    start = datetime(2031, 5, 1, tzinfo=UTC)
    week = Window(start, start + timedelta(days=7))
    weekend = Hours.read("sat-sun 00:00-00:00")
    assert stretches([weekend], UTC, week) == [Window(start + timedelta(days=2), start + timedelta(days=4))]
    assert stretches([], UTC, week) == [week]


@pytest.mark.parametrize(
    ("text", "days", "start", "end"),
    [
        ("22:00-06:00", range(7), time(22), time(6)),
        ("mon-fri 8:00-18:30", range(5), time(8), time(18, 30)),
        ("Sat-Mon 00:00-00:00", (5, 6, 0), time(0), time(0)),
    ],
)
def test_they_are_read(text: str, days: range, start: time, end: time) -> None:
    assert Hours.read(text) == Hours(frozenset(days), start, end)


@pytest.mark.parametrize("text", ["", "always", "mon-xyz 08:00-18:00", "24:00-25:00", "8-18", "mon 08:00-09:00 x"])
def test_other_texts_are_none(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - callers say what is wrong
        Hours.read(text)
