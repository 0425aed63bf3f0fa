"""When a lease holds what it has, so that an index finds the leases that may hold something in a window.

A lease notes a moment from which it holds, and the least of `LENGTHS` within which all of it ends. So those that may
hold something in a window are one range of begins for each length, however many leases lie before and after it. What
is noted counts for the generation of the lease that it was noted at. A process that does not know it notes nothing, so
that lease is read whatever its window: the column `holds_for` is then NULL by itself.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from leasehold.model.terms.ending import counted_longest
from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from leasehold.model.lease import Lease

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
