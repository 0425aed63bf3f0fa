"""Recover from a lost claim: the last cloud call of a worker whose claim expired may have taken effect late.

Other workers have done the step since, or its opposite. No later call was made (`cloud/fenced.py`), but that call may
have left an aggregate of a deleted lease, or moved a host to the wrong aggregate. So the tasks of everything that it
can have touched are made due again, to converge it. This waits until none of these tasks is claimed: a worker that
began before the late call may have seen the old state of the cloud.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.audit import IDLE, work_of
from leasehold.db.lease import find_lease
from leasehold.db.resource import last_resource, resources_by_number
from leasehold.db.task import LEASE, add_task_once
from leasehold.leasing.audit.repair import remove_leftovers
from leasehold.leasing.host import HOST_TASK, holders
from leasehold.leasing.lifecycle import phase_of
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.task import Claim
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

LATE_LEASE, LATE_HOST = "late-lease", "late-host"
LATE = {LEASE: LATE_LEASE, HOST_TASK: LATE_HOST}
"""The kind of the task that follows a lost claim, by the kind of the claimed task; the subject is the same."""


def expect_late_call(service: Service, claim: Claim) -> None:
    """Add a task, which any manager may run, because the last call of this claim may take effect late."""
    kind = LATE.get(claim.kind)
    if kind is None:
        return
    service.db.transact(lambda connection: add_task_once(connection, kind, claim.subject, service.now()))
    service.wake()


def follow_late_call(service: Service, kind: str, subject: str) -> bool:
    """Make due the tasks of everything that a late call can have touched; return False while one of them is claimed."""

    def work(connection: Connection) -> list[str] | None:
        now = service.now()
        lease = find_lease(connection, subject, lock=True, gone=True) if kind == LATE_LEASE else None
        hosts = {subject} if kind == LATE_HOST else _hosts_of(connection, lease)
        touched = {(HOST_TASK, host) for host in hosts} | _tenants(connection, hosts, now)
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


def _hosts_of(connection: Connection, lease: Lease | None) -> set[str]:
    """Return the ids of all hosts that were ever allocated to the lease's host reservations."""
    parts = [part for part in lease.reservations if part.resource_type == HOST] if lease is not None else []
    numbers = {held.resource_number for part in parts for held in part.allocations}
    return {host.id for host in resources_by_number(connection, numbers).values()} if numbers else set()


def _tenants(connection: Connection, hosts: Collection[str], now: datetime) -> set[tuple[str, str]]:
    """Return the tasks of the leases that have these hosts now."""
    known = [last_resource(connection, HOST, host) for host in sorted(hosts)]
    return {(LEASE, lease_id) for host in known if host is not None for lease_id in holders(connection, host, now)}


def _claimed(connection: Connection, kind: str, subject: str, now: datetime) -> bool:
    return (work_of(connection, kind, subject) or IDLE).claimed(now)
