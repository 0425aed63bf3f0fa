"""Which time zone is the user's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import TZPATH

import pytest

from leasehold_client.cli.reading.zone import users_zone, users_zone_name

if TYPE_CHECKING:
    from client.tests.conftest import Inside

SUMMER = datetime(2031, 7, 1, tzinfo=UTC)
NOWHERE = Path("/none-such")


def test_tz_is_the_users_zone() -> None:
    """A name, a rule of POSIX, or a file."""
    tokyo = f"{Path(TZPATH[0]) / 'Asia/Tokyo'}"
    for named, hours in (
        *(("Europe/Berlin", 2), (":Asia/Tokyo", 9), ("JST-9", 9), ("<-03>3", -3), (tokyo, 9), (f":{tokyo}", 9)),
        *(("CET-1CEST,M3.5.0,M10.5.0/3", 2), ("UTC", 0)),
    ):
        zone = users_zone({"TZ": named}, NOWHERE)
        assert zone is not None
        assert SUMMER.astimezone(zone).utcoffset() == timedelta(hours=hours), named
    assert users_zone_name({"TZ": tokyo}, NOWHERE) == "Asia/Tokyo"


def test_without_one_it_is_utc_and_one_that_cannot_be_read_is_said(inside: Inside) -> None:
    assert users_zone({}, NOWHERE) is users_zone({"TZ": ""}, NOWHERE) is UTC
    for named in ("Mars/Olympus", "/none-such", "JST", "Zürich"):
        assert users_zone({"TZ": named}, NOWHERE) is None
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Mars/Olympus")
        said = inside.ok("lease", "list")
    assert said.err.startswith("TZ=Mars/Olympus is no time zone that can be read, so times are in UTC.\n")


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
