"""How much of what was promised was held, delivered, used and idle: sums over a window (feature G8, decision 0151)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from sqlalchemy import select

from leasehold.features.usage.model import Loss
from leasehold.features.usage.options import UsageSettings
from leasehold.features.usage.store import poll_of, usage_cursor
from leasehold.features.usage.sums import (
    KEYS,
    Asked,
    Group,
    held,
    lent,
    losses,
    refused,
    sums,
    sums_by_state,
    unused,
    used,
)
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from sqlalchemy import Connection

    from leasehold.features.usage.sums import Key, Sums
    from leasehold.leasing.refusals import RefusalCounts
    from leasehold.leasing.service import Service

_WHOLE: Final = frozenset({Group.PROJECT, Group.KIND, Group.DAY})
"""The groups for which it is known who lent, and who was refused."""


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
    whole, single = asked.group in _WHOLE, asked.group is Group.RESOURCE
    having = sums(connection, held(), asked)
    lost = _lost(connection, asked)
    use = _use_of(connection, asked, having, lost[Loss.LATE])
    lending = sums(connection, lent(connection), asked) if whole else Counter()
    refusing = refused(connection, asked) if whole else Counter()
    keys = {*having, *lending, *refusing, *use.used, *(key for each in lost.values() for key in each)}
    return [
        (
            _part(key, asked.group),
            Usage(
                held=having[key],
                late=lost[Loss.LATE][key],
                missing=None if single else lost[Loss.MISSING][key],
                given_up=None if single else lost[Loss.GIVEN_UP][key],
                lent=lending[key] if whole else None,
                refused=refusing[key] if whole else None,
                **use.of(key),
            ),
        )
        for key in sorted(keys)
    ]


@dataclass(frozen=True, slots=True)
class _Use:
    """What was used, and what of the time in which somebody looked was not; `types` are those that are looked at."""

    types: frozenset[str]
    used: Sums
    watched: Sums
    no_show: Sums

    def of(self, key: Key) -> dict[str, int | None]:
        if key[-1] not in self.types:
            return dict.fromkeys(("used", "idle", "no_show"))
        return {"used": self.used[key], "idle": self.watched[key] - self.used[key], "no_show": self.no_show[key]}


def _use_of(connection: Connection, asked: Asked, having: Sums, late: Sums) -> _Use:
    looks: dict[int, set[str]] = defaultdict(set)
    for name, since in connection.execute(select(usage_cursor.c.name, usage_cursor.c.since)):
        if name.startswith(poll_of("")) and since < asked.end:
            looks[max(since, asked.start)].add(name.removeprefix(poll_of("")))
    using, watched, no_show = Counter["Key"](), Counter["Key"](), Counter["Key"]()
    for start, types in looks.items():
        part = replace(asked, start=start, types=frozenset(types))
        if start == asked.start:
            watched.update({key: having[key] - late[key] for key in {*having, *late} if key[-1] in types})
        else:
            _add(watched, sums(connection, held(), part), _late(connection, part))
        _add(no_show, *_never(connection, part))
        using.update(sums(connection, used(), part))
    known = frozenset(each for types in looks.values() for each in types)
    return _Use(known, using, watched, no_show)


def _lost(connection: Connection, asked: Asked) -> Mapping[Loss, Sums]:
    if asked.group is Group.RESOURCE:
        return {each: _late(connection, asked) if each is Loss.LATE else Counter() for each in Loss}
    return sums_by_state(connection, losses(asked, *Loss), asked)


def _late(connection: Connection, asked: Asked) -> Sums:
    return sums(connection, losses(asked, Loss.LATE), asked)


def _never(connection: Connection, asked: Asked) -> tuple[Sums, Sums]:
    """Return what reservations held that never used anything, and what of it was late."""
    some = (held(), losses(asked, Loss.LATE))
    of_held, of_late = (sums(connection, unused(each, asked), asked) for each in some)
    return of_held, of_late


def _add(total: Sums, more: Sums, less: Sums) -> None:
    total.update(more)
    total.subtract(less)


def _part(key: Key, group: Group) -> Part:
    named = dict(zip((*KEYS[group], "resource_type"), key, strict=True))
    if group is Group.DAY:
        named["day"] = from_seconds(named["day"]).date()
    return Part(**named)
