"""The user's clock: what time it is, and in which time zone times are read and shown."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
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
    """`now` returns the current time, aware and in UTC. `name` is that of the zone, None where it has none.

    `unread` is what `TZ` says where that cannot be read; the zone is UTC then.
    """

    now: Callable[[], datetime]
    zone: tzinfo
    name: str | None = None
    unread: str | None = None


def users_clock() -> Clock:
    """Return the clock of this machine, in the zone of `TZ` or of the system."""
    zone, name = users_zone(os.environ, SYSTEM), users_zone_name(os.environ, SYSTEM)
    return Clock(lambda: datetime.now(UTC), zone or UTC, name, None if zone else os.environ["TZ"])


def users_zone_name(environ: Mapping[str, str], system: Path) -> str | None:
    """Return the name of that zone, such as `Europe/Berlin`: of `TZ`, of what the system's file is a link to, or of
    the file `timezone` beside it; None if none of them is the name of a zone.
    """
    named = environ.get("TZ", "").removeprefix(":")
    if named.startswith("/"):
        system = Path(named)
    elif named:
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


def users_zone(environ: Mapping[str, str], system: Path) -> tzinfo | None:
    """Return the zone of `TZ`, None if that cannot be read; without `TZ` the system's, UTC where it has none."""
    named = environ.get("TZ", "").removeprefix(":")
    if not named:
        return _zone_in(system) or UTC
    if named.startswith("/"):
        return _zone_in(Path(named))
    return ZoneInfo(named) if _is_zone(named) else _zone_of_rule(named)


def _zone_in(path: Path) -> tzinfo | None:
    """Return the zone that a file describes; None if it cannot be read."""
    try:
        with path.open("rb") as file:
            return ZoneInfo.from_file(file, key=str(path))
    except (ValueError, OSError):
        return None


def _zone_of_rule(rule: str) -> tzinfo | None:
    """Return the zone of a rule of POSIX, such as `JST-9`; None if it is none.

    A file of a zone may end with such a rule for all times after its table, and this one has an empty table.
    """
    part = [b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, 0, 1, 1), struct.pack(">lbb", 0, 0, 0) + b"\0"]
    try:
        return ZoneInfo.from_file(BytesIO(b"".join([*part, *part, b"\n", rule.encode("ascii"), b"\n"])), key=rule)
    except ValueError:
        return None
