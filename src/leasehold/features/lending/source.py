"""What published offers and lending lease from, and who has it again (features I3 and I4, decisions 0108 and 0110).

A resource that is lent is held by the sub-lease up to the end of the lender, whenever the sub-lease ends. When it is
clean again, the transaction that releases it gives it to the lender, so it is never free in between.
"""
# ruff: noqa: ARG002 - the signatures are those of `Source`.

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leasehold.db.allocation import Grant, end_allocations, insert_allocations, unreleased_on
from leasehold.db.leases.lease import find_lease
from leasehold.features.lending.claimed import Claimed
from leasehold.features.lending.model import SubLeaseFixedError
from leasehold.leasing.deciding.allocations import left_by
from leasehold.leasing.deciding.decision import Decision
from leasehold.leasing.steps.lifecycle import is_full
from leasehold.model.draft import LeaseChanges
from leasehold.model.event_log import LeaseNews
from leasehold.model.segment import Cause
from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.windows import Window, from_seconds, to_seconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.leasing.deciding.source import Release
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.driver import Convergence, Holding


class SubLeased(Claimed):
    """Resources of another lease, the lender; what was claimed of its offer is within the window of that as well."""

    reallocates = False

    def owns(self, lease: Lease) -> bool:
        return lease.lent is not None

    def check_changes(self, lease: Lease, changes: LeaseChanges) -> None:
        """Raise SubLeaseFixedError for a change of more than its name, its end and who may use it."""
        free = LeaseChanges(
            name=changes.name,
            end=changes.end,
            end_by=changes.end_by,
            before_end=changes.before_end,
            reminders=changes.reminders,
            shared_with=changes.shared_with,
        )
        if changes != free or changes.open_ended:
            raise SubLeaseFixedError

    def check_exchange(self, lease: Lease) -> None:
        """Raise SubLeaseFixedError: it gets no other resources."""
        raise SubLeaseFixedError

    check_healing = check_exchange

    def check_window(self, connection: Connection, lease: Lease, window: Window, now: datetime) -> None:
        """Raise SubLeaseFixedError too if the lease is to begin at another time, or to end later than its lender."""
        super().check_window(connection, lease, window, now)
        lent = lease.lent
        if lent is not None and (window.start != lease.window.start or window.end > lent.until):
            raise SubLeaseFixedError

    def lock_heir(self, connection: Connection, lease: Lease) -> Lease | None:
        """Lock the lender, and return it; None if it is gone.

        The caller has locked the pool of both, so the order of the leases does not matter.
        """
        return None if lease.lent is None else find_lease(connection, lease.lent.lease_id, lock=True)

    def outlasting(self, to: Release, lease: Lease) -> Lease | None:
        """Return the lease with its end now, if its lender gets back what it has, which stays reserved for that."""
        if not takes_back(to.heir, to.locks.now):
            return None
        return lease.ending_at(from_seconds(to_seconds(to.locks.now)))

    def ending(self, connection: Connection, job: Convergence[Any], now: datetime) -> Convergence[Any]:
        """Return the job without the resources that the lender has not left: none was touched.

        The servers there are the lender's, whose lease goes on.
        """
        there = unreleased_on(connection, {each.resource.number for each in job.all_holdings}, now)
        left = [each for each in job.all_holdings if is_full(each.resource, there, job.name, now)]

        def rest(held: Sequence[Holding]) -> tuple[Holding, ...]:
            return tuple(each for each in held if each not in left)

        return replace(
            job, holdings=rest(job.holdings), former=rest(job.former), left=rest(job.left), spared=tuple(left)
        )

    def give_back(self, to: Release, lease: Lease, released: Iterable[Allocation]) -> None:
        """Give the lender what is released now; nothing if it ends.

        What the lender has not left since it was lent, because servers are there, it has again as it is.
        """
        lender, lent = to.heir, lease.lent
        gone = [each for each in released if each.released_at is None and each.window.duration]
        if lender is None or lent is None or not gone or not takes_back(lender, to.locks.now):
            return
        part = next((each for each in lender.kept if each.id == lent.reservation_id), None)
        if part is None:
            return
        numbers = {each.resource_number for each in gone}
        back = [each for each in left_by(part) if each.resource_number in numbers]
        if back:
            generation = to.locks.next(back[0].pool)
            end_allocations(to.locks.connection, back, generation, to.locks.now, Cause.RETURNED, released=True)
        _grant(to, lender, part, gone)
        # It is saved in any case: a step in progress then sees a new generation.
        news = [LeaseNews.RETURNED]
        Decision(locks=to.locks, lease=lender, before=lender, rereads=True, news=news, due=to.locks.now).write_rows()


SOURCES = (SubLeased(), Claimed())
"""A sub-lease may also have been claimed."""


def takes_back(lender: Lease | None, now: datetime) -> bool:
    """Say whether a lease gets back what it has lent: it is active, and does not end."""
    if lender is None or lender.status is not LeaseStatus.ACTIVE or lender.reached(EventType.END):
        return False
    return to_seconds(now) < to_seconds(lender.window.end)


def _grant(to: Release, lender: Lease, part: Reservation, gone: Sequence[Allocation]) -> None:
    window = Window(begins([*gone, *part.allocations], to.locks.now), lender.window.end)
    grants = [Grant(each.pool, to.locks.next(each.pool), lender.id, part.id, window, each.pick) for each in gone]
    insert_allocations(to.locks.connection, grants, Cause.RETURNED)


def begins(before: Iterable[Allocation], now: datetime) -> datetime:
    """Return when an allocation begins that follows others: now, but not before the end of what these have recorded.

    The clocks of two processes may differ by a moment.
    """
    known = (to_seconds(each.recorded_until) for each in before if each.recorded_until is not None)
    return from_seconds(max([to_seconds(now), *known]))
