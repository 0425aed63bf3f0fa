"""Lend resources of an active lease to another project for a part of its window: a sub-lease (feature I4).

Which servers are on the resources is asked of the cloud before the transaction; the decision uses the database alone.
A server that comes there in between stays: the sub-lease starts when the lender has left the resource.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from leasehold.db.allocation import end_allocations
from leasehold.db.leases.lease import find_leases
from leasehold.db.leases.sub_lease import sub_leases_of
from leasehold.db.resources.resource import resources_by_number
from leasehold.enforcement.external import ExternalCall
from leasehold.features.lending.claimed import check_open
from leasehold.features.lending.lendable import Lendable, check_lends, lendable
from leasehold.features.lending.source import begins
from leasehold.leasing.carry_out import carry_out
from leasehold.leasing.deciding.allocations import held_by
from leasehold.leasing.deciding.decide import Asked
from leasehold.leasing.deciding.decision import Decision
from leasehold.leasing.deciding.flags import Flags, changed, with_flags
from leasehold.leasing.deciding.promised import Promised
from leasehold.leasing.deciding.rebinding_search import RoomMade
from leasehold.leasing.external_view import ExternalView
from leasehold.leasing.locks import ChangedMeanwhileError, look_again, look_at
from leasehold.leasing.new_lease import new_lease
from leasehold.leasing.once import done_by
from leasehold.leasing.unit import Order
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
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.lending.model import LendWish
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Unit
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
    it; BusyError if the lease changed during each of five tries; the errors of `carry_out`, and of `check_open` for a
    claim of a published offer. Nothing is changed then.
    """

    def look() -> Lease:
        with service.db.reading() as connection:
            return look_at(connection, lease_id, if_generation)

    def attempt(seen: Lease) -> Lease:
        if made := done_by(service, once):
            return made
        asks = ExternalCall.CREATE, wish.project_id
        case = _Lending(caller, seen, wish, lendable(service, seen, wish))
        return carry_out(service, Order(asks=asks, once=once, dry_run=wish.dry_run), case)

    return look_again(lease_id, look, attempt)


@dataclass(frozen=True, slots=True)
class _Lending:
    """The use case: by whom, the lender as it was when its servers were looked up, and what was chosen then."""

    caller: Caller
    seen: Lease
    wish: LendWish
    chosen: Lendable

    def __call__(self, unit: Unit) -> Decision:
        service, draft, now = unit.service, self._draft(), unit.now
        asked = self._asked(service)
        lease = self._lease(service, draft, asked, now)
        service.enforcement.check_create(lease, unit.deciding)
        locks, lender = unit.lock_as_seen(self.seen, {each.pool for each in self.chosen.held})
        part = next(each for each in lender.reservations if each.id == self.chosen.part.id)
        check_lends(lender, part, locks.now)
        check_end(lease.window.end, lender, locks.now)
        if self.wish.published_offer is not None:
            check_open(unit.connection, self.wish, lease.window.end, locks.now)
        self._check_usable(unit.connection)
        picks = [each.pick for each in self.chosen.held]
        unit.approval.require(
            (lease.window, [event.time for event in lease.events], picks),
            lambda: ExternalView(service, unit.connection).creation(draft, lease, [picks]),
        )
        held = Window(begins(self.chosen.held, locks.now), lease.window.end)
        lends = Decision(
            locks=locks,
            lease=with_flags(lender, {part.id: _flags(part, lender, self.chosen.held)}),
            before=lender,
            writes=[partial(_write_lent, self.chosen.held)],
            rereads=True,
            news=[LeaseNews.LENT],
            due=locks.now,
        )
        return Decision(
            locks=locks,
            lease=lease,
            promised=Promised([asked], RoomMade([picks]), held),
            news=["lease.create"],
            due=locks.now,
            also=[lends],
        )

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
            notice=self.wish.notice,
            purpose=self.wish.purpose,
        )

    def _asked(self, service: Service) -> Asked:
        kind = service.types.get(self.chosen.part.resource_type).kind
        lent = Lent(self.seen.id, self.chosen.part.id, self.seen.window.end)
        return Asked(kind, kind.parse(self.chosen.raw), ending=Ending(lent=lent))

    def _lease(self, service: Service, draft: LeaseDraft, asked: Asked, now: datetime) -> Lease:
        """Return the sub-lease; raises InvalidDateError for its end. Its resources are there, so it has no lead."""
        check_end(draft.end, self.seen, now)
        start = max(now.replace(microsecond=0), self.seen.window.start)
        owner = Caller(self.caller.user_id, self.wish.project_id)
        lease = new_lease(service, owner, draft, [asked], Window(start, draft.end), now)
        return lease.with_times({EventType.START: start})

    def _check_usable(self, connection: Connection) -> None:
        """Raise ChangedMeanwhileError if a resource has failed since, or is for other projects alone."""
        found = resources_by_number(connection, {each.resource_number for each in self.chosen.held})
        if not all(each.admitted and each.open_to(self.wish.project_id) for each in found.values()):
            raise ChangedMeanwhileError


def _write_lent(held: Sequence[Allocation], locks: Locks) -> None:
    for pool in locks.pools:
        mine = [each for each in held if each.pool == pool]
        end_allocations(locks.connection, mine, locks.next(pool), locks.now, Cause.LENT, released=False, left=True)


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
