"""Lend resources of an active lease to another project for a part of its window: a sub-lease (feature I4).

Which servers are on the resources is asked of the cloud before the transaction; the decision uses the database alone.
A server that comes there in between stays: the sub-lease starts when the lender has left the resource.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from leasehold.db.allocation import Grant, end_allocations, insert_allocations
from leasehold.db.idempotency import keep_key
from leasehold.db.leases.lease import find_lease, find_leases, insert_lease, save_lease
from leasehold.db.leases.sub_lease import sub_leases_of
from leasehold.db.outbox import put_event
from leasehold.db.pool import bump_pools
from leasehold.db.resources.resource import resources_by_number
from leasehold.db.task import LEASE, add_task, hurry_task
from leasehold.enforcement.external import ExternalCall
from leasehold.features.lending.claimed import check_open
from leasehold.features.lending.lendable import Lendable, check_lends, lendable
from leasehold.features.lending.source import begins
from leasehold.leasing.approval import approved
from leasehold.leasing.deciding.allocations import held_by
from leasehold.leasing.deciding.decide import Asked
from leasehold.leasing.deciding.flags import Flags, changed, put_flag_event, with_flags
from leasehold.leasing.dry_run import undo
from leasehold.leasing.external_view import ExternalView
from leasehold.leasing.new_lease import new_lease
from leasehold.leasing.once import done_before
from leasehold.leasing.unit import ChangedMeanwhileError, lock_as_seen, look_again, look_at
from leasehold.metrics.decision import decision
from leasehold.model.caller import Caller
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import InvalidDateError
from leasehold.model.event_log import LeaseNews
from leasehold.model.segment import Cause
from leasehold.model.states import EventType
from leasehold.model.terms.ending import Ending, Lent
from leasehold.model.terms.heal_policy import HealPolicy
from leasehold.model.windows import Window

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.pool import LockedPools
    from leasehold.features.lending.model import LendWish
    from leasehold.leasing.approval import Approval
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.draft import Once
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation


@decision("lend")
def lend(
    service: Service,
    caller: Caller,
    lease_id: str,
    wish: LendWish,
    if_generation: int | None = None,
    once: Once | None = None,
) -> Lease:
    """Make a sub-lease of resources of an active lease that nothing uses, from now on, and return it.

    A request that was carried out `once` returns the sub-lease that it made; with another one ConflictError is raised.
    Raises NotFoundError; StaleError when the lease's generation is not `if_generation`; the errors of `lendable`;
    InvalidDateError for an end that is not within the lease; LimitExceededError for a limit of the project that gets
    it; BusyError if the lease changed during each of five tries; the errors of `approved`, and of `check_open` for a
    claim of a published offer. Nothing is changed then.
    """

    def attempt() -> Lease:
        with service.db.reading() as connection:
            if made := done_before(connection, once):
                return made
            seen = look_at(connection, lease_id, if_generation)
        asked = _Asked(caller, seen, wish, lendable(service, seen, wish), once)
        lease = approved(service, ExternalCall.CREATE, wish.project_id, partial(_decide, service, asked))
        service.wake()
        return lease

    return look_again(lease_id, attempt)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked for by whom, the lender as it was when its servers were looked up, and what was chosen then."""

    caller: Caller
    seen: Lease
    wish: LendWish
    chosen: Lendable
    once: Once | None


def _decide(service: Service, asked: _Asked, approval: Approval) -> Lease:
    try:
        return service.db.transact(_Work(service, asked, approval))
    except IntegrityError:
        # A request about another lease may have committed with this key at the same time.
        if asked.once is None:
            raise
        raise ChangedMeanwhileError from None


