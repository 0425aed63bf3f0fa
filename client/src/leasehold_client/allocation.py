"""Which reservations hosts and other resources are promised to, and when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import read_as
from leasehold_client.calls.part import ALL
from leasehold_client.calls.transport import Calls
from leasehold_client.calls.wire import said, under

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold_client.calls.part import ListPart


@dataclass(frozen=True, slots=True)
class Booking:
    """A reservation's time on a host, `[start, end)`, aware and in UTC."""

    reservation_id: str
    lease_id: str
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Allocation:
    """All bookings of one host or other resource; `values` is the service's answer."""

    host_id: str
    bookings: tuple[Booking, ...]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Allocation:
        bookings = (read_as(Booking, each, reservation_id=each["id"]) for each in values["reservations"])
        return cls(str(values["resource_id"]), tuple(bookings), values)


class Allocations(Calls):
    """The bookings of the enrolled resources of a type, None for hosts; by default only administrators see them."""

    def list(
        self,
        resource_type: str | None = None,
        *,
        lease_id: str | None = None,
        reservation_id: str | None = None,
        part: ListPart = ALL,
    ) -> list[Allocation]:
        """Return every resource's bookings, of one lease or reservation if it is named; `part` is of the resources."""
        query = said(lease_id=lease_id, reservation_id=reservation_id) | part.query()
        answer = self._transport.get(f"{under(resource_type)}/allocations", query)
        return [Allocation.read(each) for each in answer["allocations"]]

    def get(
        self,
        ident: str,
        resource_type: str | None = None,
        *,
        lease_id: str | None = None,
        reservation_id: str | None = None,
    ) -> Allocation:
        """Return one resource's bookings, of one lease or reservation if it is named."""
        query = said(lease_id=lease_id, reservation_id=reservation_id)
        answer = self._transport.get(f"{under(resource_type)}/{ident}/allocation", query)
        return Allocation.read(answer["allocation"])
