"""`forecast`, as a table and as a drawing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from client.tests.booking import booked
from leasehold_client.cli.operators.forecast import heights, planned, summary
from leasehold_client.cli.output.drawing import Level, Style, draw_levels
from leasehold_client.forecast import Expectation, Forecast, ForecastStep

if TYPE_CHECKING:
    from client.tests.conftest import Shell
    from leasehold_client import Client

START = datetime(2031, 5, 1, 10, tzinfo=UTC)
HOUR = timedelta(hours=1)
PLAIN = Style(26, UTC, ascii=True)
STEP = ForecastStep(START, START + HOUR, 12, 5, 2, 0, Expectation(9, 2, 0), Expectation(15, 8, 3))
NAMES = ("promised", "waiting", "expected", "high")


@pytest.mark.slow
def test_what_is_promised_as_a_table_and_as_a_drawing(shell: Shell, client: Client) -> None:
    booked(client, "busy", timedelta(days=1), amount=5)
    said = shell.ok("forecast", "--for", "3d", "--step", "1d", "-f", "json")
    assert [row["promised"] for row in said.json].count(5) in (1, 2)
    assert {row["capacity"] for row in said.json} == {12}
    assert {(row["expected"], row["missing"], row["expected (high)"]) for row in said.json} == {(None, 0, None)}
    assert said.err == (
        "There are always enough hosts for what is promised and waits. "
        "Nothing more is expected: of 4 weeks of history there are 0.\n"
    )
    drawn = shell.ok("forecast", "plot", "--for", "3d", "--ascii").out.splitlines()
    assert drawn[0].startswith("From ")
    assert "#" in drawn[-3]
    assert "- capacity" in drawn[-1]
    addresses = shell.ok("forecast", "virtual:floatingip", "--until", "in 3 h", "--weeks", "4")
    assert "floating IPs" in addresses.err
    over = shell("forecast", "--until", "2001-01-01")
    assert (over.status, over.err.startswith("The time ends before it begins, or is over.")) == (1, True)
    refused = shell("forecast", "virtual:instance")
    assert (refused.status, "ask for physical:host" in refused.err) == (1, True)


def test_a_drawing_has_what_is_known_what_is_expected_and_the_capacity() -> None:
    nothing = replace(STEP, promised=0, backlog=0, median=None, high=None)
    much = replace(STEP, end=START + 5 * HOUR, promised=6, backlog=3, median=Expectation(12, 3, 0))
    steps = [replace(nothing, start=START - 5 * HOUR, end=START), much]
    levels = [Level(each.start, each.end, heights(each), each.capacity) for each in steps]
    assert draw_levels(levels, NAMES, 5, PLAIN) == [
        "From 2031-05-01 05:00 UTC",
        "   |05:00      |11:00",
        "15           ..........",
        "12 ----------::::::::::",
        " 9           ++++++++++",
        " 6           ##########",
        " 3           ##########",
        "# promised  + waiting  : e",
        "xpected  . high  - capacit",
        "y; a column is 30 min",
    ]


def test_each_height_has_all_that_is_more_certain() -> None:
    assert heights(STEP) == (5, 7, 9, 15)
    assert heights(replace(STEP, backlog=9)) == (5, 14, 14, 15)
    assert heights(replace(STEP, median=None, high=None)) == (5, 7, 7, 7)


def test_it_is_said_what_a_forecast_rests_on() -> None:
    found = Forecast("hosts", 6, 4, 0.9, waiting_uncounted=True, steps=(STEP, STEP))
    assert summary(found) == (
        "There are always enough hosts for what is promised and waits. By 6 past weeks at most 0 are expected to be "
        "missing, and 3 by the 90% quantile. More leases wait than are counted."
    )
    crowded = replace(found, steps=(STEP, replace(STEP, shortfall=2)))
    assert planned(crowded, str) == []
    with_new = replace(crowded, coming=((STEP.start, 20),))
    assert planned(with_new, str) == [f"The capacity includes planned hosts: 20 from {STEP.start} on."]
    assert summary(crowded).startswith("What is promised and waits exceeds the capacity by at most 2 hosts. ")
