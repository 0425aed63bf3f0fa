"""Formats of sub-leases, from 1.3 on."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel
from leasehold.api.models.lease import Date, Ident, ProjectId  # noqa: TC001 - read at run time
from leasehold.api.models.name import Name  # noqa: TC001 - read at run time

MOST_HOSTS = 1_000


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
    amount: int


class OneSubLease(TypedDict):
    """The answer about one sub-lease."""

    sub_lease: SubLeaseAnswer


class SubLeaseList(TypedDict):
    """The answer about the sub-leases of a lease that are not deleted."""

    sub_leases: list[SubLeaseAnswer]
