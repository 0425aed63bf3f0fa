"""What an audit reads, without the calendar: all allocations, and of leases those whose rows may disagree."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, case, false, func, or_, select, true, union, union_all

from leasehold.db.allocation import as_allocation
from leasehold.db.columns.ending import FOR_GOOD, counted_end
from leasehold.db.dialects import IDS, AmongIds
from leasehold.db.leases.listed import leases_of
from leasehold.db.resources.resource import resources_by_number
from leasehold.db.tables import allocations, events, idempotency_keys, leases, outbox, reservations, tasks
from leasehold.db.task import LEASE
from leasehold.features.audit.agreement import AGREEING
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus
from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection, FromClause, Join, Select

    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.resource import Resource

BATCH = 10_000


@dataclass(frozen=True, slots=True)
class Kept:
    """What a lease that is over still keeps: its project and status, since when it is over, and the resources."""

    project_id: str
    status: str
    since: datetime
    resources: tuple[Resource, ...]


def kept_allocations(connection: Connection, now: datetime) -> Iterator[tuple[Resource, list[Allocation]]]:
    """Yield each resource with its allocations that end after `now`, by start, without empty ones."""
    lasting = (allocations.c.ends_at > to_seconds(now), allocations.c.ends_at > allocations.c.starts_at)
    numbers = connection.execute(select(allocations.c.resource_number).where(*lasting).distinct()).scalars()
    resources = resources_by_number(connection, numbers)
    query = select(allocations).where(*lasting).order_by(allocations.c.resource_number, allocations.c.starts_at)
    rows = connection.execute(query.execution_options(yield_per=BATCH))
    for number, held in groupby(rows, attrgetter("resource_number")):
        yield resources[number], [as_allocation(row) for row in held]


def kept_by(connection: Connection, now: datetime) -> dict[str, Kept]:
    """Return what leases still keep that have ended, are deleted or are being deleted, by their ids.

    Servers that outlive an ended lease keep what is still reserved for them.
    """
    over = or_(
        leases.c.deleted_at.is_not(None),
        and_(leases.c.end_at <= now, or_(allocations.c.ends_at <= to_seconds(now), allocations.c.ends_at >= FOR_GOOD)),
        leases.c.status.in_((LeaseStatus.TERMINATED, LeaseStatus.DELETING)),
    )
    query = (
        select(
            *(leases.c.id, leases.c.project_id, leases.c.status, leases.c.end_at, leases.c.parent_id),
            *(allocations.c.resource_number, allocations.c.ends_at),
        )
        .join(allocations, allocations.c.lease_id == leases.c.id)
        .where(over, allocations.c.released_at.is_(None), allocations.c.ends_at > allocations.c.starts_at)
        .order_by(leases.c.end_at, leases.c.id)
    )
    rows = connection.execute(query).all()
    resources = resources_by_number(connection, {row.resource_number for row in rows})
    return {
        lease_id: Kept(
            first.project_id, first.status, _since((first, *rest), now), _by_label(resources, (first, *rest))
        )
        for lease_id, (first, *rest) in groupby(rows, attrgetter("id"))
    }


def _since(rows: Collection[Any], now: datetime) -> datetime:
    """Return since when a lease has been over that should have released these rows of lease and allocation."""
    ends: list[datetime] = [
        max(row.end_at, from_seconds(counted_end(row.ends_at, row.end_at, lent=row.parent_id is not None)))
        for row in rows
    ]
    return min(now, *ends)


def _by_label(resources: Mapping[int, Resource], rows: Iterable[Any]) -> tuple[Resource, ...]:
    found = {resources[row.resource_number].label: resources[row.resource_number] for row in rows}
    return tuple(found[label] for label in sorted(found))


_AHEAD = (LeaseStatus.PENDING, LeaseStatus.ACTIVE)
_AT_REST = (*_AHEAD, LeaseStatus.TERMINATED, LeaseStatus.TIMEDOUT)
"""Leases of other statuses are few."""
_EACH_HAS = (EventType.START, EventType.END)
_ROWS = union_all(
    select(leases.c.id, leases.c.status.label("what")),
    select(events.c.lease_id, events.c.type).where(events.c.type.in_(_EACH_HAS)),
).subquery()
_INCOMPLETE = select(_ROWS.c.id).group_by(_ROWS.c.id).having(func.count(_ROWS.c.what.distinct()) <= len(_EACH_HAS))


def suspects(connection: Connection, now: datetime, late: datetime) -> Iterator[Lease]:
    """Yield the leases whose rows may disagree, oldest first; work that was due before `late` is late.

    The database leaves out only what is plainly right: a lease at rest all of whose rows agree, and whose task is due
    before its next event.
    """
    found = union(*_suspected(now, late), _INCOMPLETE).subquery()
    query = select(leases.c.id).join(found, found.c.id == leases.c.id).where(leases.c.deleted_at.is_(None))
    return leases_of(connection, query.order_by(leases.c.created_at, leases.c.id))


def _suspected(now: datetime, late: datetime) -> Iterator[Select[Any]]:
    """Yield a query for each table: an outer join, so that MariaDB reads the table in its order, not by lease."""
    ahead, due = leases.c.status.in_(_AHEAD), tasks.c.due_at
    task = and_(tasks.c.kind == LEASE, tasks.c.subject == leases.c.id)
    timely = or_(due >= late, and_(due.is_(None), ~ahead))
    yield _unless(leases.outerjoin(tasks, task), leases.c.status.in_(_AT_REST), ~leases.c.degraded, timely)
    lost = or_(reservations.c.missing_resources, reservations.c.resources_changed)
    # The next moment of an active lease with a no-show depends on more than events.
    simple = or_(leases.c.status != LeaseStatus.ACTIVE, reservations.c.no_show.is_(None))
    yield _unless(reservations.outerjoin(leases), _agrees("parts", reservations), ~lost, simple)
    starts = and_(_agrees("start", events), events.c.time <= leases.c.start_at)
    ends = and_(_agrees("end", events), events.c.time == leases.c.end_at)
    right = case((events.c.type == EventType.START, starts), (events.c.type == EventType.END, ends), else_=true())
    still = and_(ahead, events.c.status.is_distinct_from(EventStatus.DONE), due > now, due > events.c.time)
    yield _unless(events.outerjoin(leases).outerjoin(tasks, and_(task, still)), right, tasks.c.id.is_(None))


def _unless(rows: Join, *right: ColumnElement[bool]) -> Select[Any]:
    """Return the query for the leases of rows that are not right; deleted ones are left out."""
    wrong = ~func.coalesce(and_(*right), false())
    return select(leases.c.id).select_from(rows).where(leases.c.deleted_at.is_(None), wrong)


def _agrees(what: str, table: FromClause) -> ColumnElement[bool]:
    """Return the condition that the status in this table agrees with that of a lease at rest."""
    return or_(*(and_(leases.c.status == each, table.c.status.in_(getattr(AGREEING[each], what))) for each in _AT_REST))


def without_lease(connection: Connection, kind: str) -> list[str]:
    """Return the subjects of a kind of task about leases that are no lease's id, deleted leases included."""
    query = select(tasks.c.subject).where(
        tasks.c.kind == kind, ~select(leases.c.id).where(leases.c.id == tasks.c.subject).exists()
    )
    return sorted(set(connection.execute(query).scalars()))


