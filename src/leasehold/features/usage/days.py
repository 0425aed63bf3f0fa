"""Sums of whole days in the database: what reports read instead of spans (decision 0156)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from sqlalchemy import func, select

from leasehold.db.dialects import GroupHint
from leasehold.features.usage.store import DAYS, SUMS, find_progress, usage_days
from leasehold.features.usage.sums import DAY, KEYS, Group, of_near, refused
from leasehold.features.usage.tally import WHOLE, no_show_beside_days, of_spans

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.features.usage.sums import Asked, Sums
    from leasehold.features.usage.tally import Tally

_SUMMED: Final = frozenset({Group.PROJECT, Group.USER, Group.KIND, Group.DAY})


def tally(connection: Connection, asked: Asked) -> Tally:
    """Return the sums of a window by column: whole days from their sums, as far as there are any, the rest from spans.

    The transaction has to see one snapshot. Raises InvalidInputError for too many rows.
    """
    first, last = summed_days(connection, asked) if asked.group in _SUMMED else (asked.end, asked.end)
    parts = [asked.within(start, end) for start, end in ((asked.start, first), (last, asked.end)) if start < end]
    if asked.group in _SUMMED:
        parts = [of_near(connection, each) for each in parts]
    found = [of_spans(connection, each) for each in parts]
    if first < last:
        found.append(_of_days(connection, asked.within(first, last)))
    total: dict[str, Sums] = {}
    for each in found:
        for name, some in each.items():
            total.setdefault(name, Counter()).update(some)
    return total


def summed_days(connection: Connection, asked: Asked) -> tuple[int, int]:
    """Return the whole days of a window that are summed, as a span; an empty one at its end if there are none."""
    first, done = first_day(connection), find_progress(connection, DAYS)
    if first is not None and done is not None:
        start, end = max(first, -(-asked.start // DAY) * DAY), min(done.position, asked.end // DAY * DAY)
        if start < end:
            return start, end
    return asked.end, asked.end


def first_day(connection: Connection) -> int | None:
    """Return the first day that is summed and not purged: where nothing was on a day, it has no row."""
    first: int | None = connection.scalar(select(func.min(usage_days.c.day)))
    return first


def _of_days(connection: Connection, asked: Asked) -> Tally:
    """Return the sums of days that are summed, and what of no-shows is not."""
    names = (*(() if asked.group is Group.KIND else KEYS[asked.group]), "resource_type")
    keys = [usage_days.c[name] for name in names]
    query = select(*keys, *(func.sum(usage_days.c[name]) for name in SUMS))
    query = query.where(usage_days.c.day >= asked.start, usage_days.c.day < asked.end)
    if asked.project_id is not None:
        query = query.where(usage_days.c.project_id == asked.project_id)
    found: dict[str, Sums] = {name: Counter() for name in SUMS}
    for row in connection.execute(query.group_by(GroupHint(keys[max(0, len(keys) - 2)]), *keys).limit(asked.most + 1)):
        for name, seconds in zip(SUMS, row[len(keys) :], strict=True):
            if seconds:
                found[name][tuple(row[: len(keys)])] = int(seconds)
    found["no_show"].update(no_show_beside_days(connection, asked))
    if asked.group in WHOLE:
        found["refused"] = refused(connection, asked)
    return found
