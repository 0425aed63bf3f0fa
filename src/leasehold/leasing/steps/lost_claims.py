"""Recover from a lost claim: the last cloud call of a worker whose claim expired may have taken effect late.

Other workers have done the step since, or its opposite. No later call was made (`cloud/fenced.py`), but that call may
have left an aggregate of a deleted lease, or moved a host to the wrong aggregate. So the tasks of everything that it
can have touched are made due again, to converge it. This waits until none of these tasks is claimed: a worker that
began before the late call may have seen the old state of the cloud.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_lease
from leasehold.db.resources.resource import last_resource, resources_by_number
from leasehold.db.task import LEASE, add_task_once
from leasehold.db.work import IDLE, work_of
from leasehold.leasing.resources.resource import holders
from leasehold.leasing.steps.leftovers import remove_leftovers
from leasehold.leasing.steps.lifecycle import phase_of
from leasehold.resource_types.capabilities import Placed

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.task import Claim
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

LATE = "late-"
"""What begins the kind of the task that follows a lost claim; the rest is the kind of the claimed task.

The subject is the same."""


def expect_late_call(service: Service, claim: Claim) -> None:
    """Add a task, which any manager may run, because the last call of this claim may take effect late."""
    if claim.kind.startswith(LATE) or (claim.kind != LEASE and service.types.of_task(claim.kind) is None):
        return
    kind = f"{LATE}{claim.kind}"
    service.db.transact(lambda connection: add_task_once(connection, kind, claim.subject, service.now()))
    service.wake()


def follow_late_call(service: Service, kind: str, subject: str) -> bool:
    """Make due the tasks of everything that a late call can have touched; return False while one of them is claimed."""

    def work(connection: Connection) -> list[str] | None:
        now = service.now()
        of_lease = kind == f"{LATE}{LEASE}"
        lease = find_lease(connection, subject, lock=True, gone=True) if of_lease else None
        resources = _resources_of(service, connection, lease) if of_lease else {(kind.removeprefix(LATE), subject)}
        touched = resources | _tenants(service, connection, resources, now)
        if lease is not None and phase_of(lease, now) is not None:
            touched.add((LEASE, lease.id))
        own = set() if lease is None else {(LEASE, lease.id)}
        if any(_claimed(connection, *each, now) for each in touched | own):
            return None
        for each in sorted(touched):
            add_task_once(connection, *each, now)
        idle = lease is not None and (LEASE, lease.id) not in touched
        return [part.id for part in lease.reservations] if lease is not None and idle else []

    over = service.db.transact(work)
    for reservation_id in over or ():
        remove_leftovers(service, reservation_id)
    service.wake()
    return over is not None


def _resources_of(service: Service, connection: Connection, lease: Lease | None) -> set[tuple[str, str]]:
    """Return the tasks of all resources that were ever allocated to the lease as a whole, where their type has any."""
    parts = lease.reservations if lease is not None else ()
    numbers = {held.resource_number for part in parts for held in part.allocations if held.demand is None}
    found: set[tuple[str, str]] = set()
    for resource in resources_by_number(connection, numbers).values():
        type_ = service.types.find(resource.type)
        if type_ is not None and isinstance(type_.driver, Placed):
            found.add((type_.driver.task, resource.id))
    return found


def _tenants(
    service: Service, connection: Connection, resources: Collection[tuple[str, str]], now: datetime
) -> set[tuple[str, str]]:
    """Return the tasks of the leases that have these resources, given by their tasks, now."""
    found: set[tuple[str, str]] = set()
    for task, ident in sorted(resources):
        typed = service.types.of_task(task)
        resource = None if typed is None else last_resource(connection, typed[0].name, ident)
        if resource is not None:
            found |= {(LEASE, lease_id) for lease_id in holders(connection, resource, now)}
    return found


def _claimed(connection: Connection, kind: str, subject: str, now: datetime) -> bool:
    return (work_of(connection, kind, subject) or IDLE).claimed(now)
