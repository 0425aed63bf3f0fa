"""Resources that are held for a best-effort lease while its hosts are drawn (decision 0060)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import or_, select

from leasehold.db.resources.resource import resources_by_number
from leasehold.db.tables import leases, resources
from leasehold.model.states import LeaseStatus

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.model.resource import Resource

_OF_LEASE = select(resources.c.number).where(resources.c.held_for.is_not(None), resources.c.alive == 1)


def held_resources(connection: Connection, lease_id: str | None = None) -> list[Resource]:
    """Return the enrolled resources that are held for a lease, or for any, by number."""
    query = _OF_LEASE if lease_id is None else _OF_LEASE.where(resources.c.held_for == lease_id)
    found = resources_by_number(connection, connection.execute(query).scalars())
    return [found[number] for number in sorted(found)]


def held_in_vain(connection: Connection) -> list[Resource]:
    """Return the enrolled resources that are held for a lease that does not wait any more, or that never was."""
    over = or_(leases.c.id.is_(None), leases.c.deleted_at.is_not(None), leases.c.status != LeaseStatus.IN_PROGRESS)
    query = _OF_LEASE.join_from(resources, leases, leases.c.id == resources.c.held_for, isouter=True).where(over)
    found = resources_by_number(connection, connection.execute(query).scalars())
    return [found[number] for number in sorted(found)]
