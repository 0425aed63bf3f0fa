"""Delete a lease: allowed from every state, at any time (features A12, E1)."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from leasehold.db.leases.lease import find_lease
from leasehold.leasing.batch import Joining
from leasehold.leasing.carry_out import carry_out
from leasehold.leasing.deciding.allocations import pools_of
from leasehold.leasing.deciding.decision import Decision
from leasehold.leasing.deciding.source import POOLS, Release
from leasehold.leasing.end_notices import note_end
from leasehold.leasing.notice import with_notice
from leasehold.leasing.reading.queries import get_lease
from leasehold.leasing.sub_lease import sub_leases_with
from leasehold.leasing.unit import Joins, NoTraceError, Order
from leasehold.leasing.waiting.holds import held_pools, is_held, let_go
from leasehold.model.errors import StaleError
from leasehold.model.event_log import LeaseNews
from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.transitions import Trigger, gone, move

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from leasehold.leasing.deciding.decision import Write
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.model.lease import Lease

    Check = Callable[[Connection, Lease], None]
    Decide = Callable[[Service, Lease, Locks], Decision]

log = logging.getLogger(__name__)

LOOK_AGAIN_SECONDS = 0.05
UNTOUCHED = frozenset({LeaseStatus.PENDING, LeaseStatus.TERMINATED, LeaseStatus.IN_PROGRESS, LeaseStatus.TIMEDOUT})
"""Statuses in which no resource of the lease is in use: it is deleted at once, and the cloud is cleaned afterwards."""


def delete_lease(service: Service, lease_id: str, if_generation: int | None = None, check: Check | None = None) -> None:
    """Commit the deletion of a lease and its sub-leases; resources are released when their cloud objects are removed.

    Deleting a lease in DELETING changes nothing. Raises NotFoundError, StaleError for another generation, and what
    `check` raises about the lease that is locked.
    """
    delete_seen(service, get_lease(service, lease_id), if_generation, check)


def take_back(service: Service, lease_id: str, check: Check | None = None) -> None:
    """Do as `delete_lease` for who lends what the lease has: first its holder gets the notice that was promised."""
    delete_seen(service, get_lease(service, lease_id), check=check, decide=taking_back)


def delete_seen(
    service: Service,
    seen: Lease,
    if_generation: int | None = None,
    check: Check | None = None,
    decide: Decide | None = None,
) -> bool:
    """Do as `delete_lease`, about a lease that was read; return whether it is gone already, as far as that is known."""
    if seen.status is LeaseStatus.DELETING:
        return False
    pools = frozenset(pools_of(seen, service.types) | held_pools(seen))
    joins = Joins(seen.project_id, pools, seen) if service.source_of(seen) is POOLS and not seen.has_lent else None
    after = carry_out(service, Order(joins=joins), _Deletion(seen, pools, if_generation, check, decide or deletion))
    return after.deleted_at is not None


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
class _Deletion(Joining):
    """The use case; it changes nothing about a lease that is deleted by now."""

    seen: Lease
    pools: frozenset[str]
    if_generation: int | None
    check: Check | None
    decide: Decide

    def __call__(self, unit: Unit) -> Decision:
        return self.decided(unit, unit.lock_and_move(self.pools), None)

    def wanted(self, unit: Unit) -> None:
        """Ask for nothing that is limited."""

    def decided(self, unit: Unit, locks: Locks, wanted: None) -> Decision:  # noqa: ARG002 - nothing is asked for
        """Return that the lease goes; raises NoTraceError if it is gone."""
        service, connection = unit.service, unit.connection
        lease = unit.as_seen(self.seen) or find_lease(connection, self.seen.id, lock=True)
        if lease is None or lease.status is LeaseStatus.DELETING:
            raise NoTraceError(self.seen)
        if self.if_generation not in (None, lease.generation):
            raise StaleError
        if self.check is not None:
            self.check(connection, lease)
        return self.decide(service, lease, locks)


def deletion(service: Service, lease: Lease, locks: Locks) -> Decision:
    """Return that a lease goes that is locked, after its pools, and not in DELETING, with its sub-leases.

    Its source says who has next what it releases. Nobody gets back what a sub-lease has: its lender goes. One whose
    holder was promised a notice goes when that is over.
    """
    heir = service.source_of(lease).lock_heir(locks.connection, lease)
    lent = sub_leases_with(locks.connection, lease, lock=True)
    alone = Release(locks, None)
    also = [with_notice(service, each, locks, lender_goes=True) or _one(service, each, alone) for each in lent]
    return replace(_one(service, lease, Release(locks, heir)), also=also, frees=True)


def taking_back(service: Service, lease: Lease, locks: Locks) -> Decision:
    """Return as `deletion` that a lease goes, whose holder gets the notice first that was promised, if any was."""
    return with_notice(service, lease, locks) or deletion(service, lease, locks)


def _one(service: Service, lease: Lease, to: Release) -> Decision:
    """Return that one lease goes; what is in use is kept for an heir until it is clean."""
    locks, source = to.locks, service.source_of(lease)
    untouched, deleting = lease.status in UNTOUCHED, lease.status is LeaseStatus.DELETING
    lasting = None if untouched else source.outlasting(to, lease)
    ends = lease.unreleased if lasting is None else ()
    writes: list[Write] = []
    if is_held(lease):
        writes.append(partial(let_go, service, lease, ()))
    if untouched:
        held = [held for part in lease.reservations for held in part.allocations]
        writes.append(lambda _: source.give_back(to, lease, held))
    # The external service has never heard of a lease that waits.
    if not (lease.reached(EventType.END) or lease.waits or deleting):
        writes.append(lambda locks: note_end(service, locks.connection, lease, locks.now))
    after, news = lease, []
    if untouched:
        after, news = gone(lease, Trigger.GONE, locks.now), ["lease.delete"]
    elif not deleting:
        after, news = replace(move(lasting or lease, Trigger.DELETED), status_reason=None), [LeaseNews.DELETING]
    return Decision(
        locks=locks, lease=after, before=lease, ends=ends, released=untouched, writes=writes, news=news, due=locks.now
    )
