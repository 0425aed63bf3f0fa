"""Allocations of hosts (contract http-api §6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.listing import Listing
from leasehold.api.views.allocation import show_allocations
from leasehold.leasing import queries
from leasehold.model.errors import NotFoundError
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from leasehold.api.call import Call


def list_allocations(call: Call) -> Reply:
    """Show the allocations of every host; `lease_id` and `reservation_id` filter the allocations, not the hosts."""
    found = queries.each_allocation(
        call.service, HOST, lease_id=call.query_id("lease_id"), reservation_id=call.query_id("reservation_id")
    )
    return Reply(Listing("allocations", (show_allocations(host, allocations) for host, allocations in found)))


def show(call: Call, host_id: str) -> Reply:
    """Show the allocations of one host."""
    found = queries.each_allocation(
        call.service,
        HOST,
        resource_id=host_id,
        lease_id=call.query_id("lease_id"),
        reservation_id=call.query_id("reservation_id"),
    )
    for host, allocations in found:
        return Reply({"allocation": show_allocations(host, allocations)})
    raise NotFoundError("host_id", host_id)
