"""When a lease holds what it has, so that an index finds the leases that may hold something in a window.

A lease notes a moment from which it holds, and the least of `LENGTHS` within which all of it ends. So those that may
hold something in a window are one range of begins for each length, however many leases lie before and after it. What
is noted counts for the generation of the lease that it was noted at. A process that does not know it notes nothing, so
that lease is read whatever its window: the column `holds_for` is then NULL by itself.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import BigInteger, and_, bindparam, or_, select, union_all

from leasehold.db.columns.ending import FOR_GOOD
from leasehold.db.tables import allocations, leases
from leasehold.model.terms.ending import counted_longest
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    from sqlalchemy import CompoundSelect, Connection, Select

    from leasehold.model.lease import Lease
    from leasehold.model.windows import Window

LENGTHS: Final = (*(4**power for power in range(5, 13)), 4**19)
"""Seconds: from 17 minutes to half a year, each four times the one before, and more than databases store dates."""
NOTHING: Final = 0
"""The length of a lease that was deleted."""


def _begin(lease: Lease) -> int:
    return min(to_seconds(lease.begins), to_seconds(lease.window.start))


def _length(lease: Lease) -> int:
    if lease.deleted_at is not None:
        return NOTHING
    end = to_seconds(counted_longest(lease.window, (part.ending for part in lease.reservations)).end)
    whole = end - _begin(lease)
    length: int = next(each for each in LENGTHS if whole <= each)
    return length


NOTED: Final[Mapping[str, Callable[[Lease], int]]] = {
    "holds_from": _begin,
    "holds_length": _length,
    "holds_noted": attrgetter("generation"),
}
"""The columns that note when a lease, at its generation, holds what limits count."""


def in_window(window: Window) -> dict[str, int]:
    """Return the parameters of `may_hold` for a window."""
    start, end = window.seconds
    return {"window_start": start, "window_end": end} | {f"since_{each}": start - each for each in LENGTHS}


def may_hold(some: Select[Any]) -> CompoundSelect[Any]:
    """Return the query for those of some leases that may hold something in the window of `in_window`.

    One query for each length: with OR, SQLite reads all of these leases.
    """
    lengths = (
        some.where(
            leases.c.holds_for == each,
            leases.c.holds_from > bindparam(f"since_{each}", type_=BigInteger),
            leases.c.holds_from < bindparam("window_end", type_=BigInteger),
        )
        for each in LENGTHS
    )
    return union_all(some.where(leases.c.holds_for.is_(None)), *lengths)


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
