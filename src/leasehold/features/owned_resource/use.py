"""What owners do with their resources: see who leases them, and end such a lease (feature I1, decision 0108)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_lease
from leasehold.db.resources.resource import owned_resources, resources_by_number
from leasehold.features.owned_resource.model import OwnedResource
from leasehold.features.owned_resource.store import uses_of_owned
from leasehold.leasing.delete import take_back
from leasehold.leasing.sub_lease import sub_leases_with
from leasehold.model.errors import ConflictError, NotFoundError
from leasehold.model.paging import WHOLE, PageRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease


def list_owned(service: Service, project_id: str | None, part: PageRequest = WHOLE) -> Sequence[OwnedResource]:
    """Return a part of the resources of a project, or with None of all owners, each with the leases that use it."""
    with service.db.reading() as connection:
        found = owned_resources(connection, project_id, part)
        page = None if part.limit is None else [each.number for each in found]
        uses = uses_of_owned(connection, project_id, page)
    return [OwnedResource(each, uses.get(each.number, ())) for each in found]


def end_lease(service: Service, project_id: str, lease_id: str) -> None:
    """Take back a lease of any project all of whose resources belong to this one, with its sub-leases.

    Raises NotFoundError for a lease that has none of them, and ConflictError for one that has others as well or is a
    maintenance window.
    """
    check = partial(_check_owner, project_id)
    with service.db.reading() as connection:
        lease = find_lease(connection, lease_id)
        if lease is None:
            raise _absent(lease_id)
        check(connection, lease)
    take_back(service, lease_id, check)


def _check_owner(project_id: str, connection: Connection, lease: Lease) -> None:
    # With the lease its sub-leases end.
    every = (lease, *sub_leases_with(connection, lease))
    parts = (part for one in every for part in one.reservations)
    held = (each for part in parts for each in part.allocations if each.released_at is None)
    found = resources_by_number(connection, {each.resource_number for each in held})
    owned = [each.owner == project_id for each in found.values()]
    if not any(owned):
        raise _absent(lease.id)
    if lease.is_maintenance:
        raise ConflictError("This is a maintenance window. Ask an operator to delete it.")
    if not all(owned):
        message = "The lease has resources of others too, so their owner cannot end it. Ask its project or an operator."
        raise ConflictError(message)


def _absent(lease_id: str) -> NotFoundError:
    return NotFoundError("lease_id", lease_id)
