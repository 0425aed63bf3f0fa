"""Which leases healing has to look at because something of theirs is missing."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from sqlalchemy import and_, func, or_, select

from leasehold.db.dialects import rows_among
from leasehold.db.tables import allocations, events, leases, reservations, resources, tasks
from leasehold.db.task import LEASE
from leasehold.model.segment import GIVEN_UP
from leasehold.model.states import EventType
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

LATELY: Final = timedelta(days=7)
"""How long after its end a lease is looked for that no check has seen since it began; there is a check each minute."""


def lacking_leases(connection: Connection, now: datetime, until: datetime | None) -> dict[str, int]:
    """Return the leases with `missing_resources` that last beyond now and begin before `until`, soonest first.

    Each with the moment at which the work of its start begins, in seconds since the epoch; `until` None means at any
    time.
    """
    begins = func.coalesce(events.c.time, leases.c.start_at)
    query = (
        select(leases.c.id, begins.label("begins"))
        .outerjoin(events, and_(events.c.lease_id == leases.c.id, events.c.type == EventType.START))
        .join(reservations, reservations.c.lease_id == leases.c.id)
        .where(*_lacking(now))
        .distinct()
    )
    if until is not None:
        query = query.where(begins < until)
    rows = connection.execute(query.order_by(begins, leases.c.id))
    return {row.id: to_seconds(row.begins) for row in rows}


def leases_that_lost(connection: Connection, now: datetime, returning: Collection[int]) -> set[str]:
    """Return the leases with `missing_resources` that lost a resource which works again.

    A resource works again if it is reservable, or is among `returning`. One that its owner gave up is not lost, and one
    that is disabled goes back to nobody.
    """
    query = (
        select(allocations.c.lease_id, allocations.c.resource_number, resources.c.reservable, resources.c.disabled)
        .join(leases, leases.c.id == allocations.c.lease_id)
        .join(reservations, reservations.c.id == allocations.c.reservation_id)
        .join(resources, resources.c.number == allocations.c.resource_number)
        .where(*_lacking(now), allocations.c.left_at.is_not(None), resources.c.alive == 1)
        .where(or_(allocations.c.start_cause.is_(None), allocations.c.start_cause.not_in(GIVEN_UP)))
        .distinct()
    )
    rows = connection.execute(query)
    back = (row for row in rows if not row.disabled)
    return {row.lease_id for row in back if row.reservable or row.resource_number in returning}


def stuck_resources(connection: Connection, since: datetime, soon: datetime) -> set[int]:
    """Return the whole resources that should have been released before `since`, and are not.

    The end of their leases is tried again before `soon`: an index finds those tasks among all.
    """
    query = (
        select(allocations.c.resource_number)
        .join(tasks, tasks.c.subject == allocations.c.lease_id)
        .where(tasks.c.kind == LEASE, tasks.c.due_at <= soon)
        .where(allocations.c.released_at.is_(None), allocations.c.left_at.is_(None), allocations.c.demand.is_(None))
        .where(allocations.c.ends_at <= to_seconds(since), allocations.c.ends_at > allocations.c.starts_at)
        .distinct()
    )
    return set(connection.execute(query).scalars())


def leases_at_risk(connection: Connection, now: datetime) -> set[str]:
    """Return the leases with `at_risk` that last beyond now, or ended lately while nobody looked."""
    since = leases.c.end_at > now - LATELY
    query = select(leases.c.id).where(leases.c.deleted_at.is_(None), since, leases.c.at_risk.is_(True))
    return set(connection.execute(query).scalars())


def _lacking(now: datetime) -> Iterable[ColumnElement[bool]]:
    """Return the conditions of a lease with a reservation that misses something; the first ones use an index."""
    return (
        leases.c.deleted_at.is_(None),
        leases.c.end_at > now,
        leases.c.degraded.is_(True),
        reservations.c.missing_resources.is_(True),
    )


def types_of(connection: Connection, lease_ids: Collection[str]) -> dict[str, set[str]]:
    """Return the resource types of the reservations of these leases."""
    found: dict[str, set[str]] = defaultdict(set)
    query = select(reservations.c.lease_id, reservations.c.resource_type).distinct()
    for row in rows_among(connection, query, reservations.c.lease_id, lease_ids):
        found[row.lease_id].add(row.resource_type)
    return found
