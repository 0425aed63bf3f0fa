"""Make a lease of a part of a published offer (feature I3).

Of a resource it is made in the ordinary way of a new lease; of hosts of a lease it is a sub-lease (`publish_part.py`).
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.features.lending.publish import free_of_offer, get_published
from leasehold.features.lending.publish_part import claim_part
from leasehold.leasing.create import create_lease, try_creation
from leasehold.leasing.once import done_before
from leasehold.model.caller import EVERYTHING
from leasehold.model.draft import LeaseDraft, Once
from leasehold.model.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.features.lending.published_offer import ClaimDraft, PublishedOffer
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.lease import Lease


def claim_offer(
    service: Service, caller: Caller, ident: str, draft: ClaimDraft, key: str | None = None, sight: Sight = EVERYTHING
) -> Lease:
    """Return the lease that a claim has made; a repeated key returns the same one, except in a dry run.

    Raises NotFoundError for an offer that is not open to the caller's project, NotFreeInOfferError with what is free,
    and the errors of `create_lease`, or of `claim_part` for hosts of a lease.
    """
    if key is not None and not draft.dry_run:
        # Also if the offer is not open any more.
        with service.db.reading() as connection:
            if made := done_before(connection, Once(caller.project_id, key, draft.fingerprint)):
                return made
    offer = get_published(service, ident, caller.project_id)
    if offer.part is not None:
        return claim_part(service, caller, offer, draft, key)
    if offer.resource is None:
        raise NotFoundError("published_offer_id", ident)
    if draft.amount not in (None, 1):
        message = "The offer is one resource; claim it without an `amount`."
        raise InvalidInputError(message, field="amount")
    kind = service.types.get(offer.resource.type).kind
    start, end = _dates(service, offer, draft)
    asked = LeaseDraft(
        draft.name,
        start,
        end,
        reservations=({"resource_type": kind.name, **kind.one(offer.resource)},),
        fingerprint=draft.fingerprint,
        published_offer=offer.id,
        notice=offer.notice,
        dry_run=draft.dry_run,
        purpose=draft.purpose,
    )
    if draft.dry_run:
        return try_creation(service, caller, asked, sight)
    return create_lease(service, caller, asked, key, sight)


def _dates(service: Service, offer: PublishedOffer, draft: ClaimDraft) -> tuple[datetime, datetime]:
    """Return start and end of a claim; the decision says if nothing is free, unless its key was used meanwhile."""
    now = service.now()
    start = draft.start or max(now.replace(microsecond=0), offer.window.start)
    if draft.end is not None:
        return start, draft.end
    begin = max(start, now)
    found = [each.end for each in free_of_offer(service, offer) if each.start <= begin < each.end]
    return start, found[0] if found else max(offer.window.end, start + timedelta(minutes=1))