def lost_leases(connection: Connection) -> dict[str, tuple[str, str]]:
    """Return the leases that are not there, not even as deleted ones, and that an event or an idempotency key names.

    Each comes with its project and what names it. A purge removes all of a lease together.
    """
    found: dict[str, tuple[str, str]] = {}
    for table, trace in ((idempotency_keys, "an idempotency key"), (outbox, "an event")):
        absent = ~select(leases.c.id).where(leases.c.id == table.c.lease_id).exists()
        query = select(table.c.lease_id, table.c.project_id).where(table.c.lease_id != "", absent).distinct()
        found |= {lease_id: (project_id, trace) for lease_id, project_id in connection.execute(query)}
    return found


def known_leases(connection: Connection, ids: Iterable[str]) -> set[str]:
    """Return those of these leases that are there, also as deleted ones."""
    return set(connection.execute(select(leases.c.id).where(AmongIds(leases.c.id)), {IDS: list(ids)}).scalars())


def standing_lease_ids(connection: Connection) -> list[str]:
    """Return the pending and active leases, for which the cloud is kept ready, oldest first."""
    standing = (LeaseStatus.PENDING, LeaseStatus.ACTIVE)
    query = select(leases.c.id).where(leases.c.deleted_at.is_(None), leases.c.status.in_(standing))
    return list(connection.execute(query.order_by(leases.c.created_at, leases.c.id)).scalars())


_UNFINISHED = (
    tasks.c.kind == LEASE,
    tasks.c.due_at.is_not(None),
    or_(reservations.c.status != ReservationStatus.DELETED, leases.c.deleted_at.is_not(None)),
)
_ENDING = reservations.join(leases).join(tasks, tasks.c.subject == leases.c.id)


def types_in_use(connection: Connection) -> list[str]:
    """Return the resource types of the reservations that still have work to do, including their removal."""
    query = select(reservations.c.resource_type).select_from(_ENDING).where(*_UNFINISHED).distinct()
    return sorted(connection.execute(query).scalars())


def leases_using(connection: Connection, resource_type: str) -> list[str]:
    """Return the leases with reservations of a type that still have work to do."""
    query = select(leases.c.id).select_from(_ENDING).where(*_UNFINISHED, reservations.c.resource_type == resource_type)
    return sorted(set(connection.execute(query).scalars()))
