"""All sums of a window, of the spans of the record themselves, by the columns of a report (decisions 0151, 0156)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

from sqlalchemy import select

from leasehold.features.usage.model import Loss
from leasehold.features.usage.store import PENDING, SUMMED, poll_of, usage_cursor, usage_terms
from leasehold.features.usage.sums import (
    Group,
    among,
    held,
    lent,
    losses,
    refused,
    reservations_of,
    sums,
    sums_by_state,
    unused,
    used,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

    from leasehold.features.usage.sums import Asked, Sums

WHOLE: Final = frozenset({Group.PROJECT, Group.KIND, Group.DAY})
"""The groups for which it is known who lent, and who was refused."""
NEVER_USED: Final = usage_terms.c.unused.is_not(None)
IN_DAYS: Final = usage_terms.c.unused == SUMMED
FEW: Final = 500
"""Reservations of which databases find all spans one by one: a join with the terms would read all spans of a month."""

Tally: TypeAlias = "Mapping[str, Sums]"
"""Sums by the name of their column: those of `usage_days`, and `refused`."""


def of_spans(connection: Connection, asked: Asked, unused_ones: ColumnElement[bool] = NEVER_USED) -> Tally:
    """Return the sums of a window of what the spans say; no-shows are of those reservations that meet a condition.

    The transaction has to see one snapshot.
    """
    having, lost = sums(connection, held(asked), asked), _lost(connection, asked)
    found = {"held": having, **{state.value: some for state, some in lost.items()}}
    found |= {"used": Counter(), "watched": Counter(), "no_show": Counter()}
    for part in watched_parts(connection, asked):
        types = part.types or frozenset()
        if part.start == asked.start:
            late = lost[Loss.LATE]
            active = {key: having[key] - late[key] for key in {*having, *late} if key[-1] in types}
        else:
            active = _without(sums(connection, held(part), part), _late(connection, part))
        found["watched"].update(active)
        found["no_show"].update(_never(connection, part, unused_ones))
        found["used"].update(sums(connection, used(part), part))
    if asked.group in WHOLE:
        found |= {"lent": sums(connection, lent(connection, asked), asked), "refused": refused(connection, asked)}
    return found


def no_show_beside_days(connection: Connection, asked: Asked) -> Sums:
    """Return the sums of what has never used anything and is in no sum of a day, over days that are summed."""
    found: Sums = Counter()
    for part in watched_parts(connection, asked):
        owners = connection.execute(reservations_of(part, usage_terms.c.unused == PENDING)).all()
        found.update(active_of(connection, part, [(row.lease_id, row.reservation_id) for row in owners]))
    return found


def active_of(connection: Connection, asked: Asked, owners: Sequence[tuple[str, str]], *more: str) -> Sums:
    """Return the active time of reservations, by the ids of their leases and their own."""
    found: Sums = Counter()
    for begin in range(0, len(owners), FEW):
        lease_ids, ids = zip(*owners[begin : begin + FEW], strict=True)
        of_them = [among(each, lease_ids, ids) for each in (held(asked), losses(asked, Loss.LATE))]
        found.update(_without(*(sums(connection, each, asked, *more) for each in of_them)))
    return found


def watched_parts(connection: Connection, asked: Asked) -> Sequence[Asked]:
    """Return the parts of a window in which somebody looks at what is used, each of the types of which that is."""
    looks: dict[int, set[str]] = defaultdict(set)
    for name, since in connection.execute(select(usage_cursor.c.name, usage_cursor.c.since)):
        if name.startswith(poll_of("")) and since < asked.end:
            looks[max(since, asked.start)].add(name.removeprefix(poll_of("")))
    return [replace(asked, start=start, types=frozenset(types)) for start, types in looks.items()]


def _lost(connection: Connection, asked: Asked) -> Mapping[Loss, Sums]:
    if asked.group is Group.RESOURCE:
        return {each: _late(connection, asked) if each is Loss.LATE else Counter() for each in Loss}
    return sums_by_state(connection, losses(asked, *Loss), asked)


def _late(connection: Connection, asked: Asked) -> Sums:
    return sums(connection, losses(asked, Loss.LATE), asked)


def _never(connection: Connection, asked: Asked, which: ColumnElement[bool]) -> Sums:
    """Return the active time of reservations that meet a condition on their terms."""
    some = (held(asked), losses(asked, Loss.LATE))
    return _without(*(sums(connection, unused(each, asked, which), asked) for each in some))


def _without(some: Sums, less: Sums) -> Sums:
    some.subtract(less)
    return some
