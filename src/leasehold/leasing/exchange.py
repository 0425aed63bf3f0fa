"""Write what healing or a swap decided: what reservations give up, and what they get instead (features J3, J6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.db.allocation import Grant, end_allocations, insert_allocations, leave_allocations
from leasehold.db.lease import find_lease, save_lease
from leasehold.db.outbox import put_event
from leasehold.db.pool import bump_pools
from leasehold.db.task import LEASE, hurry_task
from leasehold.db.waiting import hurry_waiting
from leasehold.leasing.decide import promised_window
from leasehold.leasing.flags import put_flag_event, with_flags

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.pool import LockedPools
    from leasehold.leasing.mending import Mending
    from leasehold.model.event_log import LeaseNews
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.segment import Cause


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
            bump_pools(self.connection, self.generations)
            hurry_waiting(self.connection, self.generations, self.now)
        put_flag_event(self.connection, lease, after, self.now)
        return after

    def _move(self, lease: Lease, part: Reservation, mending: Mending, pool: str) -> None:
        connection, generation, now = self.connection, self.generations[pool] + 1, self.now
        if mending.lost and mending.started:
            leave_allocations(connection, mending.lost, generation, now, self.cause)
        elif mending.lost:
            end_allocations(connection, mending.lost, generation, now, self.cause, released=True, left=True)
        over = (*mending.dropped, *mending.back)
        if over:
            end_allocations(connection, over, generation, now, self.cause, released=True)
        window = promised_window(lease.window.start, lease.window.end, now)
        grants = [Grant(pool, generation, part.id, pick, substitute) for pick, substitute in mending.fresh]
        insert_allocations(connection, lease.id, part.ending.held(window), grants, self.cause)
