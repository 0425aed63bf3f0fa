"""Times and durations as people write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold_client.cli.leases.counter_offer import moment_word
from leasehold_client.cli.output.shown import show_relative, show_span
from leasehold_client.cli.reading.times import BadTimeError, read_duration, read_end, read_moment, read_past, read_utc

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2031, 5, 1, 10, 30, tzinfo=UTC)
"""A Thursday, 12:30 in Berlin."""


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3h", 10800),
        ("90m", 5400),
        ("90 min", 5400),
        ("2d", 172800),
        ("1w 2d", 777600),
        ("1 day, 12 hours", 129600),
        ("1.5h", 5400),
        ("45S", 45),
    ],
)
def test_durations(text: str, seconds: int) -> None:
    assert read_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "3", "h", "3 parsecs", "0h", "-3h", "3h later", "tomorrow", "3h3"])
def test_what_is_no_duration_is_said_so_with_examples(text: str) -> None:
    with pytest.raises(BadTimeError, match=r"(no duration|no time at all).*such as 90m, 3h"):
        read_duration(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2031-05-01T10:30"),
        ("2 h ago", "2031-05-01T08:30"),
        ("yesterday 14:00", "2031-04-30T12:00"),
        ("14:00", "2031-04-30T12:00"),
        ("9:00", "2031-05-01T07:00"),
        ("today 9:00", "2031-05-01T07:00"),
        ("thursday 9:00", "2031-05-01T07:00"),
        ("monday 9:00", "2031-04-28T07:00"),
        ("2031-04-01 14:00", "2031-04-01T12:00"),
        ("2031-05-01T08:00Z", "2031-05-01T08:00"),
        ("tomorrow 9:00", "2031-05-02T07:00"),
    ],
)
def test_times_that_are_over(text: str, expected: str) -> None:
    assert read_past(text, NOW, BERLIN) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", "2031-05-01T10:30"),
        ("in 2 h", "2031-05-01T12:30"),
        ("+90m", "2031-05-01T12:00"),
        ("14:00", "2031-05-01T12:00"),
        ("9:00", "2031-05-02T07:00"),
        ("today 9:00", "2031-05-01T07:00"),
        ("Tomorrow  14:00", "2031-05-02T12:00"),
        ("tomorrow", "2031-05-01T22:00"),
        ("thursday 9:00", "2031-05-08T07:00"),
        ("friday 9:00", "2031-05-02T07:00"),
        ("wednesday", "2031-05-06T22:00"),
        ("2031-12-01 14:00", "2031-12-01T13:00"),
        ("2031-12-01", "2031-11-30T23:00"),
        ("2031-12-01 14:00 UTC", "2031-12-01T14:00"),
        ("2031-12-01T14:00:30Z", "2031-12-01T14:00:30"),
        ("2031-12-01T14:00+05:30", "2031-12-01T08:30"),
    ],
)
def test_moments_are_in_the_users_zone(text: str, expected: str) -> None:
    assert read_moment(text, NOW, BERLIN) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("17:00", "2031-05-03T15:00"),
        ("12:00", "2031-05-04T10:00"),
        ("saturday 16:00", "2031-05-03T14:00"),
        ("friday 12:00", "2031-05-09T10:00"),
        ("2031-05-03 10:00", "2031-05-03T08:00"),
        ("tomorrow 17:00", "2031-05-02T15:00"),
        ("in 2 h", "2031-05-01T12:30"),
    ],
)
def test_the_end_of_what_begins_on_saturday(text: str, expected: str) -> None:
    start = datetime(2031, 5, 3, 12, 0, tzinfo=UTC)
    assert read_end(text, start, NOW, BERLIN) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "25:00", "2031-02-30", "2031-13-01 10:00", "tomorrow 14", "in a while", "UTC"],
)
def test_what_is_no_moment_is_said_so_with_examples(text: str) -> None:
    with pytest.raises(BadTimeError, match=r"Write (one|a duration) such as"):
        read_moment(text, NOW, BERLIN)


def test_a_time_that_the_clocks_leave_out_is_refused() -> None:
    with pytest.raises(BadTimeError, match="the clocks are put forward"):
        read_moment("2031-03-30 02:30", NOW, BERLIN)


def test_blazars_options_are_in_utc() -> None:
    assert read_utc("2031-12-01 14:00") == datetime(2031, 12, 1, 14, tzinfo=UTC)
    assert read_utc("2031-12-01T14:00+01:00") == datetime(2031, 12, 1, 13, tzinfo=UTC)
    assert read_utc("now") is None
    for text in ("2031-12-01T14:00", "tomorrow", "2031-12-41 10:00"):
        with pytest.raises(BadTimeError, match="YYYY-MM-DD HH:MM"):
            read_utc(text)


MOMENTS = st.integers(10**9, 38 * 10**8).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


@given(MOMENTS, st.sampled_from(["Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "UTC"]))
def test_a_moment_that_is_written_is_read_again(moment: datetime, zone: str) -> None:
    """Also in the hour that the clocks repeat in autumn."""
    assert read_moment(moment_word(moment, ZoneInfo(zone)), NOW, ZoneInfo(zone)) == moment


@given(st.integers(1, 10**8))
def test_a_duration_that_is_shown_is_read_as_no_more_and_almost_as_much(seconds: int) -> None:
    read = read_duration(show_span(timedelta(seconds=seconds)))
    assert timedelta(seconds=seconds) * 0.95 <= read <= timedelta(seconds=seconds)


def test_how_far_away_a_moment_is() -> None:
    assert show_relative(NOW, NOW) == "now"
    assert show_relative(NOW + timedelta(hours=2, minutes=5), NOW) == "in 2 h 5 min"
    assert show_relative(NOW - timedelta(days=3), NOW) == "3 d ago"
