"""Allocations of hosts (contract http-api §6.1), and from 1.2 on of resources of any type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from leasehold.api.call import Reply
from leasehold.api.dates import to_wire
from leasehold.api.handlers.resource import known
from leasehold.api.listing import Listing
from leasehold.api.models.base import answer
from leasehold.api.paging import ListKeys
from leasehold.leasing.reading import queries
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.api.call import Call
    from leasehold.model.allocation import Allocation
    from leasehold.model.resource import Resource


class ReservedAnswer(TypedDict):
    """One slot of a host that is allocated to a reservation; `id` is the reservation's."""

    id: str
    lease_id: str
    start_date: str
    end_date: str


class AllocationAnswer(TypedDict):
    """The allocations of one host."""

    resource_id: str
    reservations: list[ReservedAnswer]


OneAllocation = answer("OneAllocation", "The answer about one host.", allocation=AllocationAnswer)
AllocationList = answer("AllocationList", "The answer about all hosts.", allocations=list[AllocationAnswer])


LISTED = ListKeys()


def list_allocations(call: Call, resource_type: str = HOST) -> Reply:
    """Show the allocations of every resource; `lease_id` and `reservation_id` filter the allocations only.

    From 1.3 on in pages; the marker is the `resource_id` of the last resource of the page before.
    """
    found = queries.each_allocation(
        call.service,
        known(call, resource_type).name,
        lease_id=call.query_id("lease_id"),
        reservation_id=call.query_id("reservation_id"),
        part=LISTED.asked(call),
    )
    return Reply(Listing("allocations", (show_allocations(each, allocations) for each, allocations in found)))


def show(call: Call, resource_id: str, resource_type: str = HOST) -> Reply:
    """Show the allocations of one resource."""
    found = queries.each_allocation(
        call.service,
        known(call, resource_type).name,
        resource_id=resource_id,
        lease_id=call.query_id("lease_id"),
        reservation_id=call.query_id("reservation_id"),
    )
    return Reply({"allocation": next(show_allocations(each, allocations) for each, allocations in found)})


def show_of_host(call: Call, host_id: str) -> Reply:
    """Show the allocations of one host."""
    return show(call, host_id)


def show_allocations(resource: Resource, allocations: Sequence[Allocation]) -> AllocationAnswer:
    """Return the allocations of the resource; a reservation that has n slots of it is shown n times."""
    return {
        "resource_id": resource.id,
        "reservations": [_reserved(allocation) for allocation in allocations for _ in range(allocation.slots)],
    }


def _reserved(allocation: Allocation) -> ReservedAnswer:
    return {
        "id": allocation.reservation_id,
        "lease_id": allocation.lease_id,
        "start_date": to_wire(allocation.window.start),
        "end_date": to_wire(allocation.window.end),
    }
