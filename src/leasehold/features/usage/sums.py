"""What the record says of a window, summed by the database: no row of it is read into Python (decision 0151).

A sum is of seconds times an amount, in whole numbers, cut exactly at the borders of the window. So the sums of windows
that follow one another add up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, case, exists, func, select

from leasehold.db.dialects import EpochSeconds, GroupHint
from leasehold.db.segment import BEGIN, CONTENT, SOURCE
from leasehold.db.tables import allocations, refusals, segments
from leasehold.features.usage.model import Loss
from leasehold.features.usage.store import losses_until, usage_terms, usage_uses
from leasehold.model.errors import InvalidInputError
from leasehold.model.resource import MAINTENANCE
from leasehold.model.windows import from_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, FromClause

DAY: Final = 86_400
MOST: Final = 20_000
"""Rows of a report."""
Key = tuple[Any, ...]
"""What a sum is of: the values of the keys of its group, and the resource type."""
Sums = Counter[Key]


class Group(StrEnum):
    """By what a report groups its sums, beside the resource type."""

    PROJECT = "project"
    USER = "user"
    RESOURCE = "resource"
    KIND = "kind"
    LEASE = "lease"
    DAY = "day"


KEYS: Final[Mapping[Group, tuple[str, ...]]] = {
    Group.PROJECT: ("project_id",),
    Group.USER: ("project_id", "user_id"),
    Group.RESOURCE: ("resource",),
    Group.KIND: (),
    Group.LEASE: ("project_id", "user_id", "lease_id"),
    Group.DAY: ("day",),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What is summed: over `[start, end)` in seconds since the epoch, of one project or all, and of these types or all.

    `now` is the present in seconds, and not before the end. None means all; maintenance windows never count.
    """

    start: int
    end: int
    now: int
    group: Group
    project_id: str | None = None
    types: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Spans:
    """Rows that each say: so much lasted from a moment to another one; `columns` has whose it was, as segments do."""

    source: FromClause
    columns: Mapping[str, ColumnElement[Any]]
    amount: ColumnElement[int]
    begin: ColumnElement[int]
    end: ColumnElement[int]
    which: tuple[ColumnElement[bool], ...] = ()

    def joined(self, other: FromClause, **changes: Any) -> Spans:
        """Return the spans of those reservations that another source has, with these changes."""
        mine, its = self.columns, other.c
        same = and_(mine["lease_id"] == its.lease_id, mine["reservation_id"] == its.reservation_id)
        return replace(self, source=self.source.join(other, same), **changes)

    def among(self, asked: Asked) -> Sequence[ColumnElement[bool]]:
        """Return the conditions on those that have a moment of the window, and are asked for."""
        kind = self.columns["resource_type"]
        found = [self.begin < asked.end, self.end > asked.start, self.begin < self.end, *self.which]
        found.append(kind != MAINTENANCE if asked.types is None else kind.in_(sorted(asked.types)))
        if asked.project_id is not None:
            found.append(self.columns["project_id"] == asked.project_id)
        return found


def held() -> tuple[Spans, Spans]:
    """Return what was held: the closed segments, and what allocations hold beyond them, as `each_segment` has it."""
    own = {column.name: column for column in CONTENT}
    left = EpochSeconds(allocations.c.left_at)
    vacated = and_(allocations.c.left_at.is_not(None), left < allocations.c.ends_at)
    end = case((vacated, left), else_=allocations.c.ends_at)
    return _of(segments, segments.c, segments.c.slots), Spans(SOURCE, own, allocations.c.slots, BEGIN, end)


def losses(asked: Asked, *states: Loss) -> list[Spans]:
    """Return what was late, missing or given up; none of these is known of a single resource, but what was late."""
    if asked.group is Group.RESOURCE:
        late = losses(replace(asked, group=Group.KIND), Loss.LATE)
        return [_within(each, other) for each in held() for other in late]
    # One for each part of the union: MariaDB would copy all of it.
    parts = [each.subquery() for each in losses_until(asked.now).selects]
    return [_of(each, each.c, each.c.amount, each.c.state.in_([state.value for state in states])) for each in parts]


def used() -> list[Spans]:
    """Return what ran on what was held."""
    return [_of(usage_uses, usage_uses.c, usage_uses.c.amount)]


def unused(some: Iterable[Spans], asked: Asked) -> list[Spans]:
    """Return those of some spans whose reservation has never used anything, as far as the record of use goes back."""
    terms, uses = usage_terms.c, usage_uses.c
    never = select(terms.lease_id, terms.reservation_id).where(
        *_of(usage_terms, terms, terms.amount).among(asked),
        ~exists().where(uses.reservation_id == terms.reservation_id),
    )
    found = never.subquery()
    return [each.joined(found) for each in some]


def lent(connection: Connection) -> list[Spans]:
    """Return what sub-leases held, as spans of the project that lent it; nothing if nobody has lent anything."""
    some = select(usage_terms).where(usage_terms.c.lender_project_id.is_not(None))
    # To find that out by the sums, databases would look up the terms of all that was held.
    if connection.execute(some.limit(1)).first() is None:
        return []
    lends = some.subquery()
    return [each.joined(lends, columns={**each.columns, "project_id": lends.c.lender_project_id}) for each in held()]


