"""Claims: an ordinary lease of the one resource of a published offer, within its window (feature I3, decision 0108)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from leasehold.calendar.profile import Units, free_of
from leasehold.db.published_offer import find_published
from leasehold.leasing.decide import seen_by_users
from leasehold.model.budget import nothing_to_check
from leasehold.model.errors import (
    ClaimedError,
    FewerOfferedError,
    NotFoundError,
    NotFreeInOfferError,
    OutsideOfferError,
)
from leasehold.model.published_offer import PublishedStatus
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.service import Service
    from leasehold.model.draft import LendWish
    from leasehold.model.lease import Lease
    from leasehold.model.published_offer import PublishedOffer
    from leasehold.resource_types.kind import Kind
    from leasehold.resource_types.registry import ResourceTypes

_SECOND: Final = timedelta(seconds=1)


def free_ranges(
    service: Service, kind: Kind[Any], pool: Snapshot, offer: PublishedOffer, now: datetime
) -> Sequence[Window]:
    """Return the longest windows within an offer of a resource that can be claimed, with cleaning and lead times."""
    start, end, number = max(offer.window.start, from_seconds(to_seconds(now))), offer.window.end, offer.resource_number
    if number is None or start >= end:
        return ()
    view, margin, lead = pool.of_one(number), service.margins.of(kind.pool), service.lead_of([kind])
    units = Units(view.numbers == number)
    times = -(-margin // _SECOND), lead // _SECOND, to_seconds(now)
    moments, free = free_of(view, units, Window(start, end).seconds, *times).steps(nothing_to_check)
    ends = [*moments[1:].tolist(), to_seconds(end)]
    pairs = zip(moments.tolist(), ends, free.tolist(), strict=True)
    return [Window.of_seconds(first, last) for first, last, units_free in pairs if units_free]


def view_of_claim(
    service: Service,
    connection: Connection,
    pools: Mapping[str, Snapshot],
    lease: Lease,
    promised: Window,
    now: datetime,
) -> dict[str, Snapshot]:
    """Return the pools, which are locked, as the decision about a claim may use them: the offered resource alone.

    Raises NotFoundError for an offer that is not open to the project of the lease, and NotFreeInOfferError.
    """
    ident = lease.published_offer or ""
    offer = find_published(connection, ident)
    if offer is None or offer.resource is None or not offer.open_to(lease.project_id, now):
        raise NotFoundError("published_offer_id", ident)
    kind = service.types.get(offer.resource.type).kind
    free = free_ranges(service, kind, pools[kind.pool], offer, now)
    if not offer.window.contains(lease.window) or not any(each.contains(promised) for each in free):
        raise NotFreeInOfferError(free)
    return {kind.pool: pools[kind.pool].of_one(offer.resource.number)}


def check_open(connection: Connection, wish: LendWish, end: datetime, now: datetime) -> None:
    """Raise the error of a claim of hosts of a lease, which is locked after its pool, up to this end.

    NotFoundError for an offer that is not open to the project, NotFreeInOfferError for an end that is not within it,
    and FewerOfferedError for too many hosts.
    """
    ident = wish.published_offer or ""
    offer = find_published(connection, ident)
    if offer is None or offer.part is None or not offer.open_to(wish.project_id, now):
        raise NotFoundError("published_offer_id", ident)
    free, left = offer.claimable(now), offer.part.left
    if free is None or not free.start <= now or end > free.end:
        raise NotFreeInOfferError(() if free is None else (free,))
    if (wish.amount or 0) > left:
        raise FewerOfferedError(left)


def seen_by_lease(
    types: ResourceTypes, connection: Connection, lease: Lease, pools: Mapping[str, Snapshot], now: datetime
) -> dict[str, Snapshot]:
    """Return the pools as a lease is healed in them: those of its users, and a claim may have its resource again."""
    views = seen_by_users(types, pools, lease)
    offer = None if lease.published_offer is None else find_published(connection, lease.published_offer)
    if offer is None or offer.resource is None or offer.status(now) is not PublishedStatus.AVAILABLE:
        return views
    pool = offer.resource.pool
    return {**views, pool: pools[pool].for_project(*types.projects_of(lease, pool), open_too=offer.resource.number)}


def check_claimed_window(connection: Connection, lease: Lease, window: Window, now: datetime) -> None:
    """Raise OutsideOfferError if a lease that was made of an offer is to have time in which that is not offered."""
    if lease.published_offer is None or lease.window.contains(window):
        return
    offer = find_published(connection, lease.published_offer)
    if offer is None or offer.status(now) is not PublishedStatus.AVAILABLE:
        raise OutsideOfferError(None)
    if not offer.window.contains(window):
        raise OutsideOfferError(offer.window)


def check_unclaimed(lease: Lease) -> None:
    """Raise ClaimedError for a lease that was made of an offer: it keeps its resource and what it asks for."""
    if lease.published_offer is not None:
        raise ClaimedError
