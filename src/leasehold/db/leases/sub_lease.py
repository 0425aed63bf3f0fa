"""Sub-leases: which there are of a lease, and which of them still have something (feature I4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import exists, select

from leasehold.db.tables import allocations, leases

if TYPE_CHECKING:
    from sqlalchemy import Connection


def sub_leases_of(connection: Connection, lease_id: str) -> list[str]:
    """Return the sub-leases of a lease that are not deleted, by id."""
    query = select(leases.c.id).where(leases.c.parent_id == lease_id, leases.c.deleted_at.is_(None))
    return sorted(connection.execute(query).scalars())


def holding_sub_leases(connection: Connection, lease_id: str) -> list[str]:
    """Return the sub-leases of a lease that have not released everything, deleted ones too, by id."""
    holds = exists().where(allocations.c.lease_id == leases.c.id, allocations.c.released_at.is_(None))
    query = select(leases.c.id).where(leases.c.parent_id == lease_id, holds)
    return sorted(connection.execute(query).scalars())
