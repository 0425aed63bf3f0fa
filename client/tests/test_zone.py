"""Which time zone is the user's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leasehold_client.cli.zone import users_zone

SUMMER = datetime(2031, 7, 1, tzinfo=UTC)
NOWHERE = Path("/none-such")


def test_tz_is_the_users_zone() -> None:
    assert SUMMER.astimezone(users_zone({"TZ": "Europe/Berlin"}, NOWHERE)).utcoffset() == timedelta(hours=2)
    assert SUMMER.astimezone(users_zone({"TZ": ":Asia/Tokyo"}, NOWHERE)).utcoffset() == timedelta(hours=9)


@pytest.mark.parametrize("named", [{}, {"TZ": ""}, {"TZ": "Mars/Olympus"}])
def test_without_one_that_can_be_read_it_is_utc(named: dict[str, str]) -> None:
    assert users_zone(named, NOWHERE) is UTC
