"""Published offers and claims, from 1.3 on (features I2 to I4, decisions 0108 and 0111)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api import dates
from leasehold.api.call import Reply
from leasehold.api.handlers.lease import asking_once, reply_in_callers_name, would_be
from leasehold.api.handlers.resource import known
from leasehold.api.once import fingerprint, idempotency_key
from leasehold.api.paging import ListKeys
from leasehold.api.purpose import purpose_of
from leasehold.features.lending import publish as offers
from leasehold.features.lending.claim import claim_offer
from leasehold.features.lending.publish_part import publish_part
from leasehold.features.lending.published_offer import ClaimDraft, PartPublication, Publication
from leasehold.model.resource import HOST
from leasehold.model.terms.notice import notice_of, seconds_of

LISTED = ListKeys(texts=("name", "status"), sorts=("created_at", "start_date", "end_date", "name", "status"))

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from leasehold.api.call import Call
    from leasehold.features.lending.bodies import (
        ClaimCreation,
        FreeRange,
        PublishedOfferAnswer,
        PublishedOfferCreation,
        SubOfferCreation,
    )
    from leasehold.features.lending.published_offer import PublishedOffer
    from leasehold.model.lease import Lease
    from leasehold.model.windows import Window


def list_published(call: Call) -> Reply:
    """Show the published offers of the caller's project, and those of others that are open to it.

    An administrator may ask for those of `all_projects`. In pages, by name and status, and sorted.
    """
    found, now = offers.list_published(call.service, call.listed_project(), LISTED.asked(call)), call.service.now()
    return Reply({"published_offers": [_shown(call, each, now) for each in found]})


def create(call: Call, body: PublishedOfferCreation) -> Reply:
    """Publish a resource of the caller's project for a window, to all projects or to one; it holds nothing.

    Administrators publish for any owner. One that overlaps another one of the resource is a 409.
    """
    now = call.service.now()
    start, end = (
        dates.parse(text, version=call.version, now=now, field=field)
        for field, text in (("start_date", body.start_date), ("end_date", body.end_date))
    )
    name = known(call, body.resource_type).name
    notice = notice_of(body.notice_seconds)
    wish = Publication(body.name, name, body.resource_id, start, end, body.for_project_id, notice)
    return _reply(call, offers.publish(call.service, call.caller, wish, is_admin=call.is_admin))


def create_of_lease(call: Call, lease: Lease, body: SubOfferCreation) -> Reply:
    """Publish hosts of an active lease, to all projects or to one: a claim lends some that nothing runs on.

    They become a sub-lease of the project that claims them, and come back when it ends.
    """
    start = dates.parse(body.start_date, version=call.version, now=call.service.now(), field="start_date")
    wish = PartPublication(
        body.name,
        body.amount,
        start,
        call.date(body.end_date, "end_date"),
        reservation_id=body.reservation_id,
        for_project=body.for_project_id,
        notice=notice_of(body.notice_seconds),
    )
    return _reply(call, publish_part(call.service, call.caller, lease.id, wish))


def show(call: Call, published_id: str) -> Reply:
    """Show one published offer, with what can be claimed of it now."""
    return _reply(call, offers.get_published(call.service, published_id, _eyes(call)))


def delete(call: Call, published_id: str) -> Reply:
    """Delete a published offer of the caller's project, and the leases that were made of it.

    Those whose holders were promised a notice end when that is over, and show when.
    """
    offers.withdraw(call.service, published_id, _eyes(call))
    return Reply()


def claim(call: Call, published_id: str, body: ClaimCreation) -> Reply:
    """Make a lease of a part of a published offer for the caller's project; the same key again gives the same lease.

    It begins now, or with the offer, and ends where something else begins, unless the dates say otherwise. What is not
    free is a 409 with what is. Hosts of a lease, of which it takes an `amount`, become a sub-lease. A `dry_run` answers
    what would happen, and does nothing.
    """
    draft = ClaimDraft(
        body.name,
        call.date(body.start_date if body.start_date != dates.NOW else None, "start_date"),
        call.date(body.end_date, "end_date"),
        fingerprint(body, "CLAIM", published_id),
        amount=body.amount,
        dry_run=bool(body.dry_run),
        purpose=purpose_of(call, body.purpose),
    )
    key = idempotency_key(call)
    with asking_once(call) as service:
        lease = claim_offer(service, call.caller, published_id, draft, key, call.sight)
        return would_be(call, lease) if draft.dry_run else reply_in_callers_name(call, service, lease)


def _eyes(call: Call) -> str | None:
    """Return the project whose offers the caller sees and deletes; None: those of all."""
    return None if call.is_admin else call.caller.project_id


def _shown(call: Call, offer: PublishedOffer, now: datetime) -> PublishedOfferAnswer:
    return show_published(offer, now, owner=_eyes(call) in (None, offer.project_id))


def _reply(call: Call, offer: PublishedOffer) -> Reply:
    free = show_free(offers.free_of_offer(call.service, offer))
    return Reply({"published_offer": {**_shown(call, offer, call.service.now()), "free": free}})


def show_published(offer: PublishedOffer, now: datetime, *, owner: bool) -> PublishedOfferAnswer:
    """Return an offer; only `owner` says whose it is and of what. Times are in ISO 8601 with the zone."""
    resource, part = offer.resource, offer.part
    return {
        "id": offer.id,
        "name": offer.name,
        "status": offer.status(now).value,
        "resource_type": HOST if part is not None else None if resource is None else resource.type,
        "resource_id": None if resource is None or not owner else resource.id,
        "resource_name": None if resource is None or not owner else resource.label,
        "capacity": dict(resource.capacity if resource else part.capacity if part else {}),
        "lease_id": None if part is None or not owner else part.lease_id,
        "amount": None if part is None else part.amount,
        "left": None if part is None else part.left,
        "project_id": offer.project_id if owner else None,
        "user_id": offer.user_id if owner else None,
        "for_project_id": offer.for_project if owner else None,
        "notice_seconds": seconds_of(offer.notice),
        "start_date": offer.window.start.isoformat(),
        "end_date": offer.window.end.isoformat(),
        "created_at": offer.created_at.isoformat(),
    }


def show_free(ranges: Iterable[Window]) -> list[FreeRange]:
    """Return what of an offer can be claimed."""
    return [{"start_date": each.start.isoformat(), "end_date": each.end.isoformat()} for each in ranges]
