"""End leases that go on beyond their budget, if that says so: their owners are told first (feature H6, decision 0158).

A lease is told of, and its end is brought forward when the notice is over: two transactions, each of which looks again
under its locks. What was told is a row, so any manager goes on where another one died. A lease never ends before what
was told, and what was told holds unless its budgets pay for more, or the lease became longer.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.db.leases.lease import find_each, find_lease
from leasehold.db.leases.sub_lease import holding_sub_leases
from leasehold.db.outbox import put_event
from leasehold.features.price.beyond import LIVE, beyond_budgets
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.store import find_budgets
from leasehold.features.price.warned_store import Notice, all_notices, forget_notice, has_notice, save_notice
from leasehold.leasing.deciding.allocations import pools_of
from leasehold.leasing.notice import ended_at, sooner
from leasehold.leasing.unit import run
from leasehold.model.event_log import LeaseNews
from leasehold.model.states import EventType
from leasehold.model.windows import rounded_up

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.price.beyond import Beyond
    from leasehold.features.price.budget import Budget
    from leasehold.leasing.deciding.decision import Decision
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
    from leasehold.model.lease import Lease

log = logging.getLogger(__name__)


def end_beyond(service: Service) -> int:
    """Tell of the leases that go on beyond their budgets, and end those whose notice is over; return how many."""
    done = 0
    for case in cases(service):
        try:
            done += case.proceed()
        except Exception:
            # One that cannot be done must not keep the others.
            log.exception("Nothing is done about the budget of lease %s", case.lease_id)
    return done


def cases(service: Service) -> Sequence[Case]:
    """Return the leases of which something may have to be told, or is to be done, as they are now."""
    notice = service.settings.of(PriceSettings).budgets.notice
    with service.db.reading() as connection:
        # With the longest time that the action before the end may take.
        found = {each.lease_id: each for each in beyond_budgets(connection, service.now(), 2 * notice)}
        known = {each.lease_id: each for each in all_notices(connection)}
        there = find_each(connection, sorted({*found, *known}))
    idents = sorted({*found, *known})
    return [Case(service, ident, found.get(ident), known.get(ident), there.get(ident)) for ident in idents]


@dataclass(frozen=True, slots=True)
class Case:
    """A lease as it was `seen`, None: it is gone; how it goes `beyond` a budget, None: it does not; what was told."""

    service: Service
    lease_id: str
    beyond: Beyond | None
    known: Notice | None
    seen: Lease | None

    def proceed(self) -> bool:
        """Do what is next, and say whether anything was done."""
        beyond, known, lease, now = self.beyond, self.known, self.seen, self.service.now()
        if lease is None or lease.status not in LIVE or lease.reached(EventType.END):
            return known is not None and self.service.db.transact(partial(_forgotten, self.lease_id))
        if beyond is None:
            kept = known is None or (known.ends_at is not None and lease.window.end <= known.ends_at)
            return not kept and self.service.db.transact(self._restored)
        if known is None or not _holds(known, beyond, lease):
            due = known is not None or now >= beyond.since - self._notice - self._action(lease)
            return due and self.service.db.transact(partial(self._told, beyond))
        if known.ends_at is None or lease.window.end <= known.ends_at:
            return False
        due_at = max(known.told_at + self._notice, known.ends_at - self._action(lease))
        return now >= due_at and run(self.service, _Ending(self, known, lease, beyond.budgets)) is not None

    @property
    def _notice(self) -> timedelta:
        return self.service.settings.of(PriceSettings).budgets.notice

    def _action(self, lease: Lease) -> timedelta:
        """Return how long before its end the action of a lease begins, at most as long as the notice."""
        event = lease.event(EventType.BEFORE_END)
        if event is None or event.time is None:
            return timedelta(0)
        return min(self._notice, lease.window.end - event.time)

    def end(self, lease: Lease, least: datetime, now: datetime) -> datetime:
        """Return the end of a lease if it is decided now: not before `least`, and its action has the usual time."""
        return max(least, rounded_up(now) + self._action(lease), lease.window.start)

    def _told(self, beyond: Beyond, connection: Connection) -> bool:
        """Tell the owner what becomes of the lease."""
        lease = self._locked(connection)
        if lease is None:
            return False
        now = self.service.now()
        ends_at = self.end(lease, beyond.since, now + self._notice) if beyond.ends else None
        if ends_at is not None:
            # One that ends before it would be ended ends as it is.
            ends_at = min(ends_at, lease.window.end)
        save_notice(connection, Notice(lease.id, beyond.budget.id, now, lease.window.end, ends_at))
        more = {
            "budget_id": beyond.budget.id,
            "budget_name": beyond.budget.name,
            "unpaid_from": beyond.since.isoformat(),
            "ends_at": None if ends_at is None else ends_at.isoformat(),
        }
        put_event(connection, LeaseNews.BUDGET_ENDS, lease, now, more)
        return True

    def _locked(self, connection: Connection) -> Lease | None:
        """Return the lease, locked; None if it has changed, somebody else has locked it, or something else was told."""
        lease = find_each(connection, [self.lease_id], lock=True).get(self.lease_id)
        if lease is None or self.seen is None or lease.generation != self.seen.generation:
            return None
        return lease if has_notice(connection, lease.id, self.known) else None

    def _restored(self, connection: Connection) -> bool:
        """Tell the owner that what was told holds no more."""
        lease = self._locked(connection)
        if lease is None:
            return False
        forget_notice(connection, lease.id)
        put_event(connection, LeaseNews.BUDGET_RESTORED, lease, self.service.now())
        return True


def _holds(known: Notice, beyond: Beyond, lease: Lease) -> bool:
    """Say whether what was told of a lease still is what becomes of it."""
    if not beyond.ends or known.ends_at is None:
        return not beyond.ends and known.ends_at is None and known.budget_id == beyond.budget.id
    return beyond.since <= known.ends_at and lease.window.end <= known.lease_end


def _forgotten(lease_id: str, connection: Connection) -> bool:
    forget_notice(connection, lease_id)
    return True


@dataclass(frozen=True, slots=True)
class _Ending:
    """The use case that brings the end of a lease forward, if it and its budgets are as they were seen."""

    case: Case
    known: Notice
    seen: Lease
    budgets: Sequence[Budget]

    def __call__(self, unit: Unit) -> Decision | None:
        locks = unit.lock(pools_of(self.seen, unit.service.types))
        lease = find_lease(locks.connection, self.seen.id, lock=True)
        if lease is None or lease.generation != self.seen.generation:
            return None
        if lease.has_lent and holding_sub_leases(locks.connection, lease.id):
            # What is lent ends with its lender, and its holders were promised that end.
            return None
        # Whoever makes or changes a budget of the project waits for these locks, or was before.
        now = find_budgets(locks.connection, lease.project_id, lock=True)
        if list(map(_terms, now)) != list(map(_terms, self.budgets)):
            return None
        if self.known.ends_at is None or not has_notice(locks.connection, lease.id, self.known):
            return None
        end = self.case.end(lease, self.known.ends_at, locks.now)
        if end >= lease.window.end:
            return None
        told = replace(self.known, lease_end=end, ends_at=end)
        decision = sooner(unit.service, lease, ended_at(lease, end), locks, [LeaseNews.BUDGET_ENDED])
        return replace(decision, writes=[lambda locks: save_notice(locks.connection, told)])


def _terms(budget: Budget) -> tuple[object, ...]:
    """Return what of a budget says how long it pays; what is agreed of it may change at any moment."""
    return budget.id, budget.amount, budget.ends_at, budget.at_end, budget.left < 0