def sums(connection: Connection, some: Iterable[Spans], asked: Asked) -> Sums:
    """Return the sums of some spans. A statement for each; raises InvalidInputError for more rows than `MOST`."""
    by_state = (((key, ""), seconds) for key, seconds in _each_sum(connection, some, asked))
    return _added((key, seconds) for (key, _), seconds in by_state)


def sums_by_state(connection: Connection, some: Iterable[Spans], asked: Asked) -> Mapping[Loss, Sums]:
    """Return the sums of some losses by their state, as `sums` does."""
    found = [(Loss(key[0]), key[1:], seconds) for key, seconds in _each_sum(connection, some, asked, "state")]
    return {each: _added((key, seconds) for state, key, seconds in found if state is each) for each in Loss}


def refused(connection: Connection, asked: Asked) -> Sums:
    """Return how many requests were refused in the hours that begin in the window; the type is "" if none was short."""
    hour = EpochSeconds(refusals.c.hour)
    day = (hour - hour % DAY).label("day")
    of_group: Mapping[Group, list[Any]] = {Group.PROJECT: [refusals.c.project_id], Group.DAY: [day]}
    keys = [*of_group.get(asked.group, []), refusals.c.resource_type]
    since, until = from_seconds(asked.start), from_seconds(asked.end)
    query = select(*keys, func.sum(refusals.c.refused)).where(refusals.c.hour >= since, refusals.c.hour < until)
    if asked.project_id is not None:
        query = query.where(refusals.c.project_id == asked.project_id)
    rows = connection.execute(query.group_by(*keys).limit(MOST + 1))
    return _added((tuple(row[:-1]), int(row[-1])) for row in rows)


def _of(source: FromClause, columns: Any, amount: ColumnElement[int], *which: ColumnElement[bool]) -> Spans:
    """Return the rows of a table, or a query, with the columns of a segment."""
    return Spans(source, columns, amount, columns["starts_at"], columns["ends_at"], which)


def _within(some: Spans, others: Spans) -> Spans:
    """Return those parts of some spans that lie within others of the same reservation."""
    found = some.joined(others.source, which=(*some.which, *others.which))
    return replace(found, begin=_later(some.begin, others.begin), end=_sooner(some.end, others.end))


def _each_sum(connection: Connection, some: Iterable[Spans], asked: Asked, *more: str) -> Iterator[tuple[Key, int]]:
    for each in some:
        begin, end = _later(each.begin, asked.start), _sooner(each.end, asked.end)
        if asked.group is Group.DAY:
            yield from _by_day(connection, each, asked, begin, end, more)
        else:
            keys = [_key(each, name) for name in (*more, *KEYS[asked.group], "resource_type")]
            total = func.sum(each.amount * (end - begin))
            query = select(*keys, total).group_by(_hint(each, asked), *keys).limit(MOST + 1)
            for row in connection.execute(query.select_from(each.source).where(*each.among(asked))):
                yield tuple(row[:-1]), int(row[-1])


def _by_day(
    connection: Connection, some: Spans, asked: Asked, begin: Any, end: Any, more: Sequence[str]
) -> Iterator[tuple[Key, int]]:
    """Yield the sums of each day of UTC.

    The database sums what begins on one day and ends on another: of these sums follows what lies in each day between.
    """
    keys = [_key(some, name) for name in (*more, "resource_type")]
    days = [(begin - begin % DAY).label("first_day"), (end - 1 - (end - 1) % DAY).label("last_day")]
    of_moments = [func.sum(some.amount * (moment - asked.start)) for moment in (begin, end)]
    query = select(*keys, *days, func.sum(some.amount), *of_moments).group_by(_hint(some, asked), *keys, *days)
    for row in connection.execute(query.select_from(some.source).where(*some.among(asked))):
        key, (first, last, amount, begins, ends) = tuple(row[: len(keys)]), map(int, row[len(keys) :])
        for day in range(first, last + 1, DAY):
            seconds = (ends if day == last else amount * (day + DAY - asked.start)) - (
                begins if day == first else amount * (day - asked.start)
            )
            yield (*key[:-1], day, key[-1]), seconds


def _key(some: Spans, name: str) -> ColumnElement[str]:
    """Return a key to group by: an expression, because MariaDB and SQLite would read all rows in an index's order."""
    return func.coalesce(some.columns[name], "").label(f"of_{name}")


def _hint(some: Spans, asked: Asked) -> GroupHint:
    names = KEYS[asked.group] if asked.group is not Group.DAY else ()
    return GroupHint(some.columns[(*names, "resource_type")[max(0, len(names) - 1)]])


def _added(found: Iterable[tuple[Key, int]]) -> Sums:
    total: Sums = Counter()
    for key, seconds in found:
        total[key] += seconds
    if len(total) > MOST:
        message = f"The report would have more than {MOST} rows. Ask for one project, for a shorter window, or by day."
        raise InvalidInputError(message, field="group_by", details={"most": MOST})
    return total


def _later(moment: ColumnElement[int], other: Any) -> ColumnElement[int]:
    return case((moment < other, other), else_=moment)


def _sooner(moment: ColumnElement[int], other: Any) -> ColumnElement[int]:
    return case((moment > other, other), else_=moment)
