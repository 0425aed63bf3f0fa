"""Published offers: what owners and lessees lend for a window, and claims of a part of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold_client.collection import OwnCollection, said
from leasehold_client.lease import Lease
from leasehold_client.named import is_id, one_named
from leasehold_client.wire import read_time, write_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class PublishedOffer:
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
        """Return the offer of an answer."""
        ranges = [tuple(read_time(each[key]) for key in ("start_date", "end_date")) for each in values.get("free", ())]
        return cls(
            **{key: values[key] for key in ("id", "name", "status", "resource_type", "left")},
            start=read_time(values["start_date"]),
            end=read_time(values["end_date"]),
            free=[(start, end) for start, end in ranges],
            values=values,
        )


class PublishedOffers(OwnCollection[PublishedOffer]):
    """The offers of the caller's project, and those of others that are open to it."""

    PATH, ONE, MANY, NOUN = "/published-offers", "published_offer", "published_offers", "published offer"
    THING = PublishedOffer

    def find(self, name: str) -> PublishedOffer:
        """Return the one with this id, or the only one with this name that is not deleted; raises NotFoundError."""
        if is_id(name):
            return self.get(name)
        found = {each.id: each for each in self.list() if each.status != "deleted"}
        return found[one_named(self.NOUN, name, ((each.id, each.name) for each in found.values()))]

    def create(
        self,
        name: str,
        resource_type: str,
        resource_id: str,
        end: datetime,
        start: datetime | None = None,
        for_project: str | None = None,
    ) -> PublishedOffer:
        """Publish a resource of the project until `end`, from now on or from `start`, to all projects or to one."""
        begin = None if start is None else write_time(start)
        body = {"name": name, "resource_type": resource_type, "resource_id": resource_id, "end_date": write_time(end)}
        return self._create(body | said(start_date=begin, for_project_id=for_project))

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
    ) -> PublishedOffer:
        """Publish hosts of an active lease until `end`, else all along, from now on or from `start`."""
        dates = {key: when and write_time(when) for key, when in (("start_date", start), ("end_date", end))}
        more = said(**dates, reservation_id=reservation_id, for_project_id=for_project)
        answer = self._transport.post(f"/leases/{lease_id}{self.PATH}", {"name": name, "amount": amount, **more})
        return PublishedOffer.read(answer[self.ONE])

    def claim(
        self,
        ident: str,
        name: str,
        start: datetime | None = None,
        end: datetime | None = None,
        amount: int | None = None,
    ) -> Lease:
        """Lease a part of an offer; by default what is free of it from now on, and of hosts of a lease one."""
        dates = {key: when and write_time(when) for key, when in (("start_date", start), ("end_date", end))}
        body = {"name": name, **said(**dates, amount=amount)}
        answer = self._transport.post(f"{self.PATH}/{ident}/claims", body, key=str(uuid4()))
        return Lease.read(answer["lease"])
