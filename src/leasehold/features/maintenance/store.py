"""Which leases have certain resources in a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from leasehold.db.tables import allocations

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from leasehold.model.windows import Window

FEW = 500
"""Numbers in one query, so that no database refuses it as too long."""


def leases_within(connection: Connection, numbers: Collection[int], window: Window) -> list[str]:
    """Return the ids of the leases that have one of the resources at some moment of the window, sorted.

    A vacated resource that is not released counts: it may have servers.
    """
    start, end = window.seconds
    wanted, found = sorted(numbers), set[str]()
    query = select(allocations.c.lease_id).where(
        allocations.c.starts_at < end,
        allocations.c.ends_at > start,
        allocations.c.ends_at > allocations.c.starts_at,
        allocations.c.released_at.is_(None),
    )
    for begin in range(0, len(wanted), FEW):
        some = query.where(allocations.c.resource_number.in_(wanted[begin : begin + FEW])).distinct()
        found.update(connection.execute(some).scalars())
    return sorted(found)
