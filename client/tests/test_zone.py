"""Which time zone is the user's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from leasehold_client.cli.zone import users_zone, users_zone_name

SUMMER = datetime(2031, 7, 1, tzinfo=UTC)
NOWHERE = Path("/none-such")


def test_tz_is_the_users_zone() -> None:
    assert SUMMER.astimezone(users_zone({"TZ": "Europe/Berlin"}, NOWHERE)).utcoffset() == timedelta(hours=2)
    assert SUMMER.astimezone(users_zone({"TZ": ":Asia/Tokyo"}, NOWHERE)).utcoffset() == timedelta(hours=9)


@pytest.mark.parametrize("named", [{}, {"TZ": ""}, {"TZ": "Mars/Olympus"}])
def test_without_one_that_can_be_read_it_is_utc(named: dict[str, str]) -> None:
    assert users_zone(named, NOWHERE) is UTC


def test_the_zone_has_a_name(tmp_path: Path) -> None:
    """Of `TZ`, of the link that the system's file is, or of the file beside it."""
    localtime, beside = tmp_path / "localtime", tmp_path / "timezone"
    assert users_zone_name({"TZ": ":Asia/Tokyo"}, NOWHERE) == "Asia/Tokyo"
    assert users_zone_name({"TZ": "Mars/Olympus"}, localtime) is None
    assert users_zone_name({}, NOWHERE) is None
    zones = tmp_path / "share" / "zoneinfo"
    (zones / "Europe").mkdir(parents=True)
    (zones / "Europe" / "Berlin").touch()
    localtime.symlink_to(zones / "Europe" / "Berlin")
    assert users_zone_name({}, localtime) == users_zone_name({"TZ": ""}, localtime) == "Europe/Berlin"
    localtime.unlink()
    localtime.touch()
    assert users_zone_name({}, localtime) is None
    beside.write_text("America/Lima\n")
    assert users_zone_name({}, localtime) == "America/Lima"
    beside.write_text("somewhere\n")
    assert users_zone_name({}, localtime) is None
