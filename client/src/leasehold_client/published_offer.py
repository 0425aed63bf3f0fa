"""Published offers: what owners and lessees lend for a window, and claims of a part of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import OwnCollection
from leasehold_client.calls.wire import read_time, said
from leasehold_client.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class PublishedOffer(AnswerModel):
    """An offer from `start` to `end`; `free` is what can be claimed of it, where it was asked for by itself.

    `left` is how many hosts of a lease can be claimed if nothing runs on them, None for a resource. All dates are aware
    and in UTC.
    """

    id: str
    name: str
    status: str
    resource_type: str | None
    left: int | None
    start: datetime
    end: datetime
    free: Sequence[tuple[datetime, datetime]]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> PublishedOffer:
        free = [(read_time(each["start_date"]), read_time(each["end_date"])) for each in values.get("free", ())]
        return read_as(cls, values, free=free)


class PublishedOffers(OwnCollection[PublishedOffer]):
    """The offers of the caller's project, and those of others that are open to it."""

    PATH, ONE, MANY, NOUN = "/published-offers", "published_offer", "published_offers", "published offer"
    THING = PublishedOffer

    def _named(self) -> list[PublishedOffer]:
        return [each for each in super()._named() if each.status != "deleted"]

    def create(
        self,
        name: str,
        resource_type: str,
        resource_id: str,
        end: datetime,
        start: datetime | None = None,
        for_project: str | None = None,
        notice: timedelta | None = None,
    ) -> PublishedOffer:
        """Publish a resource of the project until `end`, from now on or from `start`, to all projects or to one.

        If it is taken back, who has claimed it is told so long ahead.
        """
        dates = said(start_date=start, end_date=end)
        body = {"name": name, "resource_type": resource_type, "resource_id": resource_id, **dates}
        return self._create(body | said(for_project_id=for_project, notice_seconds=notice))

    def create_of_lease(
        self,
        lease_id: str,
        name: str,
        amount: int,
        end: datetime | None = None,
        start: datetime | None = None,
        *,
        reservation_id: str | None = None,
        for_project: str | None = None,
        notice: timedelta | None = None,
    ) -> PublishedOffer:
        """Publish hosts of an active lease until `end`, else all along, from now on or from `start`.

        If they are taken back, who has claimed them is told so long ahead.
        """
        more = said(start_date=start, end_date=end, reservation_id=reservation_id, for_project_id=for_project)
        more |= said(notice_seconds=notice)
        answer = self._transport.post(f"/leases/{lease_id}{self.PATH}", {"name": name, "amount": amount, **more})
        return PublishedOffer.read(answer[self.ONE])

    def claim(
        self,
        ident: str,
        name: str,
        start: datetime | None = None,
        end: datetime | None = None,
        amount: int | None = None,
        purpose: str | None = None,
    ) -> Lease:
        """Lease a part of an offer; by default what is free of it from now on, and of hosts of a lease one."""
        body = {"name": name, **said(start_date=start, end_date=end, amount=amount, purpose=purpose)}
        answer = self._transport.post(f"{self.PATH}/{ident}/claims", body, key=str(uuid4()))
        return Lease.read(answer["lease"])
