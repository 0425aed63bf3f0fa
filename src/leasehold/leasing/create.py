"""Create a lease: decide and commit in one transaction, which makes no calls to the cloud (design §4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from leasehold.db.idempotency import keep_key
from leasehold.db.leases.lease import LONGEST_REASON, insert_lease
from leasehold.db.outbox import put_event
from leasehold.db.pool import bump_pools, move_pools
from leasehold.db.task import LEASE, add_task
from leasehold.db.together import together
from leasehold.db.waiting import hurry_tries, mark_waiting
from leasehold.enforcement.external import ExternalCall
from leasehold.enforcement.held_offer import check_offers
from leasehold.leasing.approval import Approval, UnapprovedError, approved
from leasehold.leasing.dates import asked_window, check_ahead, check_open_end
from leasehold.leasing.deciding.allocations import promise
from leasehold.leasing.deciding.decide import Asked, promised_window
from leasehold.leasing.deciding.default_properties import with_defaults
from leasehold.leasing.deciding.waiting_terms import waiting_terms
from leasehold.leasing.dry_run import tried, undo
from leasehold.leasing.external_view import ExternalView
from leasehold.leasing.lapse import decide_anew
from leasehold.leasing.new_lease import new_lease, read_reservations
from leasehold.leasing.once import done_before
from leasehold.leasing.requests import conditions_asked
from leasehold.leasing.room.offer import Offering
from leasehold.leasing.room.rebinding import Rebinding
from leasehold.leasing.waiting.best_effort import plan_window, planned_picks, with_draws
from leasehold.leasing.waiting.holds import hold
from leasehold.leasing.waiting.waiting import AFTER_YOU, BEHIND
from leasehold.leasing.waiting.waiting_list import WaitingList, pools_to_lock
from leasehold.metrics.decision import decision
from leasehold.model.caller import EVERYTHING
from leasehold.model.draft import Once
from leasehold.model.errors import (
    ExternallyDeniedError,
    LeaseholdError,
    NotEnoughError,
)
from leasehold.model.event_log import LeaseNews
from leasehold.model.held_offer import offered
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.lead import Lead
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.terms.waiting import WaitingLease
from leasehold.model.tries import drawing

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.db.pool import LockedPools
    from leasehold.db.together import Writer
    from leasehold.enforcement.deciding import Deciding
    from leasehold.leasing.deciding.calendars import Evaluated
    from leasehold.leasing.deciding.rebinding_search import RoomMade
    from leasehold.leasing.service import Service
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.draft import LeaseDraft
    from leasehold.model.lease import Lease
    from leasehold.model.placing.draw import DrawPlan
    from leasehold.model.terms.waiting import Waiting
    from leasehold.model.windows import Window

    Along = Callable[[Connection, Lease], object]
    """What a transaction does last, with the lease as it leaves it; if it raises, nothing is changed."""


@decision("create")
def create_lease(
    service: Service,
    caller: Caller,
    draft: LeaseDraft,
    idempotency_key: str | None = None,
    sight: Sight = EVERYTHING,
    along: Along | None = None,
) -> Lease:
    """Create the lease and return it, or raise and change nothing; `sight` says what the caller may learn about hosts.

    A type of lease that waits (`model/terms/lease_type.py`) is kept in IN_PROGRESS instead of NotEnoughError, and so
    is a best-effort lease if it could be granted with shared hosts, which are then drawn
    (`leasing/waiting/best_effort.py`). Raises NotEnoughError with an explanation, InvalidInputError with the field's
    name, OutOfWindowError for the time of the warning, LimitExceededError from enforcement, and the errors of
    `approved`. A repeated idempotency key returns the lease that it made; with another request, or if that lease is
    gone, it raises ConflictError.
    """
    lease = _create(service, caller, draft, idempotency_key, sight, along)
    service.wake()
    return lease


@decision("create, dry run")
def try_creation(service: Service, caller: Caller, draft: LeaseDraft, sight: Sight = EVERYTHING) -> Lease:
    """Return the lease as `create_lease` would make it, with its allocations, and leave no trace; raises the same.

    The external service is asked as for a lease. The ids in the answer mean nothing.
    """
    return tried(lambda: _create(service, caller, replace(draft, dry_run=True), None, sight))


def _create(
    service: Service,
    caller: Caller,
    draft: LeaseDraft,
    idempotency_key: str | None,
    sight: Sight,
    along: Along | None = None,
) -> Lease:
    if draft.open_ended:
        check_open_end(service.settings.leases.open_ended, draft.type)
    asked = read_reservations(service, caller, draft.reservations, sight)
    conditions = conditions_asked(asked)

    def decide(plan: DrawPlan | None, approval: Approval) -> Lease:
        work = _Creation(service, caller, draft, asked, idempotency_key, approval, sight, plan, along)
        try:
            return decide_anew(service, work, conditions)
        except _MadeBeforeError as error:
            return error.lease
        except IntegrityError:
            # Another request with this key has committed at the same time, so the second try finds the key.
            if idempotency_key is None:
                raise
            return service.decide(work, conditions)

    def make(plan: DrawPlan | None) -> Lease:
        return approved(service, ExternalCall.CREATE, caller.project_id, partial(decide, plan))

    try:
        lease = (
            with_draws(service, caller.project_id, draft, asked, make)
            if draft.type is LeaseType.BEST_EFFORT
            else make(None)
        )
    except ExternallyDeniedError:
        with service.db.reading() as connection:
            # A concurrent request with this key may have been approved first, and used up what the service allows.
            made = _made_before(connection, caller, draft, idempotency_key)
        if made is None:
            raise
        lease = made
    return lease


class _MadeBeforeError(Exception):
    """Ends a transaction that was refused without a trace: another one with its key has made the lease meanwhile."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(lease.id)
        self.lease = lease


