"""Allocations of hosts (contract http-api §6.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.api.call import Reply
from leasehold.api.views.allocation import show_allocations
from leasehold.leasing import queries
from leasehold.model.errors import InvalidInputError, NotFoundError
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from leasehold.api.call import Call

LONGEST_ID = 255


def list_allocations(call: Call) -> Reply:
    """Show what every host is promised to; `lease_id` and `reservation_id` narrow the promises, not the hosts."""
    found = queries.list_allocations(
        call.service, HOST, lease_id=_id(call, "lease_id"), reservation_id=_id(call, "reservation_id")
    )
    return Reply({"allocations": [show_allocations(host, allocations) for host, allocations in found]})


def show(call: Call, host_id: str) -> Reply:
    """Show what one host is promised to."""
    found = queries.list_allocations(
        call.service,
        HOST,
        resource_id=host_id,
        lease_id=_id(call, "lease_id"),
        reservation_id=_id(call, "reservation_id"),
    )
    for host, allocations in found:
        return Reply({"allocation": show_allocations(host, allocations)})
    raise NotFoundError("host_id", host_id)


def _id(call: Call, key: str) -> str | None:
    value = call.query(key)
    if value is not None and not (len(value) <= LONGEST_ID and value.isascii() and value.isprintable()):
        raise InvalidInputError(f"{key} is not an id. Send one as it stands in an answer.", field=key)
    return value
