"""Queries about leftover servers: those that are on a host after its lease has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, or_, select

from leasehold.db.tables import allocations, events, leases, reservations
from leasehold.model.states import EventType, LeaseStatus, ReservationStatus
from leasehold.model.windows import from_seconds

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

_LEASE_OVER = or_(leases.c.deleted_at.is_not(None), leases.c.status == LeaseStatus.TERMINATED)


def past_holds(connection: Connection, number: int, project_id: str) -> list[tuple[datetime, datetime]]:
    """Return start and release of each allocation of a whole host to a reservation of a project that is over."""
    query = (
        select(allocations.c.starts_at, allocations.c.released_at)
        .join(reservations, reservations.c.id == allocations.c.reservation_id)
        .join(leases, leases.c.id == reservations.c.lease_id)
        .where(
            allocations.c.resource_number == number,
            allocations.c.demand.is_(None),
            allocations.c.released_at.is_not(None),
            leases.c.project_id == project_id,
            or_(_LEASE_OVER, reservations.c.status == ReservationStatus.DELETED),
        )
    )
    return [(from_seconds(row.starts_at), row.released_at) for row in connection.execute(query)]


def project_has_lease(connection: Connection, project_id: str, moment: datetime) -> bool:
    """Say whether a project has a lease, neither deleted nor ended, whose window or lead includes a moment."""
    started = and_(events.c.lease_id == leases.c.id, events.c.type == EventType.START)
    query = (
        select(leases.c.id)
        .outerjoin(events, started)
        .where(
            leases.c.project_id == project_id,
            leases.c.deleted_at.is_(None),
            leases.c.status != LeaseStatus.TERMINATED,
            or_(leases.c.start_at <= moment, events.c.time <= moment),
            leases.c.end_at >= moment,
        )
    )
    return connection.execute(query.limit(1)).first() is not None
