"""Write what healing or a swap decided: what reservations give up, and what they get instead (features J3, J6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.db.allocation import Grant, end_allocations, insert_allocations, leave_allocations
from leasehold.db.leases.lease import find_lease, save_lease
from leasehold.db.outbox import put_event
from leasehold.db.task import LEASE, hurry_task
from leasehold.leasing.deciding.decide import promised_window
from leasehold.leasing.deciding.flags import put_flag_event, with_flags
from leasehold.leasing.unit import bump_and_hurry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.pool import LockedPools
    from leasehold.leasing.deciding.mending import Mending
    from leasehold.model.allocation import Allocation, Pick
    from leasehold.model.event_log import LeaseNews
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.segment import Cause
    from leasehold.model.windows import Window


@dataclass(frozen=True, slots=True)
class Exchange:
    """The transaction that changes a lease, which it has locked after these pools, and why: `cause` and `news`."""

    connection: Connection
    generations: LockedPools
    now: datetime
    cause: Cause
    news: LeaseNews

    def write(self, lease: Lease, mended: Mapping[str, Mending], pools: Mapping[str, str]) -> Lease:
        """Write what changes for the reservations of a lease, by their ids, and return the lease after it.

        `pools` are the pools of the reservations, by id. The flags change as the mendings say; the same lease is
        returned if nothing changes.
        """
        moved = False
        for ident, mending in mended.items():
            if mending.moves:
                part = next(each for each in lease.reservations if each.id == ident)
                self._move(lease, part, mending, pools[ident])
                moved = True
        # The allocations are read again, so that the lease is saved even if no flag changes. A step in progress then
        # sees a new generation, and knows that it worked with outdated allocations.
        after = (find_lease(self.connection, lease.id) or lease) if moved else lease
        after = with_flags(after, {ident: each.flags for ident, each in mended.items()})
        if after == lease:
            return lease
        after = save_lease(self.connection, lease, after, self.now)
        if moved:
            put_event(self.connection, self.news, after, self.now)
            hurry_task(self.connection, LEASE, lease.id, self.now)
            bump_and_hurry(self.connection, self.generations, self.now)
        put_flag_event(self.connection, lease, after, self.now)
        return after

    def _move(self, lease: Lease, part: Reservation, mending: Mending, pool: str) -> None:
        window = part.ending.held(promised_window(lease.begins, lease.window.end, self.now))
        change = AllocationChange(pool, self.generations[pool] + 1, self.now, self.cause)
        if mending.lost and mending.started:
            leave_allocations(self.connection, mending.lost, change.generation, self.now, self.cause)
        elif mending.lost:
            end_allocations(
                self.connection, mending.lost, change.generation, self.now, self.cause, released=True, left=True
            )
        over = (*mending.dropped, *mending.back)
        replace_allocations(
            self.connection, change, HeldReservation(lease.id, part.id, window), over, mending.fresh, mending.rest
        )


@dataclass(frozen=True, slots=True)
class AllocationChange:
    """A change of allocations of a pool, which then has this generation: when, and why."""

    pool: str
    generation: int
    now: datetime
    cause: Cause


@dataclass(frozen=True, slots=True)
class HeldReservation:
    """A reservation of a lease, and the window of what it gets."""

    lease_id: str
    reservation_id: str
    window: Window


def replace_allocations(
    connection: Connection,
    change: AllocationChange,
    held: HeldReservation,
    over: Sequence[Allocation],
    fresh: Sequence[tuple[Pick, bool]],
    rest: Sequence[Pick] = (),
) -> None:
    """End allocations, and give the reservation others: each fresh pick with whether it substitutes, vacated the rest.

    Nobody uses those that end, or those that follow are on the same resources.
    """
    if over:
        end_allocations(connection, over, change.generation, change.now, change.cause, released=True)
    grants = [Grant(change.pool, change.generation, held.reservation_id, pick, mark) for pick, mark in fresh]
    grants += [Grant(change.pool, change.generation, held.reservation_id, pick, left_at=change.now) for pick in rest]
    insert_allocations(connection, held.lease_id, held.window, grants, change.cause)
