"""With whom a lease may be shared: who may use all that it has (feature I7, decision 0112)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.db.resources.resource import resources_by_number
from leasehold.leasing.deciding.allocations import held_by
from leasehold.model.errors import BusyError, ClosedToError

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.resource_types.registry import ResourceTypes

MOST_UNTOLD = 30
"""How many projects may be taken off a lease before the cloud has been told of the first of them."""


def check_sharing(service: Service, connection: Connection, lease: Lease, after: Lease, now: datetime) -> None:
    """Raise an error if a lease, which is locked after its pools, cannot be shared as it is to be.

    That of its source; ClosedToError for projects that may not use a resource that it has, or has lent; BusyError while
    the cloud is still to be told of many others.
    """
    untold = max((sum(may is False for may in part.shares.values()) for part in after.kept), default=0)
    if untold > MOST_UNTOLD:
        message = f"The cloud is still to be told that {untold} projects may no longer use the lease; try again later."
        raise BusyError(message, field="shared_with")
    added = [project for project in after.shared_with if project not in lease.shared_with]
    if not added:
        return
    opened = service.source_of(lease).opened(connection, lease, added, now)
    numbers = _used(service.types, lease).difference(opened)
    found = resources_by_number(connection, numbers).values()
    closed = [project for project in added if not all(each.open_to(project) for each in found)]
    if closed:
        raise ClosedToError(closed)


def _used(types: ResourceTypes, lease: Lease) -> set[int]:
    """Return the numbers of the resources that other projects would use, and of those that come back to the lease."""
    numbers: set[int] = set()
    for part in lease.kept:
        found = types.find(part.resource_type)
        if found is None or found.kind.shared:
            lent = [held for held in part.allocations if held.lent]
            numbers |= {held.resource_number for held in (*held_by(part, lease), *lent)}
    return numbers
