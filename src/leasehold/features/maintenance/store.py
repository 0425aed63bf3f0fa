"""Which leases have certain resources in a window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from leasehold.db.dialects import rows_among
from leasehold.db.tables import allocations

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

    from leasehold.model.windows import Window


def leases_within(connection: Connection, numbers: Collection[int], window: Window) -> list[str]:
    """Return the ids of the leases that have one of the resources at some moment of the window, sorted.

    A vacated resource that is not released counts: it may have servers.
    """
    start, end = window.seconds
    within = (allocations.c.starts_at < end, allocations.c.ends_at > start)
    there = (allocations.c.ends_at > allocations.c.starts_at, allocations.c.released_at.is_(None))
    query = select(allocations.c.lease_id).where(*within, *there).distinct()
    return sorted({ident for (ident,) in rows_among(connection, query, allocations.c.resource_number, numbers)})
