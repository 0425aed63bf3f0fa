"""What the record says of a window, summed by the database: no row of it is read into Python (decision 0151).

A sum is of seconds times an amount, in whole numbers, cut exactly at the borders of the window. So the sums of windows
that follow one another add up.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, case, func, select, union_all

from leasehold.db.columns.holding import LENGTHS
from leasehold.db.dialects import EpochSeconds, GroupHint
from leasehold.db.segment import BEGIN, CONTENT, SOURCE
from leasehold.db.tables import allocations, pools, refusals, segments
from leasehold.features.usage.model import Loss
from leasehold.features.usage.store import losses_since, usage_losses, usage_terms, usage_uses
from leasehold.model.errors import InvalidInputError
from leasehold.model.resource import MAINTENANCE
from leasehold.model.windows import from_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, FromClause, Select, Table

DAY: Final = 86_400
MOST: Final = 20_000
"""Rows of a report."""
NEAR: Final = 2 * DAY
"""The length of a window up to which its rows are found by their length."""
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

    `now` is the present in seconds, and not before the end. None means all; maintenance windows never count. With
    `near` the rows of a short window are found by their lengths, else by their ends.
    """

    start: int
    end: int
    now: int
    group: Group
    project_id: str | None = None
    types: frozenset[str] | None = None
    near: Near | None = None
    most: int = MOST
    """Rows of a sum, beside those of single days."""

    def within(self, start: int, end: int) -> Asked:
        """Return the same for another window that is not known to be short."""
        return replace(self, start=start, end=end, near=None)


@dataclass(frozen=True, slots=True)
class Near:
    """With what the indexes begin that find the rows of a short window, however many lie before and after it."""

    types: frozenset[str]
    pools: frozenset[str]


def of_near(connection: Connection, asked: Asked) -> Asked:
    """Return the same, to be found by these indexes if the window is a short one."""
    if asked.end - asked.start > NEAR:
        return asked
    pool_names = frozenset(connection.scalars(select(pools.c.name)))
    return replace(asked, near=Near(frozenset(_types_of_segments(connection)), pool_names))


def _types_of_segments(connection: Connection) -> Iterator[str]:
    """Yield the resource types of segments: each is the next one in an index."""
    found: str | None = ""
    later = select(func.min(segments.c.resource_type))
    while found := connection.scalar(later.where(segments.c.resource_type > found)):
        yield found


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


def held(asked: Asked) -> list[Spans]:
    """Return what was held: the closed segments, and what allocations hold beyond them, as `each_segment` has it."""
    own = {column.name: column for column in CONTENT}
    left = EpochSeconds(allocations.c.left_at)
    vacated = and_(allocations.c.left_at.is_not(None), left < allocations.c.ends_at)
    end = case((vacated, left), else_=allocations.c.ends_at)
    closed = _of(segments, segments.c, segments.c.slots)
    rest = Spans(SOURCE, own, allocations.c.slots, BEGIN, end)
    if asked.near is None:
        return [closed, rest]
    of_types, of_pools = segments.c.resource_type.in_(asked.near.types), allocations.c.pool.in_(asked.near.pools)
    return [*_near(closed, segments, asked, of_types), *_near(rest, allocations, asked, of_pools)]


def losses(asked: Asked, *states: Loss) -> list[Spans]:
    """Return what was late, missing or given up; none of these is known of a single resource, but what was late."""
    if asked.group is Group.RESOURCE:
        late = losses(replace(asked, group=Group.KIND), Loss.LATE)
        return [_within(each, other) for each in held(asked) for other in late]
    some = [state.value for state in states]
    closed = _of(usage_losses, usage_losses.c, usage_losses.c.amount, usage_losses.c.state.in_(some))
    # One for each part of the union: MariaDB would copy all of it.
    parts = [each.subquery() for each in losses_since(asked.now)]
    return [
        *([closed] if asked.near is None else _near(closed, usage_losses, asked)),
        *(_of(each, each.c, each.c.amount, each.c.state.in_(some)) for each in parts),
    ]


def used(asked: Asked) -> list[Spans]:
    """Return what ran on what was held."""
    found = _of(usage_uses, usage_uses.c, usage_uses.c.amount)
    return [found] if asked.near is None else _near(found, usage_uses, asked)


def unused(some: Iterable[Spans], asked: Asked, which: ColumnElement[bool]) -> list[Spans]:
    """Return those of some spans whose reservation meets a condition on its terms."""
    found = reservations_of(asked, which).subquery()
    return [each.joined(found) for each in some]


def reservations_of(asked: Asked, which: ColumnElement[bool]) -> Select[tuple[str, str]]:
    """Select the ids of the leases and reservations of a window that meet a condition on their terms."""
    terms = usage_terms.c
    query = select(terms.lease_id, terms.reservation_id)
    return query.where(*_of(usage_terms, terms, terms.amount).among(asked), which)


def among(some: Iterable[Spans], lease_ids: Collection[str], reservation_ids: Collection[str]) -> list[Spans]:
    """Return those of some spans that are of a few reservations, to be found by the indexes of these."""
    return [
        replace(
            each,
            which=(
                *each.which,
                each.columns["lease_id"].in_(lease_ids),
                each.columns["reservation_id"].in_(reservation_ids),
            ),
        )
        for each in some
    ]


