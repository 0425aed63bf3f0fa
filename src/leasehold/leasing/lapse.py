"""End offers that nobody has accepted: what they hold is free for others (decision 0073).

The task of an offer does it when its time is over. Where that is late, a decision that would refuse does it first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from leasehold.db.leases.held_offer import lapsed_offers
from leasehold.db.leases.lease import find_lease
from leasehold.db.task import still_ours
from leasehold.leasing.deciding.allocations import pools_of
from leasehold.leasing.deciding.decision import Decision
from leasehold.leasing.end_notices import note_end
from leasehold.leasing.unit import run
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
from leasehold.model.transitions import Trigger, gone

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.db.task import Claim
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.model.lease import Lease

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
class _Lapse:
    """The use case that ends one open offer, which was `seen`; None if it does not, or if the claim is lost.

    With a `claim` it finishes the offer's task, and without one it makes that due. `given_up` ends it before its time
    is over.
    """

    seen: Lease
    claim: Claim | None
    given_up: bool

    def __call__(self, unit: Unit) -> Decision | None:
        locks = unit.lock(pools_of(self.seen, unit.service.types))
        lease = find_lease(unit.connection, self.seen.id, lock=True, gone=True)
        if self.claim is not None and not still_ours(unit.connection, self.claim):
            return None
        is_open = lease is not None and lease.deleted_at is None and lease.status is LeaseStatus.OFFERED
        if lease is not None and is_open and (self.given_up or lapsed(lease, locks.now)):
            return Decision(
                locks=locks,
                lease=gone(lease, Trigger.LAPSED, locks.now),
                before=lease,
                ends=lease.unreleased,
                released=True,
                writes=[lambda locks: note_end(unit.service, locks.connection, lease, locks.now)],
                claim=self.claim,
                due=locks.now if self.claim is None else None,
                frees=True,
            )
        if self.claim is None:
            return None
        # One that was accepted meanwhile has its next step now.
        return Decision(locks=locks, lease=self.seen, before=self.seen, claim=self.claim, due=locks.now)


def lapse(service: Service, seen: Lease, claim: Claim | None = None, *, given_up: bool = False) -> bool:
    """Release what an offer holds whose time is over, or that is `given_up`, and say whether that was done.

    With the `claim` of its task, False means that the claim is lost.
    """
    return run(service, _Lapse(seen, claim, given_up)) is not None


def release_late(service: Service) -> bool:
    """Release what offers hold whose tasks are late, and say whether there was one."""
    with service.db.reading() as connection:
        found = (find_lease(connection, each, offered=True) for each in lapsed_offers(connection, service.now()))
        late = [each for each in found if each is not None]
    for each in late:
        lapse(service, each)
    return bool(late)


def unless_late(service: Service, decide: Callable[[], Result]) -> Result:
    """Decide, and once more if that is refused and offers are over that still hold something (decision 0073)."""
    try:
        return decide()
    except REASONS:
        if not release_late(service):
            raise
    return decide()
