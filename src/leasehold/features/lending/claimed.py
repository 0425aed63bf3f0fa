"""Claims: an ordinary lease of the one resource of a published offer, within its window (feature I3, decision 0108)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from leasehold.calendar.profile import Units, free_of
from leasehold.features.lending.model import (
    ClaimedError,
    ClaimSharingError,
    FewerOfferedError,
    OutsideOfferError,
    TakenBackError,
)
from leasehold.features.lending.published_offer import PublishedStatus
from leasehold.features.lending.store import find_published
from leasehold.leasing.deciding.decide import promised_window
from leasehold.leasing.deciding.source import Source
from leasehold.model.budget import nothing_to_check
from leasehold.model.errors import NotFoundError, NotFreeInOfferError
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.features.lending.model import LendWish
    from leasehold.features.lending.published_offer import PublishedOffer
    from leasehold.leasing.deciding.source import Grounds
    from leasehold.model.lease import Lease

_SECOND: Final = timedelta(seconds=1)


def free_ranges(
    pool: Snapshot, offer: PublishedOffer, margin: timedelta, lead: timedelta, now: datetime
) -> Sequence[Window]:
    """Return the longest windows within an offer of a resource that can be claimed, with cleaning and lead times."""
    start, end, number = max(offer.window.start, from_seconds(to_seconds(now))), offer.window.end, offer.resource_number
    if number is None or start >= end:
        return ()
    view = pool.among(pool.eligible.of_one(number))
    units = Units(view.numbers == number)
    times = -(-margin // _SECOND), lead // _SECOND, to_seconds(now)
    moments, free = free_of(view, units, Window(start, end).seconds, *times).steps(nothing_to_check)
    ends = [*moments[1:].tolist(), to_seconds(end)]
    pairs = zip(moments.tolist(), ends, free.tolist(), strict=True)
    return [Window.of_seconds(first, last) for first, last, units_free in pairs if units_free]


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


class Claimed(Source):
    """A resource that its owner has published: a lease made of an offer has that resource alone, within its window.

    What is claimed is what is free of it, so nobody else moves.
    """

    makes_room = False

    def owns(self, lease: Lease) -> bool:
        return lease.published_offer is not None

    def seen_by_new(self, at: Grounds, lease: Lease) -> Mapping[str, Snapshot]:
        """Return the offered resource alone.

        Raises NotFoundError for an offer that is not open to the project of the lease, and NotFreeInOfferError.
        """
        ident = lease.published_offer or ""
        offer = find_published(at.connection, ident)
        if offer is None or offer.resource is None or not offer.open_to(lease.project_id, at.now):
            raise NotFoundError("published_offer_id", ident)
        kind = at.types.get(offer.resource.type).kind
        free = free_ranges(at.pools[kind.pool], offer, at.margins.of(kind.pool), at.lead_of([kind]), at.now)
        promised = promised_window(lease.window.start, lease.window.end, at.now)
        if not offer.window.contains(lease.window) or not any(each.contains(promised) for each in free):
            raise NotFreeInOfferError(free)
        pool = at.pools[kind.pool]
        return {kind.pool: pool.among(pool.eligible.of_one(offer.resource.number))}

    def seen_by(self, at: Grounds, lease: Lease) -> Mapping[str, Snapshot]:
        """Return the pools of its users, in which it may have its resource again."""
        views = super().seen_by(at, lease)
        offer = _available(at.connection, lease, at.now)
        if offer is None or offer.resource is None:
            return views
        pool = offer.resource.pool
        view = at.pools[pool].for_project(*at.types.projects_of(lease, pool), open_too=offer.resource.number)
        return {**views, pool: view}

    def check_exchange(self, lease: Lease) -> None:
        """Raise ClaimedError: it keeps its resource and what it asks for."""
        if lease.published_offer is not None:
            raise ClaimedError

    def check_window(self, connection: Connection, lease: Lease, window: Window, now: datetime) -> None:
        """Raise OutsideOfferError if the lease is to have time in which its resource is not offered.

        Raises TakenBackError for a later end of one whose resource is taken back.
        """
        if lease.notice is not None and lease.notice.since is not None and window.end > lease.window.end:
            raise TakenBackError(lease.window.end)
        if lease.published_offer is None or lease.window.contains(window):
            return
        offer = _available(connection, lease, now)
        if offer is None:
            raise OutsideOfferError(None)
        if not offer.window.contains(window):
            raise OutsideOfferError(offer.window)

    def opened(self, connection: Connection, lease: Lease, projects: Collection[str], now: datetime) -> Collection[int]:
        """Return the offered resource; raises ClaimSharingError for projects to which the offer is not open."""
        if lease.published_offer is None:
            return ()
        offer = find_published(connection, lease.published_offer)
        others = [project for project in projects if offer is None or not offer.open_to(project, now)]
        if offer is None or others:
            raise ClaimSharingError(others)
        return () if offer.resource_number is None else (offer.resource_number,)


def _available(connection: Connection, lease: Lease, now: datetime) -> PublishedOffer | None:
    offer = find_published(connection, lease.published_offer or "")
    return offer if offer is not None and offer.status(now) is PublishedStatus.AVAILABLE else None
