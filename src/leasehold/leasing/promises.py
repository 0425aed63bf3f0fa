"""Which of a reservation's promises still count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.model.windows import to_seconds

if TYPE_CHECKING:
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation


def lasts(held: Allocation, lease: Lease) -> bool:
    """Say whether a promise lasts to the end of its lease.

    One that was ended before, as when a failed host was replaced, may still wait for its release; it is never
    prolonged with the lease. Promises are kept in whole seconds.
    """
    ends = to_seconds(held.window.end)
    return held.released_at is None and held.window.end > held.window.start and ends >= to_seconds(lease.window.end)


def held_by(part: Reservation, lease: Lease) -> list[Allocation]:
    """Return the promises of a reservation that last to the end of its lease."""
    return [held for held in part.allocations if lasts(held, lease)]
