"""Writes a plan into our database in one transaction; the database must be empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select

from leasehold.db.allocation import write_demand
from leasehold.db.leases.lease import insert_lease
from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.resources.resource import insert_resource, put_properties
from leasehold.db.segment import close_released
from leasehold.db.tables import allocations, leases, property_definitions, resources, tasks
from leasehold.db.task import LEASE
from leasehold.db.untold import note
from leasehold.model.resource import FLOATING_IP_POOL, HOST_POOL
from leasehold.model.segment import Cause
from leasehold.model.states import LeaseStatus
from leasehold.takeover.findings import TakeoverError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.store import Database
    from leasehold.takeover.plan import ImportPlan

POOLS = frozenset({HOST_POOL, FLOATING_IP_POOL})


def write_plan(db: Database, plan: ImportPlan, now: datetime) -> bool:
    """Write everything or nothing; return False when the database has all of it already.

    Raises TakeoverError, and writes nothing, when the database has anything else.
    """

    def work(connection: Connection) -> bool:
        generations = lock_pools(connection, POOLS)
        if done_before(connection, plan):
            return False
        numbers = _write_resources(connection, plan, generations, now)
        for lease in plan.leases:
            insert_lease(connection, lease)
            note(connection, lease)
        _write_allocations(connection, plan, numbers, generations, now)
        _write_tasks(connection, plan, now)
        bump_pools(connection, generations)
        return True

    return db.transact(work)


def done_before(connection: Connection, plan: ImportPlan) -> bool:
    """Say whether the database has all of this already; raises TakeoverError when it has anything else."""
    held = {(row.type, row.id) for row in connection.execute(select(resources.c.type, resources.c.id))}
    known = set(connection.execute(select(leases.c.id)).scalars())
    if not held and not known:
        return False
    if held >= {each.key for each in plan.resources} and known >= {lease.id for lease in plan.leases}:
        return True
    total = connection.execute(select(func.count()).select_from(leases)).scalar_one()
    raise TakeoverError(
        f"The database already has {len(held)} hosts and floating IPs and {total} leases, which are not all from that "
        "database, so nothing was changed. Import into a new database: make one with leasehold-manage db upgrade."
    )


def _write_resources(
    connection: Connection, plan: ImportPlan, generations: Mapping[str, int], now: datetime
) -> dict[tuple[str, str], int]:
    rows = [
        {
            "id": row.id,
            "resource_type": row.resource_type,
            "name": row.property_name,
            "private": row.private,
            "created_at": row.created_at or now,
            "updated_at": row.updated_at,
        }
        for row in plan.definitions
    ]
    if rows:
        connection.execute(insert(property_definitions), rows)
    numbers = {}
    for each in plan.resources:
        generation = generations[each.values["pool"]] + 1
        numbers[each.key] = insert_resource(connection, {**each.values, "generation": generation})
        put_properties(connection, numbers[each.key], each.properties)
    return numbers


def _write_allocations(
    connection: Connection,
    plan: ImportPlan,
    numbers: Mapping[tuple[str, str], int],
    generations: Mapping[str, int],
    now: datetime,
) -> None:
    pools = {each.key: each.values["pool"] for each in plan.resources}
    rows = []
    for each in plan.allocations:
        pool = pools[each.resource]
        starts_at, ends_at = each.window.seconds
        rows.append(
            {
                "pool": pool,
                "reservation_id": each.part.id,
                "lease_id": each.lease.id,
                "resource_number": numbers[each.resource],
                "starts_at": starts_at,
                "ends_at": ends_at,
                "slots": each.slots,
                "demand": write_demand(each.demand),
                "released_at": each.released_at,
                "generation": generations[pool] + 1,
                "start_cause": Cause.IMPORTED,
            }
        )
    if rows:
        connection.execute(insert(allocations), rows)
    close_released(connection, now)


def _write_tasks(connection: Connection, plan: ImportPlan, now: datetime) -> None:
    """Write a task for each lease, due now unless the lease is over; the manager then sets its next due time."""
    rows = [
        {
            "kind": LEASE,
            "subject": lease.id,
            "due_at": None if lease.status is LeaseStatus.TERMINATED else now,
            "attempts": 0,
            "project_id": lease.project_id,
        }
        for lease in plan.leases
    ]
    if rows:
        connection.execute(insert(tasks), rows)
