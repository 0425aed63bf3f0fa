"""Which leases are maintenance windows, and what they close: heal, audit and amend look past them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from leasehold.db.allocation import as_allocation
from leasehold.db.tables import allocations, reservations
from leasehold.model.resource import MAINTENANCE

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from leasehold.model.allocation import Allocation


def windows_on(connection: Connection, numbers: Collection[int]) -> list[Allocation]:
    """Return all live allocations of the maintenance windows that have one of these resources."""
    windows = (
        select(allocations.c.reservation_id)
        .join(reservations, reservations.c.id == allocations.c.reservation_id)
        .where(allocations.c.resource_number.in_(numbers), reservations.c.resource_type == MAINTENANCE)
    )
    query = select(allocations).where(allocations.c.reservation_id.in_(windows), allocations.c.released_at.is_(None))
    return [as_allocation(row) for row in connection.execute(query)]


def maintenance_reservations(connection: Connection) -> set[str]:
    """Return the ids of the reservations that are maintenance windows."""
    query = select(reservations.c.id).where(reservations.c.resource_type == MAINTENANCE)
    return set(connection.execute(query).scalars())
