"""End offers that nobody has accepted: what they hold is free for others (decision 0073).

The task of an offer does it when its time is over. Where that is late, a decision that would refuse does it first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from leasehold.db.leases.held_offer import lapsed_offers
from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.db.pool import lock_pools
from leasehold.db.task import LEASE, finish_task, hurry_task, still_ours
from leasehold.leasing.deciding.allocations import pools_of
from leasehold.leasing.delete import end_promises
from leasehold.leasing.end_notices import note_end
from leasehold.leasing.unit import bump_and_hurry
from leasehold.model.errors import (
    AmendmentDeniedError,
    InUseError,
    LimitExceededError,
    NoReplacementError,
    NotEnoughError,
    NotFreeInOfferError,
)
from leasehold.model.held_offer import lapsed
from leasehold.model.states import LeaseStatus
from leasehold.model.transitions import Trigger, move

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.task import Claim
    from leasehold.leasing.deciding.calendars import Evaluated
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.properties import Expression

Result = TypeVar("Result")

REASONS = (
    NotEnoughError,
    NoReplacementError,
    InUseError,
    LimitExceededError,
    AmendmentDeniedError,
    NotFreeInOfferError,
)
"""The refusals of a decision that something may be the reason for which an offer holds."""


@dataclass(frozen=True, slots=True)
class Lapse:
    """The transaction that ends one open offer, which was `seen`; it returns whether it did.

    With a `claim` it finishes the offer's task, and without one it makes that due; False also means that the claim is
    lost. `given_up` ends it before its time is over.
    """

    service: Service
    seen: Lease
    claim: Claim | None = None
    given_up: bool = False

    def __call__(self, connection: Connection) -> bool:
        locked = lock_pools(connection, pools_of(self.seen, self.service.types))
        lease = find_lease(connection, self.seen.id, lock=True, gone=True)
        if self.claim is not None and not still_ours(connection, self.claim):
            return False
        now = self.service.now()
        ends = _is_open(lease) and lease is not None and (self.given_up or lapsed(lease, now))
        if lease is not None and ends:
            end_promises(connection, lease, locked, now, released=True)
            gone = replace(move(lease, Trigger.LAPSED), status_reason=None, deleted_at=now)
            save_lease(connection, lease, gone, now)
        self._set_task(connection, now, ends=ends)
        if lease is not None and ends:
            note_end(self.service, connection, lease, now)
            bump_and_hurry(connection, locked, now)
        return ends or self.claim is not None

    def _set_task(self, connection: Connection, now: datetime, *, ends: bool) -> None:
        if self.claim is not None:
            # One that was accepted meanwhile has its next step now.
            finish_task(connection, self.claim, None if ends else now)
        elif ends:
            hurry_task(connection, LEASE, self.seen.id, now)


def lapse_offer(service: Service, claim: Claim, seen: Lease) -> bool:
    """Release what an offer holds whose time is over, and whose task is claimed; False if the claim is lost."""
    return service.db.transact(Lapse(service, seen, claim))


def decide_anew(
    service: Service,
    work: Callable[[Evaluated, Connection], Result],
    conditions: Sequence[tuple[str, Expression]] = (),
) -> Result:
    """Return the result of `Service.decide`, run once more if it is refused and offers are over that still hold.

    So what an offer has held is free for everybody from the moment on in which it lapses. Raises what the work raises.
    """
    try:
        return service.decide(work, conditions)
    except REASONS:
        if not release_late(service):
            raise
    return service.decide(work, conditions)


def release_late(service: Service) -> bool:
    """Release what offers hold whose time is over, wherever their tasks are late, and say whether there was one."""
    with service.db.reading() as connection:
        ids = lapsed_offers(connection, service.now())
        late = [find_lease(connection, each, offered=True) for each in ids]
    ended = [service.db.transact(Lapse(service, each)) for each in late if each is not None]
    return any(ended)


def _is_open(lease: Lease | None) -> bool:
    return lease is not None and lease.deleted_at is None and lease.status is LeaseStatus.OFFERED
