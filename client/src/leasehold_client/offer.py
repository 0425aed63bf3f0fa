"""Offers: leases that are held for some minutes, until they are accepted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import OwnCollection
from leasehold_client.calls.wire import read_time, said
from leasehold_client.lease import Lease

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime, timedelta

    from leasehold_client.lease import LeaseRequest


@dataclass(frozen=True, slots=True)
class Offer(AnswerModel):
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
        return read_as(cls, values, expires=read_time(values["expires_at"]), lease=Lease.read(values["lease"]))


class Offers(OwnCollection[Offer]):
    """The offers of the caller's project that are open."""

    PATH, ONE, MANY, NOUN = "/offers", "offer", "offers", "offer"
    THING = Offer

    def create(self, request: LeaseRequest, hold: timedelta | None = None) -> Offer:
        """Have a lease offered, and held for so long; None is what the operators have configured."""
        return self._create({**request.body(), **said(hold_seconds=hold)}, key=str(uuid4()))

    def accept(self, ident: str) -> Lease:
        """Make the offer a lease."""
        return Lease.read(self._transport.post(f"{self.PATH}/{ident}/accept", {})["lease"])
