"""Which leases are maintenance windows, and what they close: heal, audit and amend look past them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from leasehold.db.allocation import as_allocation
from leasehold.db.dialects import rows_among
from leasehold.db.tables import allocations, reservations
from leasehold.model.resource import MAINTENANCE

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from leasehold.model.allocation import Allocation
    from leasehold.model.windows import Window


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


def leases_within(connection: Connection, numbers: Collection[int], window: Window) -> list[str]:
    """Return the ids of the leases that have one of the resources at some moment of the window, sorted.

    A vacated resource that is not released counts: it may have servers.
    """
    start, end = window.seconds
    within = (allocations.c.starts_at < end, allocations.c.ends_at > start)
    there = (allocations.c.ends_at > allocations.c.starts_at, allocations.c.released_at.is_(None))
    query = select(allocations.c.lease_id).where(*within, *there).distinct()
    return sorted({ident for (ident,) in rows_among(connection, query, allocations.c.resource_number, numbers)})
