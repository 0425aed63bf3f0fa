"""The user's clock: what time it is, and in which time zone times are read and shown."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import tzinfo

_ZONES = "zoneinfo"
SYSTEM = Path("/etc/localtime")


@dataclass(frozen=True, slots=True)
class Clock:
    """`now` returns the current time, aware and in UTC. `name` is that of the zone, None where it has none."""

    now: Callable[[], datetime]
    zone: tzinfo
    name: str | None = None


def users_clock() -> Clock:
    """Return the clock of this machine, in the zone of `TZ` or of the system."""
    return Clock(lambda: datetime.now(UTC), users_zone(os.environ, SYSTEM), users_zone_name(os.environ, SYSTEM))


def users_zone_name(environ: Mapping[str, str], system: Path) -> str | None:
    """Return the name of that zone, such as `Europe/Berlin`: of `TZ`, of what the system's file is a link to, or of
    the file `timezone` beside it; None if none of them is the name of a zone.
    """
    named = environ.get("TZ", "").removeprefix(":")
    if named:
        return named if _is_zone(named) else None
    return next((name for name in _names_of(system) if _is_zone(name)), None)


def _names_of(system: Path) -> Iterator[str]:
    """Yield what may be the name of the system's zone."""
    try:
        words = system.resolve(strict=True).parts
        if _ZONES in words:
            yield "/".join(words[words.index(_ZONES) + 1 :])
        yield system.with_name("timezone").read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def users_zone(environ: Mapping[str, str], system: Path) -> tzinfo:
    """Return the zone that `TZ` names, else the system's; UTC where neither says one that can be read."""
    try:
        if environ.get("TZ"):
            return ZoneInfo(environ["TZ"].removeprefix(":"))
        with system.open("rb") as file:
            return ZoneInfo.from_file(file, key=str(system))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
