"""Offers that hold what they show, from 1.3 on (feature I6, decision 0073)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.handlers.lease import asking_once, check_giving_back, draft_of, reply_in_callers_name
from leasehold.api.once import fingerprint, idempotency_key
from leasehold.api.paging import ListKeys
from leasehold.api.spans import ending_as_sent, named_as_sent, parse_window
from leasehold.api.strict import check_reservations
from leasehold.api.views.held_offer import show_offer
from leasehold.api.views.holding import show_holdings
from leasehold.leasing import held_offer
from leasehold.leasing.holding import list_holdings
from leasehold.model.held_offer import OfferState, state_of

LISTED = ListKeys(sorts=("expires_at",))

if TYPE_CHECKING:
    from leasehold.api.call import Call
    from leasehold.api.models.held_offer import OfferCreation
    from leasehold.model.lease import Lease


def list_offers(call: Call) -> Reply:
    """Show the open offers of the caller's project; an administrator may ask for those of `all_projects`."""
    project = None if call.query_all_projects() else call.caller.project_id
    found, now = held_offer.list_offers(call.service, project, LISTED.asked(call)), call.service.now()
    return Reply({"offers": [show_offer(call, each, now) for each in found]})


def create(call: Call, body: OfferCreation) -> Reply:
    """Offer a lease, and hold its resources until the offer is accepted or lapses; the same key gives the same offer.

    It is decided as a lease is, and counts to the same limits.
    """
    check_reservations(body.reservations, lambda each: call.service.types.installed(each.resource_type))
    seconds = body.hold_seconds
    hold = call.service.settings.leases.offer_hold if seconds is None else timedelta(seconds=seconds)
    now = call.service.now()
    asked = draft_of(call, body, parse_window(body, version=call.version, now=now), now)
    draft = replace(asked, hold=hold, fingerprint=fingerprint(body, "OFFER"))
    key = idempotency_key(call)
    check_giving_back(call, call.caller, draft.reservations)
    with asking_once(call) as service, named_as_sent(ending_as_sent(body)):
        return _reply(call, held_offer.make_offer(service, call.caller, draft, key, call.sight))


def show(call: Call, offer: Lease) -> Reply:
    """Show one offer, also after it was accepted or is over, until it is purged."""
    return _reply(call, offer)


def accept(call: Call, offer: Lease) -> Reply:
    """Accept an offer: it becomes a lease with exactly the dates and the resources that it has held.

    If its start has passed meanwhile, the lease starts at once. Accepting it again gives the same lease. One that is
    over is a 409.
    """
    with asking_once(call) as service:
        return reply_in_callers_name(call, service, held_offer.accept_offer(service, offer.id))


def delete(call: Call, offer: Lease) -> Reply:
    """Give an offer up: others may have its resources at once. One that is over stays so."""
    held_offer.give_up_offer(call.service, offer.id)
    return Reply()


def _reply(call: Call, lease: Lease) -> Reply:
    now = call.service.now()
    answer = {"offer": show_offer(call, lease, now)}
    if state_of(lease, now) is not OfferState.OPEN:
        return Reply(answer)
    found = list_holdings(call.service, lease, call.sight)
    return Reply({**answer, "reservations": show_holdings(lease, found)})
