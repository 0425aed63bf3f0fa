"""Offers that hold what they show, from 1.3 on (feature I6, decision 0073)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from leasehold.api.call import Reply
from leasehold.api.dates import to_record
from leasehold.api.handlers.lease import added_to, asking_once, check_giving_back, draft_of, reply_in_callers_name
from leasehold.api.models.base import answer
from leasehold.api.models.from_template import OF_OFFER
from leasehold.api.models.holding import HolderAnswer  # noqa: TC001 - read at run time, for the description
from leasehold.api.models.lease import INSTEAD_OF_END, SINCE_OF_TEMPLATE, LeaseAnswer, LeaseRequest, OneLease
from leasehold.api.once import fingerprint, idempotency_key
from leasehold.api.paging import ListKeys
from leasehold.api.policies import lease as lease_rules
from leasehold.api.policies.base import MEMBER_OR_ADMIN, READER_OR_ADMIN, Rule
from leasehold.api.route import CREATED, EVERY, GONE, V1_3, Noun
from leasehold.api.spans import ending_as_sent, named_as_sent, parse_window
from leasehold.api.strict import check_reservations
from leasehold.api.views.holding import show_holdings
from leasehold.api.views.lease import show_lease
from leasehold.features.held_offer import use
from leasehold.features.held_offer.model import OfferState, state_of
from leasehold.features.held_offer.options import OfferSettings
from leasehold.leasing.reading.holding import list_holdings
from leasehold.model.refused import Operation

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.api.call import Call
    from leasehold.model.lease import Lease

NO_MORE: Mapping[str, Any] = {}
MOST_SECONDS = 24 * 3600
Hold = Annotated[
    int | None, Field(ge=1, le=MOST_SECONDS, description="For how many seconds it is held; null means the default")
]


class OfferCreation(LeaseRequest):
    """The body of POST /v1/offers: that of a lease which does not wait, and for how long it is held."""

    hold_seconds: Hold = None

    since = SINCE_OF_TEMPLATE
    filled = OF_OFFER
    instead = INSTEAD_OF_END


class OfferAnswer(TypedDict):
    """An offer: `state` is `open`, `accepted`, or `over` if it has lapsed, was given up, or its lease is gone.

    Its id is that of the lease; before it is accepted, the lease has the status `OFFERED`. `expires_at` is when it
    lapses, or would have lapsed.
    """

    id: str
    state: str
    expires_at: str
    lease: LeaseAnswer


class OneOffer(TypedDict):
    """The answer about one offer; `reservations` only while it is open: what it holds."""

    offer: OfferAnswer
    reservations: NotRequired[list[HolderAnswer]]


OfferList = answer("OfferList", "The answer about offers: those that are open.", offers=list[OfferAnswer])


LISTED = ListKeys(sorts=("expires_at",))


def list_offers(call: Call) -> Reply:
    """Show the open offers of the caller's project; an administrator may ask for those of `all_projects`."""
    found, now = use.list_offers(call.service, call.listed_project(), LISTED.asked(call)), call.service.now()
    return Reply({"offers": [_shown(call, each, now) for each in found]})


def create(call: Call, body: OfferCreation) -> Reply:
    """Offer a lease, and hold its resources until the offer is accepted or lapses; the same key gives the same offer.

    It is decided as a lease is, and counts to the same limits.
    """
    check_reservations(body.reservations, lambda each: call.service.types.installed(each.resource_type))
    seconds = body.hold_seconds
    hold = call.service.settings.of(OfferSettings).hold if seconds is None else timedelta(seconds=seconds)
    now = call.service.now()
    asked = draft_of(call, body, parse_window(body, version=call.version, now=now), now)
    draft = replace(asked, hold=hold, fingerprint=fingerprint(body, "OFFER"))
    key = idempotency_key(call)
    check_giving_back(call, call.caller, draft.reservations)
    with asking_once(call) as service, named_as_sent(ending_as_sent(body)):
        return _reply(call, use.make_offer(service, call.caller, draft, key, call.sight))


def show(call: Call, offer: Lease) -> Reply:
    """Show one offer, also after it was accepted or is over, until it is purged."""
    return _reply(call, offer)


def accept(call: Call, offer: Lease) -> Reply:
    """Accept an offer: it becomes a lease with exactly the dates and the resources that it has held.

    If its start has passed meanwhile, the lease starts at once. Accepting it again gives the same lease. One that is
    over is a 409.
    """
    with asking_once(call) as service:
        return reply_in_callers_name(call, service, use.accept_offer(service, offer.id))


def delete(call: Call, offer: Lease) -> Reply:
    """Give an offer up: others may have its resources at once. One that is over stays so."""
    use.give_up_offer(call.service, offer.id)
    return Reply()


def _reply(call: Call, lease: Lease) -> Reply:
    now = call.service.now()
    answer = {"offer": _shown(call, lease, now, added_to(call, lease))}
    if state_of(lease, now) is not OfferState.OPEN:
        return Reply(answer)
    found = list_holdings(call.service, lease, call.sight)
    return Reply({**answer, "reservations": show_holdings(lease, found, call.version)})


def _shown(call: Call, lease: Lease, now: datetime, more: Mapping[str, Any] = NO_MORE) -> OfferAnswer:
    """Return what a lease was made as, what has become of it, and what features add to that."""
    shown: Any = {**show_lease(lease, call.service.types, call.version, call.sight), **more}
    return {
        "id": lease.id,
        "state": state_of(lease, now).value,
        "expires_at": to_record(lease.offered_until) or "",
        "lease": shown,
    }


_ALL, _ONE, _NOUN = "/v1/offers", "/v1/offers/{offer_id}", Noun("offer_id", "offer", use.get_offer)

GET = Rule(
    "leasehold:offers:get",
    READER_OR_ADMIN,
    "Show the offers of a project; only administrators list those of all projects.",
)
POST = Rule(
    "leasehold:offers:post", MEMBER_OR_ADMIN, "Have resources held for an offer; blazar:leases:post is needed too."
)
ACCEPT = Rule(
    "leasehold:offers:accept",
    MEMBER_OR_ADMIN,
    "Accept an offer, which makes it a lease; blazar:leases:post is needed too.",
)
DELETE = Rule("leasehold:offers:delete", MEMBER_OR_ADMIN, "Give an offer up.")


ROUTES = [
    V1_3("GET", _ALL, list_offers, (GET,), None, OfferList, query=EVERY, filters=LISTED.query),
    V1_3(
        "POST",
        _ALL,
        create,
        (POST, lease_rules.POST),
        OfferCreation,
        OneOffer,
        CREATED,
        headers=("Idempotency-Key",),
        counts=Operation.OFFER,
        within=(lease_rules.GIVE_BACK,),
    ),
    V1_3("GET", _ONE, show, (GET,), None, OneOffer, noun=_NOUN),
    V1_3("DELETE", _ONE, delete, (GET, DELETE), success=GONE, noun=_NOUN),
    V1_3("POST", f"{_ONE}/accept", accept, (GET, ACCEPT, lease_rules.POST), None, OneLease, CREATED, noun=_NOUN),
]
