"""Which leases may hold something in a window, by what `db/columns/holding.py` has noted of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import BigInteger, and_, bindparam, or_, select, union_all

from leasehold.db.columns.ending import FOR_GOOD
from leasehold.db.columns.lasting import ranges
from leasehold.db.tables import allocations, leases
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import CompoundSelect, Connection, Select

    from leasehold.model.windows import Window


def in_window(window: Window) -> dict[str, int]:
    """Return the parameters of `may_hold` for a window."""
    start, end = window.seconds
    return {"window_start": start, "window_end": end}


def may_hold(some: Select[Any]) -> CompoundSelect[Any]:
    """Return the query for those of some leases that may hold something in the window of `in_window`."""
    window = (bindparam(name, type_=BigInteger) for name in ("window_start", "window_end"))
    return union_all(
        some.where(leases.c.holds_for.is_(None)), *ranges(some, leases.c.holds_for, leases.c.holds_from, *window)
    )


def wrongly_noted(connection: Connection, now: datetime) -> list[str]:
    """Return the ids of the leases that hold something from now on when it is noted that they do not, sorted."""
    moment, end = to_seconds(now), leases.c.holds_from + leases.c.holds_for
    # What is for good, or is lent, counts to the end of its lease.
    to_its_end = and_(allocations.c.ends_at < FOR_GOOD, leases.c.parent_id.is_(None))
    before = and_(allocations.c.starts_at < leases.c.holds_from, leases.c.holds_from > moment)
    after = and_(to_its_end, allocations.c.ends_at > end)
    held = select(allocations.c.lease_id).where(
        allocations.c.ends_at > moment, allocations.c.ends_at > allocations.c.starts_at, or_(before, after)
    )
    query = held.join(leases, leases.c.id == allocations.c.lease_id).where(leases.c.deleted_at.is_(None)).distinct()
    return sorted(connection.execute(query).scalars())
