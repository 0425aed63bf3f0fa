"""The user's clock: what time it is, and in which time zone times are read and shown."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import tzinfo

SYSTEM = Path("/etc/localtime")


@dataclass(frozen=True, slots=True)
class Clock:
    """`now` returns the current time, aware and in UTC."""

    now: Callable[[], datetime]
    zone: tzinfo


def users_clock() -> Clock:
    """Return the clock of this machine, in the zone of `TZ` or of the system."""
    return Clock(lambda: datetime.now(UTC), users_zone(os.environ, SYSTEM))


def users_zone(environ: Mapping[str, str], system: Path) -> tzinfo:
    """Return the zone that `TZ` names, else the system's; UTC where neither says one that can be read."""
    try:
        if environ.get("TZ"):
            return ZoneInfo(environ["TZ"].removeprefix(":"))
        with system.open("rb") as file:
            return ZoneInfo.from_file(file, key=str(system))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
