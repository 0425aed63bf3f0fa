"""Which leases use the resources of an owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from leasehold.db.tables import allocations, leases, resources
from leasehold.features.owned_resource.model import OwnedUse
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

_SHOWN = (leases.c.id, leases.c.project_id, leases.c.start_at, leases.c.end_at, leases.c.status)


def uses_of_owned(
    connection: Connection, project_id: str | None, page: Collection[int] | None = None
) -> dict[int, list[OwnedUse]]:
    """Return the leases that have, or have not given back, resources of a project, or with None of any owner.

    By the number of the resource, the first to begin first; with a `page` only those of the resources of these numbers.
    Offers that nobody has accepted are left out.
    """
    mine = resources.c.owner.is_not(None) if project_id is None else resources.c.owner == project_id
    query = (
        select(allocations.c.resource_number, *_SHOWN)
        .distinct()
        .join(resources, resources.c.number == allocations.c.resource_number)
        .join(leases, leases.c.id == allocations.c.lease_id)
        .where(mine, resources.c.alive == 1, allocations.c.released_at.is_(None))
        .where(leases.c.deleted_at.is_(None), leases.c.status != LeaseStatus.OFFERED)
        .order_by(leases.c.start_at, leases.c.id)
    )
    if page is not None:
        query = query.where(resources.c.number.in_(page))
    found: dict[int, list[OwnedUse]] = {}
    for number, ident, project, start, end, status in connection.execute(query):
        use = OwnedUse(ident, project, Window(start, end), LeaseStatus(status))
        found.setdefault(number, []).append(use)
    return found
