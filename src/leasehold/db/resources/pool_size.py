"""What the size of the reservation pool depends on: when the first promise on each resource begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, func, or_, select

from leasehold.db.tables import allocations
from leasehold.model.windows import from_seconds, to_seconds

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection


def first_promises(connection: Connection, pool: str, now: datetime) -> dict[int, datetime]:
    """Return by number when the first allocation of each resource of a pool begins that is not over and released.

    A resource without any is left out; the moment of one that is in use lies in the past.
    """
    lasting = and_(allocations.c.ends_at > to_seconds(now), allocations.c.ends_at > allocations.c.starts_at)
    query = (
        select(allocations.c.resource_number, func.min(allocations.c.starts_at))
        .where(allocations.c.pool == pool, or_(lasting, allocations.c.released_at.is_(None)))
        .group_by(allocations.c.resource_number)
    )
    return {number: from_seconds(int(start)) for number, start in connection.execute(query)}
