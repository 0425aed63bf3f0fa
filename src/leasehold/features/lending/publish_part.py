"""Published offers of hosts of a lease, which become sub-leases of those who claim them (feature I4, decision 0111).

An offer holds nothing: the lease keeps its hosts until somebody claims some of them. A claim begins now, because only
now it is known which of them nothing uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_lease
from leasehold.features.lending import store as rows
from leasehold.features.lending.lend import lend
from leasehold.features.lending.lendable import check_lendable, lendable_now, part_to_lend
from leasehold.features.lending.model import FewerOfferedError, LendWish, NotLendableError
from leasehold.features.lending.publish import absent, check_few, get_published, new_offer
from leasehold.features.lending.published_offer import OfferedPart
from leasehold.leasing.dates import earliest
from leasehold.leasing.deciding.allocations import held_by
from leasehold.leasing.locks import lock, look_at
from leasehold.model.draft import Once
from leasehold.model.errors import (
    BusyError,
    InUseError,
    InvalidDateError,
    InvalidInputError,
    NotFoundError,
    NotFreeInOfferError,
    SwapUnfinishedError,
)
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.lending.published_offer import ClaimDraft, PartPublication, PublishedOffer
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from leasehold.model.lease import Lease

OWN = "The project has the lease already; its hosts are offered to others."
CLAIM_FROM_NOW = "Hosts of a lease are claimed from now on. Leave out the start, or claim them when you need them."


def publish_part(service: Service, caller: Caller, lease_id: str, wish: PartPublication) -> PublishedOffer:
    """Publish so many hosts of an active lease for a part of its window; any of them are lent to those who claim.

    Raises NotFoundError; SubLeaseLevelError for a sub-lease; BusyError and NotLendableError for what is not lent now,
    or offered already; InvalidInputError for a reservation; InvalidDateError for a window that is not within the
    lease; TooManyPublishedError.
    """
    with service.db.reading() as connection:
        seen = look_at(connection, lease_id)

    def work(connection: Connection) -> PublishedOffer:
        check_few(service, connection, seen.project_id)
        locks = lock(connection, service.types.lending_pools(), service.now)
        lease = look_at(connection, lease_id, lock=True)
        part = part_to_lend(service.types, lease, wish.reservation_id)
        if wish.for_project == lease.project_id:
            raise InvalidInputError(OWN, field="for_project_id")
        check_lendable(service.types, lease, part, locks.now)
        offered = OfferedPart(lease.id, part.id, wish.amount)
        window = _window(lease, wish, locks.now)
        new = new_offer(caller, wish, window, locks.now, project_id=lease.project_id, part=offered)
        others = rows.offers_of_part(connection, offered, new.window, locks.now)
        _check_amount(new.window, offered, len(held_by(part, lease)), others)
        rows.add_published(connection, new)
        # On Galera only this conflicts with another offer of the same moment.
        locks.move()
        return rows.find_published(connection, new.id) or new

    return service.db.transact(work)


def _window(lease: Lease, wish: PartPublication, now: datetime) -> Window:
    """Return from when to when it is offered; raises InvalidDateError if that is not within what the lease has left."""
    if wish.end is None and lease.open_ended:
        message = "The lease has no end, so an offer of its hosts needs one: send `end_date`."
        raise InvalidDateError(message, field="end_date")
    start, end = max(wish.start, lease.window.start), wish.end or lease.window.end
    if not max(start, now) < end <= lease.window.end:
        last = (
            "" if lease.open_ended else f", and with the lease at {lease.window.end:%Y-%m-%d %H:%M} UTC at the latest"
        )
        message = f"An offer of hosts of a lease ends after its start, later than now{last}."
        raise InvalidDateError(message, field="end_date")
    return Window(start, end)


def _check_amount(window: Window, new: OfferedPart, has: int, others: Iterable[PublishedOffer]) -> None:
    """Raise NotLendableError if at some moment more would be offered than the reservation has and these have lent."""
    known = [(each.window, each.part) for each in others if each.part is not None]
    has += sum(part.lent for _, part in known)
    moments = {window.start, *(each.start for each, _ in known if each.start > window.start)}
    offered = max(sum(part.amount for each, part in known if each.start <= moment < each.end) for moment in moments)
    if offered + new.amount > has:
        message = (
            f"The reservation has {has} hosts, of which {offered} are offered at that time already, and {new.amount} "
            "more were to be offered. Offer fewer, or delete another offer."
        )
        raise NotLendableError(message, field="amount")


def claim_part(
    service: Service, caller: Caller, offer: PublishedOffer, draft: ClaimDraft, key: str | None = None
) -> Lease:
    """Return the sub-lease, of the caller's project, that a claim of hosts of a lease has made.

    Raises NotFoundError for an offer that is not open to the project; NotFreeInOfferError; FewerOfferedError;
    InvalidDateError; BusyError; and, as for any lease, LimitExceededError and the errors of `approved`. What they say
    about the lease that lends is no more than what the offer says.
    """
    part, now = offer.part, service.now()
    if caller.project_id == offer.project_id:
        raise InvalidInputError(OWN)
    if part is None or not offer.open_to(caller.project_id, now):
        raise absent(offer.id)
    window = offer.claimable(now)
    if draft.start is not None and not earliest(now) <= draft.start <= now:
        raise InvalidDateError(CLAIM_FROM_NOW, field="start_date")
    if window is None or window.start > now:
        raise NotFreeInOfferError(() if window is None else (window,))
    wish = LendWish(
        draft.name,
        caller.project_id,
        draft.end or window.end,
        part.reservation_id,
        amount=draft.amount or 1,
        published_offer=offer.id,
        notice=offer.notice,
        dry_run=draft.dry_run,
        purpose=draft.purpose,
    )
    _check_end(wish.end or window.end, window, now)
    once = None if key is None or draft.dry_run else Once(caller.project_id, key, draft.fingerprint)
    try:
        return lend(service, caller, part.lease_id, wish, once=once)
    except (FewerOfferedError, InUseError, NotFoundError, NotLendableError, SwapUnfinishedError):
        # They say more of the lender than the claimer may know.
        raise FewerOfferedError(_claimable_now(service, caller.project_id, offer.id)) from None
    except BusyError:
        message = "The lease that lends the hosts is changing just now; send the request again in a moment."
        raise BusyError(message) from None


def _claimable_now(service: Service, project_id: str, ident: str) -> int:
    """Return how many hosts a project can claim of an offer, which the cloud is asked; raises NotFoundError."""
    part = get_published(service, ident, project_id).part
    with service.db.reading() as connection:
        lender = None if part is None else find_lease(connection, part.lease_id)
    if part is None or lender is None:
        raise absent(ident)
    return min(part.left, lendable_now(service, lender, part.reservation_id, project_id))


def _check_end(end: datetime, window: Window, now: datetime) -> None:
    if end <= now:
        message = "A claim ends later than now."
        raise InvalidDateError(message, field="end_date")
    if end > window.end:
        raise NotFreeInOfferError((window,))
