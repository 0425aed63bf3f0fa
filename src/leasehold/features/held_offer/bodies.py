"""Formats of offers, from 1.3 on."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from leasehold.api.models.base import answer
from leasehold.api.models.from_template import OF_OFFER
from leasehold.api.models.holding import HolderAnswer  # noqa: TC001 - read at run time, for the description
from leasehold.api.models.lease import INSTEAD_OF_END, SINCE_OF_TEMPLATE, LeaseAnswer, LeaseRequest

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
