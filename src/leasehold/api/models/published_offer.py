"""Formats of published offers and of claims, from 1.3 on."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel
from leasehold.api.models.lease import Date, DryRun, Name
from leasehold.api.models.resource import Owner  # noqa: TC001 - read at run time, for the description

StartDate = Annotated[Date | None, Field(description="A date; null means now, or the start of the offer")]
EndDate = Annotated[Date | None, Field(description="A date; null means the end of what is free from the start on")]


class PublishedOfferCreation(RequestModel):
    """The body of POST /v1/published-offers: a resource of the project, and when others may claim it.

    `for_project_id` is the only project that may, null means all. Without a start it is claimed from now on.
    """

    name: Name
    resource_type: Annotated[str, Field(min_length=1, max_length=66)]
    resource_id: Annotated[str, Field(min_length=1, max_length=255)]
    start_date: Date = "now"
    end_date: Date
    for_project_id: Owner | None = None


class ClaimCreation(RequestModel):
    """The body of POST /v1/published-offers/{published_id}/claims: the name of the lease, and which part of the window.

    With `dry_run` the answer says what would happen, and nothing is done.
    """

    name: Name
    start_date: StartDate = None
    end_date: EndDate = None
    dry_run: DryRun = None


class FreeRange(TypedDict):
    """A time in which the resource can be claimed."""

    start_date: str
    end_date: str


class PublishedOfferAnswer(TypedDict):
    """A published offer: `status` is `available`, `expired`, `deleted` or `error`; `free` is in the answer about one.

    Whose it is, for whom, and which resource it is: null for other projects.
    """

    id: str
    name: str
    status: str
    resource_type: str | None
    resource_id: str | None
    resource_name: str | None
    capacity: dict[str, int]
    project_id: str | None
    user_id: str | None
    for_project_id: str | None
    start_date: str
    end_date: str
    created_at: str
    free: NotRequired[list[FreeRange]]


class OnePublishedOffer(TypedDict):
    """The answer about one published offer."""

    published_offer: PublishedOfferAnswer


class PublishedOfferList(TypedDict):
    """The answer about published offers."""

    published_offers: list[PublishedOfferAnswer]
