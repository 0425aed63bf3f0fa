"""Offers: leases that are held for some minutes, until they are accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold_client.collection import OwnCollection, said
from leasehold_client.lease import Lease
from leasehold_client.wire import read_time

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from leasehold_client.lease import LeaseRequest


@dataclass(frozen=True, slots=True)
class Offer:
    """A lease that is held until `expires`, aware and in UTC; its id is that of the lease."""

    id: str
    state: str
    expires: datetime
    lease: Lease
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of the lease."""
        return self.lease.name

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Offer:
        """Return the offer of an answer."""
        lease, expires = Lease.read(values["lease"]), read_time(values["expires_at"])
        return cls(id=values["id"], state=values["state"], expires=expires, lease=lease, values=values)


class Offers(OwnCollection[Offer]):
    """The offers of the caller's project that are open."""

    PATH, ONE, MANY, NOUN = "/offers", "offer", "offers", "offer"
    THING = Offer

    def create(self, request: LeaseRequest, hold: timedelta | None = None) -> Offer:
        """Have a lease offered, and held for so long; None is what the operators have configured."""
        seconds = None if hold is None else int(hold.total_seconds())
        return self._create({**request.body(), **said(hold_seconds=seconds)}, key=str(uuid4()))

    def accept(self, ident: str) -> Lease:
        """Make the offer a lease."""
        return Lease.read(self._transport.post(f"{self.PATH}/{ident}/accept", {})["lease"])
