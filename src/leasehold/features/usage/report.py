"""How much of what was promised was held, delivered, used and idle: sums over a window (feature G8, decision 0151)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.features.usage.days import tally
from leasehold.features.usage.options import UsageSettings
from leasehold.features.usage.sums import KEYS, Asked, Group, check_size
from leasehold.features.usage.tally import WHOLE, watched_parts
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date

    from sqlalchemy import Connection

    from leasehold.features.usage.sums import Key
    from leasehold.features.usage.tally import Tally
    from leasehold.leasing.refusals import RefusalCounts
    from leasehold.leasing.service import Service


@dataclass(frozen=True, slots=True)
class Part:
    """What a row of a report is about; None for what its group does not tell apart. The day is one of UTC."""

    resource_type: str
    project_id: str | None = None
    user_id: str | None = None
    lease_id: str | None = None
    resource: str | None = None
    day: date | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Sums of seconds times hosts, instances or addresses; `refused` are requests. None where it is not known.

    `held` was delivered (`active`) or `late`. Of what was active, `used` and `idle` are known as far as somebody
    looked; `no_show` is what of the idle is of reservations that never used anything.
    """

    held: int = 0
    late: int = 0
    missing: int | None = 0
    given_up: int | None = 0
    used: int | None = None
    idle: int | None = None
    no_show: int | None = None
    lent: int | None = None
    refused: int | None = None

    @property
    def promised(self) -> int | None:
        """What was held, what was missing, and what was given up."""
        return None if self.missing is None or self.given_up is None else self.held + self.missing + self.given_up

    @property
    def active(self) -> int:
        """What was held and delivered."""
        return self.held - self.late


@dataclass(frozen=True, slots=True)
class Report:
    """The usage of a window by its parts, in order; what was used is precise to so many seconds, None: nobody looks."""

    window: Window
    group: Group
    precision: float | None
    rows: Sequence[tuple[Part, Usage]]


def report(service: Service, counts: RefusalCounts, window: Window, group: Group, project_id: str | None) -> Report:
    """Return the usage of a window that has begun, up to the present: of one project, or of all (None).

    Raises InvalidInputError if there are too many rows. What was refused within the last seconds may come later.
    """
    counts.write()
    now = to_seconds(service.now())
    start, end = window.seconds
    asked = Asked(start, min(end, now), now, group, project_id)
    with service.db.reading() as connection:
        rows = read_usage(connection, asked)
    precision = service.settings.of(UsageSettings).poll_seconds or None
    return Report(Window.of_seconds(asked.start, asked.end), group, precision, rows)


def read_usage(connection: Connection, asked: Asked) -> Sequence[tuple[Part, Usage]]:
    """Return the usage of a window by its parts, in order. The transaction has to see one snapshot."""
    whole, single = asked.group in WHOLE, asked.group is Group.RESOURCE
    found = tally(connection, asked)
    known = {each for part in watched_parts(connection, asked) for each in part.types or ()}
    shown = ("held", "late", "missing", "given_up", "used", *(("lent", "refused") if whole else ()))
    keys = {key for name in shown for key in found[name]}
    check_size(keys)
    return [
        (
            _part(key, asked.group),
            Usage(
                held=found["held"][key],
                late=found["late"][key],
                missing=None if single else found["missing"][key],
                given_up=None if single else found["given_up"][key],
                lent=found["lent"][key] if whole else None,
                refused=found["refused"][key] if whole else None,
                **(_use(found, key) if key[-1] in known else {}),
            ),
        )
        for key in sorted(keys)
    ]


def _use(found: Tally, key: Key) -> dict[str, int]:
    used = found["used"][key]
    return {"used": used, "idle": found["watched"][key] - used, "no_show": found["no_show"][key]}


def _part(key: Key, group: Group) -> Part:
    named = dict(zip((*KEYS[group], "resource_type"), key, strict=True))
    if group is Group.DAY:
        named["day"] = from_seconds(named["day"]).date()
    return Part(**named)
