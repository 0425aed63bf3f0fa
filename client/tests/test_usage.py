"""`usage`, as a table and as a drawing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from client.tests.booking import booked
from leasehold_client.cli.capacity.usage import days_of
from leasehold_client.usage import Usage, UsageRow

if TYPE_CHECKING:
    from client.tests.conftest import Shell
    from leasehold_client import Client

START = datetime(2031, 5, 1, 10, tzinfo=UTC)
ROW = UsageRow(
    resource_type="physical:host",
    unit="hosts",
    project_id=None,
    user_id=None,
    lease_id=None,
    resource=None,
    day="2031-05-01",
    promised=30.0,
    held=24.0,
    late=1.0,
    active=23.0,
    used=20.0,
    idle=3.0,
    no_show=0.0,
    missing=2.0,
    given_up=4.0,
    lent=0.0,
    refused=0,
)


@pytest.mark.slow
def test_usage_as_a_table_and_as_a_drawing(shell: Shell, client: Client) -> None:
    booked(client, "soon", timedelta(days=1), amount=2)
    said = shell.ok("usage", "--from", "2 d ago", "--group-by", "kind", "-f", "json")
    assert all(0 <= row["late"] <= row["held"] <= row["promised"] for row in said.json)
    drawn = shell.ok("usage", "plot", "--from", "2 d ago", "--ascii").out.splitlines()
    assert drawn[0].startswith("From ")
    assert "promised, in hours a day" in " ".join(drawn)
    refused = shell("usage", "--group-by", "colour")
    assert (refused.status, "--group-by" in refused.err) == (2, True)
    refused = shell("usage", "--from", "2 d ago", "--to", "3 d ago")
    assert (refused.status, "to has to be after from" in refused.err) == (1, True)


def test_each_day_has_what_was_used_idle_and_late_one_above_the_other() -> None:
    found = Usage(START, START + timedelta(days=2), "day", 300.0, (ROW,))
    first, second, third = days_of(found, found.rows)
    assert (first.start, first.end, first.heights, first.capacity) == (
        START,
        datetime(2031, 5, 2, tzinfo=UTC),
        (20, 23, 24),
        30,
    )
    assert (second.heights, second.capacity) == ((0, 0, 0), 0)
    assert third.end == found.until
    unknown = replace(ROW, used=None, idle=None)
    assert days_of(found, [unknown])[0].heights == (0, 23, 24)
