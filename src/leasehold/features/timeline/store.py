"""What the timeline reads: what is booked in a window, what was held in it, and whose that is (decision 0095).

The rows stay tuples: there may be tens of thousands. Each function takes one statement, whatever the window is. What
has ended before a window that lies ahead is left out: it will be released by then, or be told later.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Integer, and_, func, or_, select, type_coerce, union, union_all

from leasehold.db.columns.lasting import meeting
from leasehold.db.dialects import IDS, AmongIds
from leasehold.db.paging import of_project
from leasehold.db.tables import allocations, leases, reservations, secret_keys, segments
from leasehold.model.resource import MAINTENANCE
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import from_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

    from sqlalchemy import ColumnElement, CompoundSelect, Connection, Row

ROW_KEY = "rows"

_BOOKED = (
    *(allocations.c.resource_number, allocations.c.lease_id, allocations.c.slots, allocations.c.demand),
    *(allocations.c.starts_at, allocations.c.ends_at, allocations.c.recorded_until),
    *(allocations.c.left_at, allocations.c.released_at),
    *(type_coerce(allocations.c.substitute, Integer), allocations.c.start_cause, allocations.c.id),
)
_RECORDED = (
    *(segments.c.resource_number, segments.c.lease_id, segments.c.slots, segments.c.demand),
    *(segments.c.starts_at, segments.c.ends_at, segments.c.start_cause),
    *(segments.c.project_id, segments.c.user_id, segments.c.resource_type, segments.c.resource, segments.c.id),
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

    def booked(self, *columns: ColumnElement[Any]) -> CompoundSelect[Any]:
        """Return the query for the allocations that have the time, or are not released then."""
        here = select(*columns).where(allocations.c.pool.in_(self.pools))
        parts = [*meeting(here, allocations, self.start, self.end)]
        if self.has_past:
            late = here.where(
                allocations.c.starts_at < self.end,
                allocations.c.ends_at < self.end,
                or_(allocations.c.ends_at <= self.start, allocations.c.ends_at <= allocations.c.starts_at),
            )
            released = allocations.c.released_at
            parts += [late.where(released.is_(None)), late.where(released > from_seconds(self.start))]
        return union_all(*parts)

    def recorded(self, *columns: ColumnElement[Any]) -> CompoundSelect[Any]:
        """Return the query for the segments that have the time."""
        here = select(*columns).where(segments.c.resource_type.in_(self.types))
        return union_all(*meeting(here, segments, self.start, self.end))

    @property
    def lease_ids(self) -> CompoundSelect[Any]:
        """The query for the ids of the leases that have the time, each once."""
        ids = [select(self.booked(allocations.c.lease_id).subquery())]
        if self.has_past:
            ids.append(select(self.recorded(segments.c.lease_id).subquery()))
        return union(*ids)


def read_booked(connection: Connection, wanted: Range, most: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return the allocations of a range in the order of their ids, `most` of them at most.

    Columns: resource number, lease id, slots, demand text, start, end, recorded until, left, released, substitute,
    cause of the start, id.
    """
    return sorted(connection.execute(wanted.booked(*_BOOKED).limit(most)), key=itemgetter(-1))


def read_recorded(connection: Connection, wanted: Range, most: int) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return the closed segments of a range in the order of their ids, `most` of them at most.

    Columns: resource number, lease id, slots, demand text, start, end, cause of the start, project, user, type of the
    reservation, name of the resource, id.
    """
    if not wanted.has_past:
        return ()
    return sorted(connection.execute(wanted.recorded(*_RECORDED).limit(most)), key=itemgetter(-1))


def read_leases(connection: Connection, wanted: Range, project_id: str | None) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return the leases that have the time of a range, of one project or of all; deleted ones too.

    A project may have many leases outside the range, so these are found by what is booked within it.
    """
    here = wanted.lease_ids.subquery()
    # Databases make a table of the ids and look up each lease: in a condition they would do that for each lease.
    query = select(*_LEASES).join_from(here, leases, here.c.lease_id == leases.c.id)
    return connection.execute(query.where(*of_project(leases, project_id))).all()


def read_leases_then(connection: Connection, wanted: Range, moment: datetime) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return the leases that there were at a moment and that have the time of a range, or may have had it then."""
    start, end = from_seconds(wanted.start), from_seconds(wanted.end)
    here = and_(leases.c.start_at < end, leases.c.end_at > start)
    query = select(*_LEASES).where(leases.c.created_at <= moment, leases.c.status != LeaseStatus.OFFERED)
    return connection.execute(query.where(or_(here, leases.c.updated_at > moment))).all()


def leases_of(connection: Connection, ids: Collection[str]) -> Sequence[Row[*tuple[Any, ...]]]:
    """Return leases by their ids, deleted ones too."""
    return connection.execute(select(*_LEASES).where(AmongIds(leases.c.id)), {IDS: sorted(ids)}).all()


def read_maintenances(connection: Connection, wanted: Range) -> frozenset[str]:
    """Return the ids of the leases that have the time of a range and are maintenance windows."""
    here = wanted.lease_ids.subquery()
    query = select(reservations.c.lease_id).join_from(here, reservations, here.c.lease_id == reservations.c.lease_id)
    return frozenset(connection.execute(query.where(reservations.c.resource_type == MAINTENANCE)).scalars())


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