def lent(connection: Connection, asked: Asked) -> list[Spans]:
    """Return what sub-leases held, as spans of the project that lent it; nothing if nobody has lent anything."""
    some = select(usage_terms).where(usage_terms.c.lender_project_id.is_not(None))
    # To find that out by the sums, databases would look up the terms of all that was held.
    if connection.execute(some.limit(1)).first() is None:
        return []
    lends = some.subquery()
    return [
        each.joined(lends, columns={**each.columns, "project_id": lends.c.lender_project_id}) for each in held(asked)
    ]


def sums(connection: Connection, some: Iterable[Spans], asked: Asked, *more: str) -> Sums:
    """Return the sums of some spans; the values of more columns, if there are any, come first in each key.

    One statement; raises InvalidInputError for more rows than `asked.most`.
    """
    return _added(_each_sum(connection, some, asked, *more), asked.most)


def sums_by_state(connection: Connection, some: Iterable[Spans], asked: Asked) -> Mapping[Loss, Sums]:
    """Return the sums of some losses by their state, as `sums` does."""
    found = [(Loss(key[0]), key[1:], seconds) for key, seconds in _each_sum(connection, some, asked, "state")]
    return {
        each: _added(((key, seconds) for state, key, seconds in found if state is each), asked.most) for each in Loss
    }


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
    return _added(((tuple(row[:-1]), int(row[-1])) for row in rows), MOST)


def _near(some: Spans, table: Table, asked: Asked, *which: ColumnElement[bool]) -> list[Spans]:
    """Return spans of a table that may have a moment of a short window, by their length, as an index has them."""
    begin, length = table.c.starts_at, table.c.lasts
    return [
        replace(some, which=(*some.which, *which, length == each, begin > asked.start - each, begin < asked.end))
        for each in LENGTHS
    ]


def _of(source: FromClause, columns: Any, amount: ColumnElement[int], *which: ColumnElement[bool]) -> Spans:
    """Return the rows of a table, or a query, with the columns of a segment."""
    return Spans(source, columns, amount, columns["starts_at"], columns["ends_at"], which)


def _within(some: Spans, others: Spans) -> Spans:
    """Return those parts of some spans that lie within others of the same reservation."""
    found = some.joined(others.source, which=(*some.which, *others.which))
    return replace(found, begin=_later(some.begin, others.begin), end=_sooner(some.end, others.end))


def _each_sum(connection: Connection, some: Iterable[Spans], asked: Asked, *more: str) -> Iterator[tuple[Key, int]]:
    """Yield sums by key, some of them in parts; in one statement, which groups each part by itself."""
    if asked.group is Group.DAY:
        yield from _by_day(connection, some, asked, more)
        return
    queries = []
    for each in some:
        keys = [_key(each, name) for name in (*more, *KEYS[asked.group], "resource_type")]
        total = func.sum(each.amount * (_sooner(each.end, asked.end) - _later(each.begin, asked.start)))
        query = select(*keys, total).select_from(each.source).where(*each.among(asked))
        queries.append(query.group_by(_hint(each, asked), *keys))
    if queries:
        # With more rows there are more keys than may be.
        for row in connection.execute(union_all(*queries).limit(len(queries) * asked.most + 1)):
            yield tuple(row[:-1]), int(row[-1])


def _by_day(
    connection: Connection, some: Iterable[Spans], asked: Asked, more: Sequence[str]
) -> Iterator[tuple[Key, int]]:
    """Yield the sums of each day of UTC.

    The database sums what begins on one day and ends on another: of these sums follows what lies in each day between.
    """
    queries = []
    for each in some:
        begin, end = _later(each.begin, asked.start), _sooner(each.end, asked.end)
        keys = [_key(each, name) for name in (*more, "resource_type")]
        days = [(begin - begin % DAY).label("first_day"), (end - 1 - (end - 1) % DAY).label("last_day")]
        of_moments = [func.sum(each.amount * (moment - asked.start)) for moment in (begin, end)]
        query = select(*keys, *days, func.sum(each.amount), *of_moments).select_from(each.source)
        queries.append(query.where(*each.among(asked)).group_by(_hint(each, asked), *keys, *days))
    for row in connection.execute(union_all(*queries)) if queries else ():
        key, (first, last, amount, begins, ends) = tuple(row[:-5]), map(int, row[-5:])
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


def _added(found: Iterable[tuple[Key, int]], most: int) -> Sums:
    total: Sums = Counter()
    for key, seconds in found:
        total[key] += seconds
    check_size(total, most)
    return total


def check_size(found: Collection[Key], most: int = MOST) -> None:
    """Raise InvalidInputError if a report would have too many rows."""
    if len(found) > most:
        message = f"The report would have more than {most} rows. Ask for one project, for a shorter window, or by day."
        raise InvalidInputError(message, field="group_by", details={"most": most})


def _later(moment: ColumnElement[int], other: Any) -> ColumnElement[int]:
    return case((moment < other, other), else_=moment)


def _sooner(moment: ColumnElement[int], other: Any) -> ColumnElement[int]:
    return case((moment > other, other), else_=moment)
