"""Counts of the database's rows for the metrics: a few aggregate queries, none of which reads history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import case, false, func, or_, select

from leasehold.db.tables import allocations, leases, resources, tasks
from leasehold.metrics.state_gauges import ResourceGauges, StateGauges
from leasehold.model.membership import Membership
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

NOT_HOLDING = (
    *(LeaseStatus.CREATING, LeaseStatus.PENDING, LeaseStatus.TERMINATED),
    *(LeaseStatus.IN_PROGRESS, LeaseStatus.TIMEDOUT, LeaseStatus.OFFERED),
)


def read_state_gauges(connection: Connection, now: datetime) -> StateGauges:
    """Count leases, tasks and resources as they are now."""
    free = or_(tasks.c.claim_until.is_(None), tasks.c.claim_until < now)
    due = tasks.c.due_at <= now
    work = connection.execute(
        select(
            func.count(case((due & free, 1))).label("due"),
            func.count(case((~free, 1))).label("claimed"),
            func.count(case((free & (tasks.c.attempts > 0), 1))).label("retrying"),
        ).where(tasks.c.due_at.is_not(None))
    ).one()
    oldest: datetime | None = connection.execute(select(func.min(tasks.c.due_at)).where(due, free)).scalar_one()
    by_status = select(leases.c.status, func.count()).where(leases.c.deleted_at.is_(None)).group_by(leases.c.status)
    counted: dict[str, int] = dict(connection.execute(by_status).all())
    degraded = select(func.count()).select_from(leases).where(leases.c.deleted_at.is_(None), leases.c.degraded)
    return StateGauges(
        due=work.due,
        claimed=work.claimed,
        retrying=work.retrying,
        oldest_due_seconds=0.0 if oldest is None else (now - oldest).total_seconds(),
        leases={status: counted.get(status, 0) for status in LeaseStatus},
        degraded=connection.execute(degraded).scalar_one(),
        resources=_resources(connection, now),
    )


def _resources(connection: Connection, now: datetime) -> dict[str, ResourceGauges]:
    works, disabled = resources.c.reservable, func.coalesce(resources.c.disabled, false())
    pooled = func.coalesce(resources.c.membership, Membership.RESERVATION) == Membership.RESERVATION
    counted = select(
        resources.c.type,
        func.count(case((pooled & works & ~disabled, 1))).label("healthy"),
        func.count(case((pooled & works & disabled, 1))).label("disabled"),
        func.count(case((pooled & ~works, 1))).label("failed"),
        func.count(case((~pooled, 1))).label("shared"),
    )
    rows = connection.execute(counted.where(resources.c.alive == 1).group_by(resources.c.type)).all()
    # Start from the leases, few of which hold resources now, instead of reading all past and future allocations.
    holding = (
        select(resources.c.type, func.count(allocations.c.resource_number.distinct()))
        .select_from(leases)
        .join(allocations, allocations.c.lease_id == leases.c.id)
        .join(resources, resources.c.number == allocations.c.resource_number)
        .where(
            leases.c.deleted_at.is_(None),
            leases.c.status.not_in(NOT_HOLDING),
            allocations.c.released_at.is_(None),
            allocations.c.starts_at <= to_seconds(now),
            resources.c.alive == 1,
        )
        .group_by(resources.c.type)
    )
    held: dict[str, int] = dict(connection.execute(holding).all())
    return {
        row.type: ResourceGauges(row.healthy, row.failed, held.get(row.type, 0), row.disabled, row.shared)
        for row in rows
    }
