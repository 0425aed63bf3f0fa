"""The calendar as text."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold_client.cli.output.drawing import STEPS, CalendarRow, FreeCount, Style, draw, draw_counts, step_for

START = datetime(2031, 5, 1, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
PLAIN = Style(60, UTC, ascii=True)


def test_a_day_of_three_hosts() -> None:
    rows = [
        CalendarRow("cmp-01", [(START + 6 * HOUR, START + 12 * HOUR)]),
        CalendarRow("cmp-02", []),
        CalendarRow("gone", [(START, START + HOUR)], usable=False),
    ]
    assert draw(rows, START, START + 24 * HOUR, PLAIN, START) == [
        "From 2031-05-01 10:00 UTC",
        "       |10:00      |16:00      |22:00      |04:00",
        "cmp-01 ............############........................",
        "cmp-02 ................................................",
        "gone   ##xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        ". free  # taken  x out of service; a column is 30 min",
    ]


def test_what_is_over_is_blank() -> None:
    rows = [CalendarRow("cmp-01", [(START + 6 * HOUR, START + 12 * HOUR)])]
    lines = draw(rows, START, START + 24 * HOUR, PLAIN, START + 7 * HOUR)
    assert lines[2:] == [
        f"cmp-01 {14 * ' '}{10 * '#'}{24 * '.'}",
        ". free  # taken  x out of service; a column is 30 min; what ",
        "is over is left blank",
    ]


def test_what_is_free_stands_out_in_colour() -> None:
    rows = [CalendarRow("a", [(START, START + HOUR)])]
    lines = draw(rows, START, START + 2 * HOUR, Style(14, UTC, colour=True, ascii=True), START)
    assert "a \x1b[2m######\x1b[32m......\x1b[0m" in lines


def test_free_is_only_what_is_free_all_the_time() -> None:
    blink = [(START + HOUR, START + HOUR + timedelta(seconds=1))]
    (line,) = [
        each
        for each in draw([CalendarRow("a", blink)], START, START + 24 * HOUR, PLAIN, START)
        if each.startswith("a ")
    ]
    assert line.count("#") == 1


def test_how_many_are_free() -> None:
    counts = [FreeCount(START, START + 6 * HOUR, 12), FreeCount(START + 6 * HOUR, START + 24 * HOUR, 3)]
    assert draw_counts("hosts", counts, START, START + 30 * HOUR, Style(36, UTC)) == [
        "From 2031-05-01 10:00 UTC",
        "      |10:00      |22:00      |10:00",
        f"hosts {6 * '+'}{18 * '3'}{6 * ' '}",
        "how many are free: 0 to 9, + is ten ",
        "or more; a column is 1 h",
    ]


@given(
    st.integers(1, 200),
    st.timedeltas(timedelta(minutes=1), timedelta(days=800)),
    st.lists(st.text("abc-.", max_size=40), max_size=4),
)
def test_no_line_is_wider_than_the_terminal(width: int, span: timedelta, names: list[str]) -> None:
    """However narrow it is: ten columns of time there are always."""
    lines = draw([CalendarRow(name, []) for name in names], START, START + span, Style(width, UTC, ascii=True), START)
    assert all(len(line) <= max(width, 11) for line in lines)


@given(st.timedeltas(timedelta(minutes=1), timedelta(days=4000)), st.integers(10, 300))
def test_a_step_is_round_and_the_columns_hold_the_span(span: timedelta, columns: int) -> None:
    step = step_for(span, columns)
    assert step * columns >= span
    assert step in STEPS or step % STEPS[-1] == timedelta(0)


@pytest.mark.parametrize("hours", [1, 5, 24, 24 * 30])
def test_taken_and_free_add_up(hours: int) -> None:
    taken = [(START, START + hours * HOUR / 2)]
    line = draw([CalendarRow("a", taken)], START, START + hours * HOUR, PLAIN, START)[2]
    assert abs(line.count("#") - line.count(".")) <= 1
