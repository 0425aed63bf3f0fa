"""Formats of published offers, claims and sub-leases, from 1.3 on."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer
from leasehold.api.models.lease import SINCE_OF_PURPOSE, Date, DryRun, Ident, ProjectId
from leasehold.api.models.name import Name, Purpose  # noqa: TC001 - read at run time
from leasehold.api.models.resource import Owner  # noqa: TC001 - read at run time, for the description
from leasehold.conf.options import YEAR

MOST_HOSTS = 1_000
NoticeSeconds = Annotated[
    int,
    Field(ge=0, le=YEAR, description="If it is taken back, who has it is told so long ahead; 0: not at all"),
]


class SubLeaseCreation(RequestModel):
    """The body of POST /v1/leases/{id}/sub-leases: which hosts of a lease, or how many, are lent to which project.

    The handler requires exactly one of `hosts` and `amount`.
    """

    name: Name
    project_id: Annotated[ProjectId, Field(description="The other project that gets the hosts")]
    end_date: Annotated[Date | None, Field(description="The end of the lease, if it is left out")] = None
    reservation_id: Annotated[
        Ident | None, Field(description="The reservation to lend of; needed if the lease has several of hosts")
    ] = None
    hosts: Annotated[
        list[Ident] | None,
        Field(min_length=1, max_length=MOST_HOSTS, description="For callers who may list hosts: their ids or names"),
    ] = None
    amount: Annotated[int | None, Field(ge=1, le=MOST_HOSTS, description="How many hosts that nothing uses")] = None
    notice_seconds: NoticeSeconds = 0


class SubLeaseAnswer(TypedDict):
    """A sub-lease as its lender sees it: to whom it is lent, from when to when, its status, and how many hosts it has.

    It is a lease of its project, which `GET /v1/leases/{id}` shows to that project.
    """

    id: str
    parent_id: str
    project_id: str
    start_date: str
    end_date: str
    status: str
    notice_seconds: int
    taken_back_at: str | None
    amount: int


OneSubLease = answer("OneSubLease", "The answer about one sub-lease.", sub_lease=SubLeaseAnswer)
SubLeaseList = answer(
    "SubLeaseList", "The answer about the sub-leases of a lease that are not deleted.", sub_leases=list[SubLeaseAnswer]
)


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
    notice_seconds: NoticeSeconds = 0


class SubOfferCreation(RequestModel):
    """The body of POST /v1/leases/{lease_id}/published-offers: how many hosts of a lease others may claim, and when.

    `for_project_id` is the only project that may, null means all. Without a start they are claimed from now on.
    """

    name: Name
    amount: Annotated[int, Field(ge=1, le=MOST_HOSTS, description="How many hosts of the reservation")]
    start_date: Date = "now"
    end_date: Annotated[Date | None, Field(description="The end of the lease, if it is left out")] = None
    reservation_id: Annotated[
        Ident | None, Field(description="The reservation to offer of; needed if the lease has several of hosts")
    ] = None
    for_project_id: Owner | None = None
    notice_seconds: NoticeSeconds = 0


class ClaimCreation(RequestModel):
    """The body of POST /v1/published-offers/{published_id}/claims: the name of the lease, and which part of the window.

    Hosts of a lease are claimed from now on, `amount` of them, or one. With `dry_run` the answer says what would
    happen, and nothing is done.
    """

    name: Name
    start_date: StartDate = None
    end_date: EndDate = None
    amount: Annotated[
        int | None, Field(ge=1, le=MOST_HOSTS, description="How many hosts of a lease; null means one")
    ] = None
    purpose: Purpose | None = None
    dry_run: DryRun = None

    since = SINCE_OF_PURPOSE


class FreeRange(TypedDict):
    """A time in which the resource can be claimed."""

    start_date: str
    end_date: str


class PublishedOfferAnswer(TypedDict):
    """A published offer: `status` is `available`, `expired`, `deleted` or `error`; `free` is in the answer about one.

    Whose it is, for whom, and which resource or lease it is of: null for other projects. `amount` and `left` are null
    for a resource: so many hosts of a lease are offered, and so many can be claimed, if nothing runs on them. Each of
    them has the `capacity` at least.
    """

    id: str
    name: str
    status: str
    resource_type: str | None
    resource_id: str | None
    resource_name: str | None
    capacity: dict[str, int]
    lease_id: str | None
    amount: int | None
    left: int | None
    project_id: str | None
    user_id: str | None
    for_project_id: str | None
    notice_seconds: int
    start_date: str
    end_date: str
    created_at: str
    free: NotRequired[list[FreeRange]]


OnePublishedOffer = answer(
    "OnePublishedOffer", "The answer about one published offer.", published_offer=PublishedOfferAnswer
)
PublishedOfferList = answer(
    "PublishedOfferList", "The answer about published offers.", published_offers=list[PublishedOfferAnswer]
)
