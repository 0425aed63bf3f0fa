"""What a forecast reads: how many resources were and will be in use, and how many were missing (feature G10).

The database aggregates: however many leases there are, a statement returns at most one row for each step, or hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, case, false, func, literal, select, union_all

from leasehold.db.segment import BEGIN
from leasehold.db.tables import allocations, refusals, reservations, resources, segments
from leasehold.model.membership import Membership
from leasehold.model.refused import Operation
from leasehold.model.resource import MAINTENANCE, Health
from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import CTE, Column, ColumnElement, Connection, Select

_WANTED = (Operation.CREATE, Operation.AMEND, Operation.OFFER)
"""What asks for more resources; maintenance is no demand, and a swap asks for another one in place of one."""
_USABLE = and_(
    resources.c.alive == 1,
    resources.c.reservable,
    func.coalesce(resources.c.disabled, false()).is_(false()),
    func.coalesce(resources.c.membership, Membership.RESERVATION) == Membership.RESERVATION,
)


@dataclass(frozen=True, slots=True)
class TimeSteps:
    """`steps` steps of `seconds` each, the first of which begins at `start`, in seconds since the epoch."""

    start: int
    seconds: int
    steps: int

    @property
    def end(self) -> int:
        """When the last step ends."""
        return self.start + self.seconds * self.steps


@dataclass(frozen=True, slots=True)
class Changes:
    """How the number of resources in use changes in a step: `at_start` at its first moment, and `net` in all of it.

    `highest` is the largest number after a change in it.
    """

    step: int
    highest: int
    at_start: int
    net: int


def changes_in_use(connection: Connection, pool: str, types: Collection[str], grid: TimeSteps) -> list[Changes]:
    """Return how many resources of a pool are in use, as changes of each step that has any, in order.

    In use is what reservations held or will hold, by the record and the book; `types` are those that use the pool. A
    resource counts once, however many share it, and maintenance windows do not count. One statement.
    """
    return _changes(connection, union_all(*_in_use(pool, types, grid)).cte("held"), grid)


def count_in_use(connection: Connection, pool: str, types: Collection[str], grid: TimeSteps, most: int) -> int:
    """Return how many rows `changes_in_use` would read, of the book and of the record at most `most` each.

    One statement, which costs little of what the other does.
    """
    rows = (each.limit(most).subquery() for each in _in_use(pool, types, grid))
    of_book, of_record = (select(func.count()).select_from(each).scalar_subquery() for each in rows)
    found: int = connection.execute(select(of_book + of_record)).scalar_one()
    return found


def _in_use(pool: str, types: Collection[str], grid: TimeSteps) -> tuple[Select[Any], Select[Any]]:
    """Return what the book and the record say of demand in a grid."""
    demanded = [each for each in types if each != MAINTENANCE]
    promised = (
        select(*_clipped(allocations.c.resource_number, BEGIN, allocations.c.ends_at, grid), allocations.c.demand)
        .join(reservations, reservations.c.id == allocations.c.reservation_id)
        .where(reservations.c.resource_type != MAINTENANCE, *_lasting(pool, grid))
    )
    held = _clipped(segments.c.resource_number, segments.c.starts_at, segments.c.ends_at, grid)
    recorded = select(*held, segments.c.demand).where(
        segments.c.resource_type.in_(demanded), segments.c.starts_at < grid.end, segments.c.ends_at > grid.start
    )
    return promised, recorded


def changes_in_maintenance(connection: Connection, pool: str, grid: TimeSteps) -> list[Changes]:
    """Return how many usable resources of a pool have a maintenance window, as `changes_in_use`. One statement."""
    # Windows may overlap, as parts of a resource do.
    shared = literal("{}").label("demand")
    closed = (
        select(*_clipped(allocations.c.resource_number, BEGIN, allocations.c.ends_at, grid), shared)
        .join(reservations, reservations.c.id == allocations.c.reservation_id)
        .join(resources, resources.c.number == allocations.c.resource_number)
        .where(reservations.c.resource_type == MAINTENANCE, _USABLE, *_lasting(pool, grid))
    )
    return _changes(connection, closed.cte("held"), grid)


def expected_in(connection: Connection, pool: str) -> list[datetime]:
    """Return when the usable resources of a pool are expected that are not there yet."""
    planned = (resources.c.health == Health.PLANNED, resources.c.waking_since.is_not(None))
    query = select(resources.c.waking_since).where(resources.c.pool == pool, _USABLE, *planned)
    return list(connection.execute(query).scalars())


def count_usable(connection: Connection, pool: str) -> int:
    """Return how many resources of a pool work, are in the reservation pool and not disabled."""
    query = select(func.count()).select_from(resources).where(resources.c.pool == pool, _USABLE)
    return connection.execute(query).scalar_one()


def missing_by_hour(
    connection: Connection, resource_type: str, types: Collection[str], grid: TimeSteps
) -> Sequence[tuple[int, int]]:
    """Return how many more resources would have been enough in each hour with refusals, as (start, number).

    Of each project the request of the hour counts for which most were missing, because clients ask again. A refusal
    of another of the `types`, which are parts of a resource, counts as one resource. One statement.
    """
    mine = case((refusals.c.resource_type == resource_type, refusals.c.missing), else_=1)
    by_project = (
        select(refusals.c.hour, func.max(mine).label("missing"))
        .where(
            refusals.c.hour >= from_seconds(grid.start),
            refusals.c.hour < from_seconds(grid.end),
            refusals.c.resource_type.in_(sorted(types)),
            refusals.c.operation.in_(_WANTED),
            refusals.c.missing > 0,
        )
        .group_by(refusals.c.hour, refusals.c.project_id)
        .subquery()
    )
    query = select(by_project.c.hour, func.sum(by_project.c.missing)).group_by(by_project.c.hour)
    return [(to_seconds(hour), int(missing)) for hour, missing in connection.execute(query)]


def _lasting(pool: str, grid: TimeSteps) -> Sequence[ColumnElement[bool]]:
    # What a vacated resource was held before is recorded, and it is not promised any more.
    held = allocations.c.left_at.is_(None) & (allocations.c.ends_at > BEGIN)
    return allocations.c.pool == pool, held, grid.end > BEGIN, allocations.c.ends_at > grid.start


def _clipped(
    number: Column[int], begin: ColumnElement[Any], end: Column[int], grid: TimeSteps
) -> Sequence[ColumnElement[Any]]:
    return (
        number.label("number"),
        case((begin < grid.start, grid.start), else_=begin).label("begins"),
        case((end > grid.end, grid.end), else_=end).label("ends"),
    )


def _changes(connection: Connection, held: CTE, grid: TimeSteps) -> list[Changes]:
    """Return the changes of the number of resources that are held at all, and the largest number of each step."""
    of_each = union_all(_of_whole(held), _of_shared(held)).subquery()
    of_all = select(of_each.c.at, func.sum(of_each.c.change).label("change")).group_by(of_each.c.at).subquery()
    each = select(of_all, func.sum(of_all.c.change).over(order_by=of_all.c.at).label("busy")).subquery()
    since = each.c.at - grid.start
    step = (since // grid.seconds).label("step")
    first = case((since % grid.seconds == 0, each.c.change), else_=0)
    query = select(step, func.max(each.c.busy), func.sum(first), func.sum(each.c.change)).group_by(step).order_by(step)
    found = (Changes(*map(int, row)) for row in connection.execute(query))
    return [change for change in found if change.step < grid.steps]


def _of_whole(held: CTE) -> Select[Any]:
    """Return the changes by whole resources: nobody else has one meanwhile, so each start and end is a change."""
    whole = held.c.demand.is_(None)
    starts = select(held.c.begins.label("at"), literal(1).label("change")).where(whole)
    moments = union_all(starts, select(held.c.ends, literal(-1)).where(whole)).subquery()
    return select(moments.c.at, func.sum(moments.c.change).label("change")).group_by(moments.c.at)


def _of_shared(held: CTE) -> Select[Any]:
    """Return the changes by resources of which parts are held: where the first part comes, and the last one goes."""
    shared = held.c.demand.is_not(None)
    starts = select(held.c.number, held.c.begins.label("at"), literal(1).label("change")).where(shared)
    moments = union_all(starts, select(held.c.number, held.c.ends, literal(-1)).where(shared)).subquery()
    total = func.sum(moments.c.change).label("change")
    net = select(moments.c.number, moments.c.at, total).group_by(moments.c.number, moments.c.at).subquery()
    parts = func.sum(net.c.change).over(partition_by=net.c.number, order_by=net.c.at).label("parts")
    deep = select(net.c.at, net.c.change, parts).subquery()
    used = case((deep.c.parts > 0, 1), else_=0) - case((deep.c.parts > deep.c.change, 1), else_=0)
    return select(deep.c.at, func.sum(used).label("change")).group_by(deep.c.at)
