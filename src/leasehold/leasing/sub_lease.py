"""Sub-leases: what they give back to their lender, and what is fixed while they last (feature I4, decision 0110).

A resource that is lent is held by the sub-lease up to the end of the lender, whenever the sub-lease ends. When it is
clean again, the transaction that releases it gives it to the lender, so it is never free in between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.db.allocation import Grant, end_allocations, insert_allocations
from leasehold.db.lease import find_lease, save_lease
from leasehold.db.outbox import put_event
from leasehold.db.sub_lease import holding_sub_leases
from leasehold.db.task import LEASE, hurry_task
from leasehold.leasing.allocations import left_by
from leasehold.model.draft import LeaseChanges
from leasehold.model.errors import LendingError, SubLeaseFixedError
from leasehold.model.event_log import LeaseNews
from leasehold.model.segment import Cause
from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.pool import LockedPools
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation


def sub_leases_with(connection: Connection, lease: Lease, *, lock: bool = False) -> list[Lease]:
    """Return the sub-leases that have something of this lease; with `lock` they are locked, as it is."""
    ids = holding_sub_leases(connection, lease.id) if lease.has_lent else []
    found = (find_lease(connection, each, lock=lock) for each in ids)
    return [each for each in found if each is not None]


def check_not_lending(connection: Connection, lease: Lease) -> None:
    """Raise LendingError if a sub-lease has something of this lease, which is locked after its pools."""
    found = holding_sub_leases(connection, lease.id) if lease.has_lent else []
    if found:
        raise LendingError(found)


def check_fixed(lease: Lease, changes: LeaseChanges) -> None:
    """Raise SubLeaseFixedError for a change of a sub-lease of more than its name, its end and who may use it."""
    free = LeaseChanges(
        name=changes.name,
        end=changes.end,
        end_by=changes.end_by,
        before_end=changes.before_end,
        reminders=changes.reminders,
        shared_with=changes.shared_with,
    )
    if lease.lent is not None and (changes != free or changes.open_ended):
        raise SubLeaseFixedError


def check_no_sub_lease(lease: Lease) -> None:
    """Raise SubLeaseFixedError for a sub-lease, which gets no other resources."""
    if lease.lent is not None:
        raise SubLeaseFixedError


def check_within(lease: Lease, window: Window) -> None:
    """Raise SubLeaseFixedError if a sub-lease is to begin at another time, or to end later than its lender."""
    lent = lease.lent
    if lent is not None and (window.start != lease.window.start or window.end > lent.until):
        raise SubLeaseFixedError


def takes_back(lender: Lease | None, now: datetime) -> bool:
    """Say whether a lease gets back what it has lent: it is active, and does not end."""
    if lender is None or lender.status is not LeaseStatus.ACTIVE or lender.reached(EventType.END):
        return False
    return to_seconds(now) < to_seconds(lender.window.end)


def lock_lender(connection: Connection, lease: Lease) -> Lease | None:
    """Lock the lender of a sub-lease and return it; None for any other lease, and if it is gone.

    The caller has locked the pool of both: nobody else locks two leases, so their order does not matter.
    """
    return None if lease.lent is None else find_lease(connection, lease.lent.lease_id, lock=True)


@dataclass(frozen=True, slots=True)
class Return:
    """The transaction that releases resources of a sub-lease; `lender` is locked, None if nobody gets them back."""

    connection: Connection
    generations: LockedPools
    now: datetime
    lender: Lease | None

    def of(self, lease: Lease, held: Iterable[Allocation]) -> None:
        """Give the lender what of these allocations, as they were before, is released now; nothing if it ends.

        What the lender has not left since it was lent, because servers are there, it has again as it is.
        """
        lender, lent = self.lender, lease.lent
        gone = [each for each in held if each.released_at is None and each.window.duration]
        if lender is None or lent is None or not gone or not takes_back(lender, self.now):
            return
        part = next((each for each in lender.kept if each.id == lent.reservation_id), None)
        if part is None:
            return
        numbers = {each.resource_number for each in gone}
        back = [each for each in left_by(part) if each.resource_number in numbers]
        if back:
            generation = self.generations[back[0].pool] + 1
            end_allocations(self.connection, back, generation, self.now, Cause.RETURNED, released=True)
        self._grant(lender, part, gone)
        # The allocations are read again, so that the lease is saved: a step in progress then sees a new generation.
        after = save_lease(self.connection, lender, find_lease(self.connection, lender.id) or lender, self.now)
        put_event(self.connection, LeaseNews.RETURNED, after, self.now)
        hurry_task(self.connection, LEASE, lender.id, self.now)

    def _grant(self, lender: Lease, part: Reservation, gone: Sequence[Allocation]) -> None:
        window = Window(begins([*gone, *part.allocations], self.now), lender.window.end)
        grants = [Grant(each.pool, self.generations[each.pool] + 1, part.id, each.pick) for each in gone]
        insert_allocations(self.connection, lender.id, window, grants, Cause.RETURNED)


def ended_at(lease: Lease, now: datetime) -> Lease:
    """Return a sub-lease that is deleted with its end at a moment: what it holds is reserved up to its lender's end."""
    moment = max(lease.window.start, min(lease.window.end, from_seconds(to_seconds(now))))
    lease = replace(lease, window=Window(lease.window.start, moment)).with_event(EventType.END, time=moment)
    warning = lease.event(EventType.BEFORE_END)
    if warning is None or warning.time is None:
        return lease
    return lease.with_event(EventType.BEFORE_END, time=min(warning.time, moment))


def begins(before: Iterable[Allocation], now: datetime) -> datetime:
    """Return when an allocation begins that follows others: now, but not before the end of what these have recorded.

    The clocks of two processes may differ by a moment.
    """
    known = (to_seconds(each.recorded_until) for each in before if each.recorded_until is not None)
    return from_seconds(max([to_seconds(now), *known]))
