"""Write what leases get: a new one, those that make room for it, and one that gets something instead."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from leasehold.db.allocation import Grant, end_allocations, insert_allocations
from leasehold.leasing.deciding.mending import difference
from leasehold.model.segment import Cause

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leasehold.leasing.deciding.decide import Asked
    from leasehold.leasing.deciding.rebinding_search import Move, RoomMade
    from leasehold.leasing.locks import Locks
    from leasehold.model.allocation import Allocation, Pick
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class Promised:
    """What each reservation of a lease gets, and who moves for it.

    `window` is that of the lease with its lead, as far as it lies ahead.
    """

    asked: Sequence[Asked]
    room: RoomMade
    window: Window

    def grants(self, locks: Locks, lease: Lease) -> list[Grant]:
        """Return the allocations that the lease gets."""
        return [
            Grant(asked.kind.pool, locks.next(asked.kind.pool), lease.id, part.id, window, pick)
            for part, asked, window, chosen in self.parts(lease)
            for pick in chosen
        ]

    def parts(self, lease: Lease) -> Iterator[tuple[Reservation, Asked, Window, Sequence[Pick]]]:
        """Yield each reservation of the lease, what it asks for, from when to when it holds that, and what it gets."""
        for part, asked, chosen in zip(lease.reservations, self.asked, self.room.picks, strict=True):
            yield part, asked, part.ending.held(self.window), chosen


def write_moves(moves: Sequence[Move], locks: Locks) -> None:
    """Write the moves of a room: what the leases have that make it."""
    for move in moves:
        gone, fresh = difference(move.of.held, move.picks)
        change = AllocationChange(locks, move.of.kind.pool, Cause.MOVED, move.of.lease_id, move.of.id, move.of.window)
        change.write(gone, [(pick, False) for pick in fresh])


@dataclass(frozen=True, slots=True)
class AllocationChange:
    """A change of what a reservation has of a pool that is locked, why, and the window of what it gets."""

    locks: Locks
    pool: str
    cause: Cause
    lease_id: str
    reservation_id: str
    window: Window

    def write(self, over: Sequence[Allocation], fresh: Sequence[tuple[Pick, bool]], rest: Sequence[Pick] = ()) -> None:
        """End allocations, and give it others: each fresh pick with whether it substitutes, vacated the rest.

        Nobody uses those that end, or those that follow are on the same resources.
        """
        connection, now, after = self.locks.connection, self.locks.now, self.locks.next(self.pool)
        if over:
            end_allocations(connection, over, after, now, self.cause, released=True)
        grant = partial(Grant, self.pool, after, self.lease_id, self.reservation_id, self.window)
        grants = [*(grant(pick, mark) for pick, mark in fresh), *(grant(pick, left_at=now) for pick in rest)]
        insert_allocations(connection, grants, self.cause)