@dataclass(frozen=True, slots=True)
class _Work:
    """The transaction, which may have to run more than once."""

    service: Service
    asked: _Asked
    approval: Approval

    @property
    def chosen(self) -> Lendable:
        return self.asked.chosen

    @property
    def seen(self) -> Lease:
        return self.asked.seen

    @property
    def wish(self) -> LendWish:
        return self.asked.wish

    def __call__(self, connection: Connection) -> Lease:
        now, draft = self.service.now(), self._draft()
        lease = self._lease(draft, now)
        self.service.enforcement.check_create(lease, self.service.deciding(connection, now))
        generations, lender = lock_as_seen(connection, self.seen, {each.pool for each in self.chosen.held})
        now = self.service.now()
        part = next(each for each in lender.reservations if each.id == self.chosen.part.id)
        check_lends(lender, part, now)
        check_end(lease.window.end, lender, now)
        if self.wish.published_offer is not None:
            check_open(connection, self.wish, lease.window.end, now)
        self._check_usable(connection)
        picks = [each.pick for each in self.chosen.held]
        self.approval.require(
            (lease.window, [event.time for event in lease.events], picks),
            lambda: ExternalView(self.service, connection).creation(draft, lease, [picks]),
        )
        self._write(connection, generations, lender, part, lease, now)
        if self.wish.dry_run:
            raise undo(connection, lease)
        return find_lease(connection, lease.id) or lease

    def _draft(self) -> LeaseDraft:
        end = self.wish.end or self.seen.window.end
        raw = {**self.chosen.raw, "resource_type": self.chosen.part.resource_type}
        return LeaseDraft(
            name=self.wish.name,
            start=end,
            end=end,
            reservations=(raw,),
            heal_policy=HealPolicy.NEVER,
            published_offer=self.wish.published_offer,
        )

    def _lease(self, draft: LeaseDraft, now: datetime) -> Lease:
        """Return the sub-lease; raises InvalidDateError for its end. Its resources are there, so it has no lead."""
        check_end(draft.end, self.seen, now)
        start = max(now.replace(microsecond=0), self.seen.window.start)
        lent = Lent(self.seen.id, self.chosen.part.id, self.seen.window.end)
        kind = self.service.types.get(self.chosen.part.resource_type).kind
        asked = Asked(kind, kind.parse(self.chosen.raw), ending=Ending(lent=lent))
        owner = Caller(self.asked.caller.user_id, self.wish.project_id)
        lease = new_lease(self.service, owner, draft, [asked], Window(start, draft.end), now)
        return lease.with_event(EventType.START, time=start)

    def _check_usable(self, connection: Connection) -> None:
        """Raise ChangedMeanwhileError if a resource has failed since, or is for other projects alone."""
        found = resources_by_number(connection, {each.resource_number for each in self.chosen.held})
        if not all(each.admitted and each.open_to(self.wish.project_id) for each in found.values()):
            raise ChangedMeanwhileError

    def _write(
        self,
        connection: Connection,
        generations: LockedPools,
        lender: Lease,
        part: Reservation,
        lease: Lease,
        now: datetime,
    ) -> None:
        held, own = self.chosen.held, lease.reservations[0]
        start = begins(held, now)
        for pool in generations:
            mine = [each for each in held if each.pool == pool]
            end_allocations(connection, mine, generations[pool] + 1, now, Cause.LENT, released=False, left=True)
        insert_lease(connection, lease)
        grants = [Grant(each.pool, generations[each.pool] + 1, own.id, each.pick) for each in held]
        insert_allocations(connection, lease.id, Window(start, lender.window.end), grants, Cause.GRANTED)
        # The allocations are read again, so that the lease is saved even if no flag changes, as a swap does.
        after = find_lease(connection, lender.id) or lender
        after = save_lease(connection, lender, with_flags(after, {part.id: _flags(part, lender, held)}), now)
        add_task(connection, LEASE, lease.id, now, lease.project_id)
        hurry_task(connection, LEASE, lender.id, now)
        put_event(connection, "lease.create", lease, now)
        put_event(connection, LeaseNews.LENT, after, now)
        put_flag_event(connection, lender, after, now)
        if (once := self.asked.once) is not None:
            keep_key(connection, once.project_id, once.key, once.digest, lease.id, now)
        bump_pools(connection, generations)


def _flags(part: Reservation, lender: Lease, lent: tuple[Allocation, ...]) -> Flags:
    """Return the flags of a reservation that misses nothing and has lent these allocations."""
    held, gone = held_by(part, lender), {each.id for each in lent}
    substitutes = any(each.substitute for each in held if each.id not in gone)
    return Flags(resources_changed=changed(part, held, substitutes=substitutes))


def check_end(end: datetime, lender: Lease, now: datetime) -> None:
    """Raise InvalidDateError unless a sub-lease that begins now may end then."""
    if lender.open_ended and end == lender.window.end:
        message = "The lease has no end, so a sub-lease of it needs one: send `end_date`."
        raise InvalidDateError(message, field="end_date")
    if not now < end <= lender.window.end:
        message = f"A sub-lease ends later than now, and with its lease at {lender.window.end:%Y-%m-%d %H:%M} UTC."
        raise InvalidDateError(message, field="end_date")


def list_sub_leases(service: Service, lease_id: str) -> list[Lease]:
    """Return the sub-leases of a lease that are not deleted, without their allocations, oldest first."""
    with service.db.reading() as connection:
        found = sub_leases_of(connection, lease_id)
        return find_leases(connection, found) if found else []
