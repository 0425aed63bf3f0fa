"""Published offers: owners publish and withdraw them, others see what is open to them (feature I2, decision 0108).

Those of hosts of a lease are published in `publish_part.py`, and seen and withdrawn here too. Whatever depends on the
offers of a resource is decided under the lock of its pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from leasehold.db.leases.lease import find_lease
from leasehold.db.project import enter
from leasehold.db.resources.resource import find_resource
from leasehold.features.lending import store as rows
from leasehold.features.lending.claimed import free_ranges
from leasehold.features.lending.model import OffersOverlapError, TooManyPublishedError
from leasehold.features.lending.options import LendingSettings
from leasehold.features.lending.published_offer import PublishedOffer, PublishedStatus
from leasehold.leasing.delete import taking_back
from leasehold.leasing.locks import lock
from leasehold.model.errors import InvalidDateError, InvalidInputError, NotFoundError
from leasehold.model.paging import WHOLE, PageRequest
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime
    from typing import Any

    from sqlalchemy import Connection

    from leasehold.features.lending.published_offer import PartPublication, Publication
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller
    from leasehold.model.resource import Resource
    from leasehold.resource_types.kind import Kind
    from leasehold.resource_types.registry import ResourceTypes


def publish(service: Service, caller: Caller, wish: Publication, *, is_admin: bool = False) -> PublishedOffer:
    """Publish a resource of the caller's project for a window; an administrator does it for any owner.

    Raises NotFoundError for a resource that is not theirs, InvalidInputError for one that belongs to nobody,
    InvalidDateError for the window, OffersOverlapError, and TooManyPublishedError.
    """
    kind = service.types.get(wish.resource_type).kind
    if wish.end <= max(wish.start, service.now()):
        message = "A published offer has to end after its start, and later than now."
        raise InvalidDateError(message, field="end_date")

    with service.db.reading() as connection:
        seen = find_resource(connection, kind.name, wish.resource_id)
    owner = _owned(kind, seen, wish, None if is_admin else caller.project_id).owner or ""

    def work(connection: Connection) -> PublishedOffer:
        check_few(service, connection, owner)
        locks = lock(connection, {kind.pool}, service.now)
        resource = find_resource(connection, kind.name, wish.resource_id)
        mine = _owned(kind, resource, wish, owner)
        window, of_what = Window(wish.start, wish.end), {"resource_number": mine.number, "resource": mine}
        new = new_offer(caller, wish, window, service.now(), project_id=owner, **of_what)
        if other := rows.overlapping(connection, new, locks.now):
            raise OffersOverlapError(other)
        rows.add_published(connection, new)
        # On Galera only this conflicts with another offer of the same moment.
        locks.move()
        return new

    return service.db.transact(work)


def check_few(service: Service, connection: Connection, project_id: str) -> None:
    """Raise TooManyPublishedError if a project has as many offers as it may have; no other one is added meanwhile."""
    enter(connection, project_id)
    limit = service.settings.of(LendingSettings).published_offers
    if rows.count_published(connection, project_id, service.now()) >= limit:
        raise TooManyPublishedError(limit)


def _owned(kind: Kind[object], resource: Resource | None, wish: Publication, project_id: str | None) -> Resource:
    """Return the resource if it belongs to this project, or with None to any."""
    if resource is None or project_id not in (None, resource.owner):
        raise NotFoundError(kind.id_name, wish.resource_id)
    if resource.owner is None:
        message = f"The {kind.singular} {resource.label} belongs to no project. Say which one: its `owner`."
        raise InvalidInputError(message, field="resource_id")
    return resource


def new_offer(
    caller: Caller, wish: Publication | PartPublication, window: Window, now: datetime, **of_what: Any
) -> PublishedOffer:
    """Return an offer that is not written yet; `of_what` says whose it is, and what is offered."""
    return PublishedOffer(
        id=str(uuid4()),
        name=wish.name,
        user_id=caller.user_id,
        window=window,
        for_project=wish.for_project,
        notice=wish.notice,
        created_at=now,
        **of_what,
    )


def list_published(service: Service, project_id: str | None, part: PageRequest = WHOLE) -> Sequence[PublishedOffer]:
    """Return a part of the offers of a project and what is open to it, or with None of all, by their start."""
    with service.db.reading() as connection:
        return rows.list_published(connection, project_id, service.now(), part)


def get_published(service: Service, ident: str, project_id: str | None) -> PublishedOffer:
    """Return an offer that a project sees, or with None any; raises NotFoundError."""
    with service.db.reading() as connection:
        found = rows.find_published(connection, ident)
    if found is None or not (project_id is None or found.visible_to(project_id, service.now())):
        raise absent(ident)
    return found


def free_of_offer(service: Service, offer: PublishedOffer) -> Sequence[Window]:
    """Return what can be claimed of an offer now."""
    if offer.part is not None:
        window = offer.claimable(service.now())
        return () if window is None else (window,)
    if offer.resource is None or offer.status(service.now()) is not PublishedStatus.AVAILABLE:
        return ()
    kind = service.types.get(offer.resource.type).kind
    times = service.margins.of(kind.pool), service.lead_of([kind])
    return service.look([kind.pool], lambda pools, now: free_ranges(pools[kind.pool], offer, *times, now), asks=True)


def withdraw(service: Service, ident: str, project_id: str | None) -> None:
    """Delete an offer of a project, or with None of any, and the leases that were made of it.

    Those go at once, or end when the notice is over that their holders were promised. They stay if the resource is not
    the project's any more. Deleting it again changes nothing. Raises NotFoundError.
    """
    seen = get_published(service, ident, project_id)
    if project_id not in (None, seen.project_id):
        raise absent(ident)

    def work(connection: Connection) -> None:
        locks = lock(connection, pools_of_offer(service.types, seen), service.now)
        offer = rows.find_published(connection, ident)
        if offer is None or offer.deleted_at is not None:
            return
        rows.mark_deleted(connection, ident, locks.now)
        lost = offer.resource is not None and offer.resource.owner != offer.project_id
        for each in () if lost else rows.claims_of(connection, ident):
            lease = find_lease(connection, each, lock=True)
            if lease is not None and lease.status is not LeaseStatus.DELETING:
                taking_back(service, lease, locks).write_rows()
        locks.move(freed=True)

    service.db.transact(work)
    service.wake()


def pools_of_offer(types: ResourceTypes, offer: PublishedOffer) -> Collection[str]:
    """Return the pools that are locked while something is decided about an offer."""
    if offer.part is not None:
        return types.lending_pools()
    return set() if offer.resource is None else {offer.resource.pool}


def absent(ident: str) -> NotFoundError:
    """Return the error for an offer that is not there, or not for this caller."""
    return NotFoundError("published_offer_id", ident)
