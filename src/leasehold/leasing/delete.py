"""Delete a lease: allowed from every state, at any time (features A12, E1)."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from leasehold.db.allocation import end_allocations
from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.db.outbox import put_event
from leasehold.db.pool import lock_pools
from leasehold.db.task import LEASE, hurry_task
from leasehold.leasing.deciding.allocations import pools_of
from leasehold.leasing.deciding.source import Release
from leasehold.leasing.end_notices import note_end
from leasehold.leasing.sub_lease import sub_leases_with
from leasehold.leasing.unit import bump_and_hurry, look_at
from leasehold.leasing.waiting.holds import held_pools, is_held, let_go
from leasehold.model.errors import StaleError
from leasehold.model.event_log import LeaseNews
from leasehold.model.segment import Cause
from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.transitions import Trigger, move

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.pool import LockedPools
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

    Check = Callable[[Connection, Lease], None]

log = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 0.05
UNTOUCHED = frozenset({LeaseStatus.PENDING, LeaseStatus.TERMINATED, LeaseStatus.IN_PROGRESS, LeaseStatus.TIMEDOUT})
"""Statuses in which no resource of the lease is in use: it is deleted at once, and the cloud is cleaned afterwards."""


def delete_lease(service: Service, lease_id: str, if_generation: int | None = None, check: Check | None = None) -> None:
    """Commit the deletion of a lease and its sub-leases; resources are released when their cloud objects are removed.

    Deleting a lease in DELETING changes nothing. Raises NotFoundError, StaleError for another generation, and what
    `check` raises about the lease that is locked.
    """
    with service.db.reading() as connection:
        seen = look_at(connection, lease_id)
    if seen.status is LeaseStatus.DELETING:
        return
    service.db.transact(_Deletion(service, seen, if_generation, check))
    service.wake()


def wait_until_gone(service: Service, lease_id: str, seconds: float) -> bool:
    """Wait until the lease is gone, and return whether it is; v1 clients expect this (contract http-api §5.5).

    A database error returns False: the deletion is committed, so the request has not failed.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            with service.db.reading() as connection:
                if find_lease(connection, lease_id) is None:
                    return True
        except SQLAlchemyError as error:
            log.warning("The database does not say whether lease %s is gone: %s", lease_id, error)
            return False
        if time.monotonic() >= deadline:
            return False
        time.sleep(LOOK_AGAIN_SECONDS)


@dataclass(frozen=True, slots=True)
class _Deletion:
    """The transaction, which may have to run more than once."""

    service: Service
    seen: Lease
    if_generation: int | None
    check: Check | None

    def __call__(self, connection: Connection) -> None:
        generations = lock_pools(connection, pools_of(self.seen, self.service.types) | held_pools(self.seen))
        lease, now = find_lease(connection, self.seen.id, lock=True), self.service.now()
        if lease is None or lease.status is LeaseStatus.DELETING:
            return
        if self.if_generation not in (None, lease.generation):
            raise StaleError
        if self.check is not None:
            self.check(connection, lease)
        delete_locked(self.service, connection, lease, generations, now)
        bump_and_hurry(connection, generations, now)


def delete_locked(
    service: Service, connection: Connection, lease: Lease, generations: LockedPools, now: datetime
) -> None:
    """Delete a lease that is locked, after its pools, and not in DELETING, with its sub-leases.

    The caller moves the pools.
    """
    heir = service.source_of(lease).lock_heir(connection, lease)
    lent = sub_leases_with(connection, lease, lock=True)
    _delete(service, lease, Release(connection, generations, now, heir))
    for each in lent:
        # Nobody gets back what it has: its lender goes.
        _delete(service, each, Release(connection, generations, now, None))


def _delete(service: Service, lease: Lease, to: Release) -> None:
    """Delete one lease; what is in use is kept for an heir until it is clean."""
    connection, generations, now = to.connection, to.generations, to.now
    source = service.source_of(lease)
    untouched, deleting = lease.status in UNTOUCHED, lease.status is LeaseStatus.DELETING
    lasting = None if untouched else source.outlasting(to, lease)
    # The external service has never heard of a lease that waits.
    ends_now = not (lease.reached(EventType.END) or lease.waits or deleting)
    if lasting is None:
        end_promises(connection, lease, generations, now, released=untouched)
    if is_held(lease):
        let_go(service, connection, lease, generations, now)
    if untouched:
        source.give_back(to, lease, (held for part in lease.reservations for held in part.allocations))
        forget(connection, lease, now)
    elif not deleting:
        going = replace(move(lasting or lease, Trigger.DELETED), status_reason=None)
        put_event(connection, LeaseNews.DELETING, save_lease(connection, lease, going, now), now)
    hurry_task(connection, LEASE, lease.id, now)
    if ends_now:
        note_end(service, connection, lease, now)


def end_promises(
    connection: Connection,
    lease: Lease,
    generations: Mapping[str, int],
    now: datetime,
    *,
    released: bool,
) -> None:
    """End the lease's unreleased allocations; `released` also releases them, without waiting for the cloud."""
    for pool, generation in generations.items():
        ending = [
            held
            for part in lease.reservations
            for held in part.allocations
            if held.pool == pool and held.released_at is None
        ]
        if ending:
            end_allocations(connection, ending, generation + 1, now, Cause.DELETED, released=released)


def forget(connection: Connection, lease: Lease, now: datetime) -> None:
    """Mark the lease as deleted, so that queries no longer return it; its rows stay for history (feature L9)."""
    gone = replace(move(lease, Trigger.GONE), status_reason=None, deleted_at=now)
    gone = save_lease(connection, lease, gone, now)
    put_event(connection, "lease.delete", gone, now)
