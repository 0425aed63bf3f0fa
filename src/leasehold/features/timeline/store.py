"""What the timeline reads: what is booked in a window, what was held in it, and whose that is (decision 0095).

The rows stay tuples: there may be tens of thousands. Each function takes one statement, whatever the window is, but for
`leases_of`. What has ended before a window that lies ahead is left out: it will be released by then, or be told later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Integer, and_, func, or_, select, type_coerce, union

from leasehold.db.dialects import rows_among
from leasehold.db.tables import allocations, leases, reservations, secret_keys, segments
from leasehold.model.resource import MAINTENANCE
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import from_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, Row

ROW_KEY = "rows"

_BOOKED = (
    *(allocations.c.resource_number, allocations.c.lease_id, allocations.c.slots, allocations.c.demand),
    *(allocations.c.starts_at, allocations.c.ends_at, allocations.c.recorded_until),
    *(allocations.c.left_at, allocations.c.released_at),
    *(type_coerce(allocations.c.substitute, Integer), allocations.c.start_cause),
)
_RECORDED = (
    *(segments.c.resource_number, segments.c.lease_id, segments.c.slots, segments.c.demand),
    *(segments.c.starts_at, segments.c.ends_at, segments.c.start_cause),
    *(segments.c.project_id, segments.c.user_id, segments.c.resource_type, segments.c.resource),
)
_LEASES = (
    *(leases.c.id, leases.c.name, leases.c.status, leases.c.project_id, leases.c.user_id, leases.c.start_at),
    *(leases.c.end_at, leases.c.deleted_at, leases.c.degraded, leases.c.at_risk, leases.c.updated_at),
)


class Range(NamedTuple):
    """The time `[start, end)` in seconds since the epoch, in these pools; `types` are the types that use them.

    `now` is the moment as of which it is asked.
    """

    start: int
    end: int
    pools: Collection[str]
    types: Collection[str]
    now: int

    @property
    def has_past(self) -> bool:
        """Whether something of it may have ended, so that there are records, and resources that are not released."""
        return self.start <= self.now

    @property
    def booked(self) -> ColumnElement[bool]:
        """The condition on allocations that have the time, or are not released then."""
        lasting = and_(allocations.c.ends_at > self.start, allocations.c.ends_at > allocations.c.starts_at)
        if not self.has_past:
            return and_(allocations.c.starts_at < self.end, lasting)
        late = or_(allocations.c.released_at.is_(None), allocations.c.released_at > from_seconds(self.start))
        return and_(allocations.c.starts_at < self.end, or_(lasting, late))

    @property
    def recorded(self) -> ColumnElement[bool]:
        """The condition on segments that have the time."""
        return and_(segments.c.ends_at > self.start, segments.c.starts_at < self.end)


def read_booked(connection: Connection, wanted: Range, most: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return the allocations of a range, `most` of them at most.

    Columns: resource number, lease id, slots, demand text, start, end, recorded until, left, released, substitute,
    cause of the start.
    """
    return connection.execute(
        select(*_BOOKED).where(allocations.c.pool.in_(wanted.pools), wanted.booked).limit(most)
    ).all()


def read_recorded(connection: Connection, wanted: Range, most: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return the closed segments of a range, `most` of them at most.

    Columns: resource number, lease id, slots, demand text, start, end, cause of the start, project, user, type of the
    reservation, name of the resource.
    """
    if not wanted.has_past:
        return ()
    return connection.execute(
        select(*_RECORDED).where(wanted.recorded, segments.c.resource_type.in_(wanted.types)).limit(most)
    ).all()


def read_leases(connection: Connection, wanted: Range) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return the leases that have the time of a range, of all projects; deleted ones too."""
    here = select(allocations.c.lease_id).where(allocations.c.pool.in_(wanted.pools), wanted.booked)
    if wanted.has_past:
        of_types = segments.c.resource_type.in_(wanted.types)
        either = union(here, select(segments.c.lease_id).where(wanted.recorded, of_types)).subquery()
    else:
        either = here.distinct().subquery()
    # Databases make a table of the ids and look up each lease: in a condition they would do that for each lease.
    return connection.execute(select(*_LEASES).join_from(either, leases, either.c.lease_id == leases.c.id)).all()


def read_leases_of(connection: Connection, wanted: Range, project_id: str) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return the leases of a project that have the time of a range, in any pool; deleted ones too.

    Databases look up each lease's allocations by its id, because these conditions name nothing else with an index.
    """
    booked = select(allocations.c.id).where(allocations.c.lease_id == leases.c.id, wanted.booked).exists()
    recorded = select(segments.c.id).where(segments.c.lease_id == leases.c.id, wanted.recorded).exists()
    query = select(*_LEASES).where(leases.c.project_id == project_id, or_(booked, recorded))
    return connection.execute(query).all()


def read_leases_then(connection: Connection, wanted: Range, moment: datetime) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return the leases that there were at a moment and that have the time of a range, or may have had it then."""
    start, end = from_seconds(wanted.start), from_seconds(wanted.end)
    here = and_(leases.c.start_at < end, leases.c.end_at > start)
    query = select(*_LEASES).where(leases.c.created_at <= moment, leases.c.status != LeaseStatus.OFFERED)
    return connection.execute(query.where(or_(here, leases.c.updated_at > moment))).all()


def leases_of(connection: Connection, ids: Collection[str]) -> Iterator[Row[*tuple[Any, ...]]]:
    """Yield leases by their ids, deleted ones too, as `rows_among` does."""
    return rows_among(connection, select(*_LEASES), leases.c.id, ids)


def read_maintenances(connection: Connection) -> frozenset[str]:
    """Return the ids of the leases that are maintenance windows."""
    query = select(reservations.c.lease_id).where(reservations.c.resource_type == MAINTENANCE)
    return frozenset(connection.execute(query).scalars())


def lease_marks(connection: Connection, project_id: str | None, since: datetime) -> tuple[int, int]:
    """Return what grows whenever a lease changes whose last change is not before a moment: of a project, or of any.

    These are how many have changed since, and the sum of their generations. A new lease moves the pools of what it has.
    """
    query = select(func.count(), func.coalesce(func.sum(leases.c.generation), 0)).where(leases.c.updated_at >= since)
    if project_id is not None:
        query = query.where(leases.c.project_id == project_id)
    count, generations = connection.execute(query).one()
    return count, int(generations)


def row_key(connection: Connection) -> bytes:
    """Return the secret key of which the ids of anonymous rows are made."""
    value: str = connection.execute(select(secret_keys.c.value).where(secret_keys.c.name == ROW_KEY)).scalar_one()
    return value.encode()
