"""Allocations of hosts (contract http-api §6.1), and from 1.2 on of resources of any type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.handlers.resource import known
from leasehold.api.listing import Listing
from leasehold.api.paging import ListKeys
from leasehold.api.views.allocation import show_allocations
from leasehold.leasing.reading import queries
from leasehold.model.resource import HOST

LISTED = ListKeys()

if TYPE_CHECKING:
    from leasehold.api.call import Call


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
