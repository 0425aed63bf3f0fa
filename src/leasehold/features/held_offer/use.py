"""Offers that hold what they show (feature I6, decision 0073): one call turns one into a lease, or it lapses.

An offer is a lease in a status of its own, with its resources. It is decided like any lease (`leasing/create.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.db.outbox import put_event
from leasehold.db.task import LEASE, hurry_task
from leasehold.features.held_offer.model import OfferAcceptedError, OfferOverError, OfferState, state_of
from leasehold.features.held_offer.options import OfferSettings
from leasehold.leasing.create import create_lease
from leasehold.leasing.lapse import lapse
from leasehold.leasing.reading.queries import each_lease
from leasehold.model.caller import EVERYTHING
from leasehold.model.errors import InvalidInputError, NotFoundError, TooManyOffersError
from leasehold.model.lease_filter import LeaseFilter
from leasehold.model.paging import OLDEST_FIRST, WHOLE, PageRequest
from leasehold.model.reminder import armed
from leasehold.model.transitions import Trigger, move

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from leasehold.db.leases.listed import ListPart
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.draft import LeaseDraft
    from leasehold.model.lease import Lease


def make_offer(
    service: Service, caller: Caller, draft: LeaseDraft, idempotency_key: str | None = None, sight: Sight = EVERYTHING
) -> Lease:
    """Hold what the lease would get for `draft.hold`, and return the offer with its resources.

    The offer counts to all limits as the lease would. Raises the errors of `create_lease`, TooManyOffersError, and
    InvalidInputError for a hold that is too long. A repeated key returns the offer that it made, also after it was
    accepted.
    """
    limits, longest = service.settings.leases.limits, service.settings.of(OfferSettings).longest_hold
    if not limits.offers:
        raise TooManyOffersError(limits.offers)
    if draft.hold is None or draft.hold > longest:
        most = int(longest.total_seconds())
        message = f"An offer is held for {most} seconds at most. Ask for less, and accept it before it lapses."
        raise InvalidInputError(message, field="hold_seconds", details={"limit": most})
    return get_offer(service, create_lease(service, caller, draft, idempotency_key, sight).id)


def get_offer(service: Service, ident: str) -> Lease:
    """Return what was made as an offer, whatever has become of it, until it is purged; raises NotFoundError."""
    with service.db.reading() as connection:
        return _found(find_lease(connection, ident, gone=True), ident)


def list_offers(service: Service, project_id: str | None, part: PageRequest = WHOLE) -> Sequence[Lease]:
    """Return a part of the open offers of a project (None: of all projects), oldest first, without their resources."""
    asked: ListPart = {"limit": part.limit, "sort": part.sort or OLDEST_FIRST, "offered": True}
    asked["wanted"] = LeaseFilter(lapses_after=service.now())
    return list(each_lease(service, project_id, marker=part.marker, **asked))


def accept_offer(service: Service, ident: str) -> Lease:
    """Make the lease with exactly what an open offer holds, and return it; again, return that lease as it is now.

    Raises NotFoundError, and OfferOverError for one that cannot be accepted any more.
    """

    def work(connection: Connection) -> Lease:
        # No pool is locked, because nothing changes about what is held. The lapse of the offer locks this row too.
        lease = _found(find_lease(connection, ident, lock=True, gone=True), ident)
        now = service.now()
        state = state_of(lease, now)
        if state is OfferState.OVER:
            raise OfferOverError
        if state is OfferState.ACCEPTED:
            return lease
        after = armed(move(lease, Trigger.ACCEPTED), now, service.settings.manager.warn_before_end)
        after = save_lease(connection, lease, after, now)
        hurry_task(connection, LEASE, ident, now)
        put_event(connection, "lease.create", after, now)
        return after

    lease = service.db.transact(work)
    service.wake()
    return lease


def give_up_offer(service: Service, ident: str) -> None:
    """Release what an open offer holds; one that is over stays so. Raises NotFoundError and OfferAcceptedError."""
    seen = get_offer(service, ident)
    lapse(service, seen, given_up=True)
    if state_of(get_offer(service, ident), service.now()) is OfferState.ACCEPTED:
        raise OfferAcceptedError(ident)
    service.wake()


def _found(lease: Lease | None, ident: str) -> Lease:
    if lease is None or lease.offered_until is None:
        raise NotFoundError("offer_id", ident)
    return lease