@dataclass(frozen=True, slots=True)
class _Creation:
    """The transaction, which may have to run more than once; `sight` says what the caller may learn.

    `plan` says which shared hosts may be drawn for a best-effort lease; without one UnplannedError is raised.
    """

    service: Service
    caller: Caller
    draft: LeaseDraft
    asked: Sequence[Asked]
    key: str | None
    approval: Approval
    sight: Sight
    plan: DrawPlan | None
    along: Along | None

    def __call__(self, evaluated: Evaluated, connection: Connection) -> Lease:
        if made := self._made_before(connection):
            return made
        try:
            lease = self._decided(evaluated, connection)
        except (LeaseholdError, UnapprovedError):
            # A concurrent request with this key may have committed first, and have got what is missing now.
            if made := self._made_before(connection):
                raise _MadeBeforeError(made) from None
            raise
        if self.along is not None:
            self.along(connection, lease)
        if self.draft.dry_run:
            raise undo(connection, lease)
        return lease

    def _decided(self, evaluated: Evaluated, connection: Connection) -> Lease:
        now, settings = self.service.now(), self.service.settings.leases
        window = asked_window(self.draft, now)
        waiting = waiting_terms(self.draft, settings, now, self._pools, self.service.settings.cloud.draw_limit)
        lease = new_lease(self.service, self.caller, self.draft, self.asked, window, now)
        waits = waiting is not None and self.draft.type.waits
        mine = WaitingLease(lease.id, lease.project_id, lease.user_id, waiting) if waiting and waits else None
        deciding = self.service.deciding(connection, now)
        self._check_limits(connection, lease, deciding)
        pools = self._pools if mine is None else pools_to_lock(self.service, connection, mine)
        generations = move_pools(connection, pools)
        # A resource that was given up during the wait for the lock was held until then.
        now = self.service.now()
        check_ahead(window.end, now)
        promised, lead = promised_window(window.start, window.end, now), Lead(lease.lead, now)

        def allowed(other: Window) -> bool:
            return self.service.enforcement.would_create(replace(lease, window=other), deciding)

        source = self.service.source_of(lease)
        rebinding = Rebinding(self.service, connection, generations, now) if source.makes_room else None
        with self.service.calendars.synced(connection, generations, now, evaluated) as every:
            snapshots = source.seen_by_new(self.service.locked(connection, every, now), lease)
            terms = self.service.terms(promised, window.duration, use_disabled=self.draft.use_disabled, lead=lead)
            seconds, tells = settings.explanation_seconds, self.sight.disabled and not waits
            try:
                offering = Offering(
                    snapshots, self.asked, terms, allowed, seconds, tells_disabled=tells, rebinding=rebinding
                )
                decided = offering.decide()
            except NotEnoughError as refused:
                if waiting is None:
                    raise
                return self._keep(connection, lease, waiting, refused, snapshots, generations, now)
            granted = with_defaults(lease, [part.kind.pool for part in self.asked], decided.picks, snapshots)
            others = WaitingList(self.service, connection, snapshots, now, terms.budget)
            first = None if mine is None else others.first_ahead(mine)
        if waiting is not None and first is not None:
            hurry_tries(connection, [first], now)
            return self._wait(connection, lease, waiting, BEHIND, generations, now, now + AFTER_YOU)
        self.approval.require(
            (lease.window, [event.time for event in lease.events], decided.key),
            lambda: ExternalView(self.service, connection).creation(self.draft, lease, decided.picks),
        )
        lease = granted if self.draft.hold is None else offered(granted, self.draft.hold, now)
        self._grant(connection, lease, decided, rebinding, generations, lead.reserved(promised), now)
        return lease

    def _grant(
        self,
        connection: Connection,
        lease: Lease,
        decided: RoomMade,
        rebinding: Rebinding | None,
        generations: LockedPools,
        reserved: Window,
        now: datetime,
    ) -> None:
        """Write a lease, or an offer, with what it gets and with the leases that make room for it."""
        with together(connection) as writes:
            insert_lease(writes, lease)
            self._made(writes, lease, now, due=lease.offered_until or now)
        if rebinding is not None:
            rebinding.write(decided.moves)
        written = promise(connection, lease, self.asked, decided.picks, generations, reserved)
        bump_pools(connection, generations)
        if not decided.moves:
            self.service.calendars.note(generations, written)

    def _check_limits(self, connection: Connection, lease: Lease, deciding: Deciding) -> None:
        if self.draft.hold is not None:
            check_offers(connection, lease.project_id, self.service.settings.leases.limits.offers, deciding.now)
        self.service.enforcement.check_create(lease, deciding)

    @property
    def _pools(self) -> set[str]:
        return {part.kind.pool for part in self.asked}

    def _wait(
        self,
        connection: Connection,
        lease: Lease,
        waiting: Waiting,
        reason: str,
        generations: LockedPools,
        now: datetime,
        due: datetime | None = None,
        held: Collection[int] = (),
    ) -> Lease:
        """Keep a lease that is not granted now: its task tries it again, and only these resources are held for it."""
        reason = reason[:LONGEST_REASON]
        waiting = replace(waiting, sees_private=self.sight.private)
        lease = replace(lease, status=LeaseStatus.IN_PROGRESS, status_reason=reason, waiting=waiting)
        insert_lease(connection, lease)
        mark_waiting(connection, waiting.pools)
        self._made(connection, lease, now, due=due or waiting.due)
        put_event(connection, LeaseNews.WAITING, lease, now)
        if held:
            hold(self.service, connection, lease, held, generations, now)
        # Whoever frees something meanwhile, on another node of a cluster too, then knows of this lease.
        bump_pools(connection, generations)
        return lease

    def _keep(
        self,
        connection: Connection,
        lease: Lease,
        waiting: Waiting,
        refused: NotEnoughError,
        snapshots: Mapping[str, Snapshot],
        generations: LockedPools,
        now: datetime,
    ) -> Lease:
        """Keep a lease that is refused now; for a best-effort one begin to draw the hosts of the plan."""
        if self.draft.type.waits:
            return self._wait(connection, lease, waiting, refused.message, generations, now)
        window = plan_window(lease.window, waiting.deadline or now, now)
        lead = Lead(lease.lead, now)
        terms = self.service.terms(window, window.duration, use_disabled=self.draft.use_disabled, lead=lead)
        picks = planned_picks(connection, self.plan, snapshots, self.asked, terms, refused, now)
        numbers = {pick.resource_number for chosen in picks for pick in chosen}
        draws = frozenset() if self.plan is None else self.plan.draws & numbers
        waiting = replace(waiting, draws=draws)
        return self._wait(connection, lease, waiting, drawing(len(draws)), generations, now, held=numbers)

    def _made(self, connection: Writer, lease: Lease, now: datetime, due: datetime) -> None:
        add_task(connection, LEASE, lease.id, due, lease.project_id)
        if lease.offered_until is None:
            # Nobody is told of an offer; this event follows if it is accepted.
            put_event(connection, "lease.create", lease, now)
        if self.key is not None:
            keep_key(connection, self.caller.project_id, self.key, self.draft.fingerprint, lease.id, now)

    def _made_before(self, connection: Connection) -> Lease | None:
        return _made_before(connection, self.caller, self.draft, self.key)


def _made_before(connection: Connection, caller: Caller, draft: LeaseDraft, key: str | None) -> Lease | None:
    """Return the lease that this key has made; raises ConflictError if the key came with another request."""
    return done_before(connection, None if key is None else Once(caller.project_id, key, draft.fingerprint))
