"""Create a lease: decide and commit in one transaction, which makes no calls to the cloud (design §4)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from leasehold.enforcement.external import ExternalCall
from leasehold.enforcement.held_offer import check_offers
from leasehold.leasing.batch import Joining
from leasehold.leasing.carry_out import carry_out
from leasehold.leasing.dates import asked_window, check_ahead, check_open_end
from leasehold.leasing.deciding.decision import Decision
from leasehold.leasing.deciding.default_properties import with_defaults
from leasehold.leasing.deciding.promised import Promised
from leasehold.leasing.deciding.waiting_terms import waiting_terms
from leasehold.leasing.delays import telling_delays
from leasehold.leasing.external_view import ExternalView
from leasehold.leasing.fit import Estimating
from leasehold.leasing.new_lease import new_lease, read_reservations
from leasehold.leasing.requests import conditions_asked
from leasehold.leasing.room.counter_offer import Proposal
from leasehold.leasing.room.ways import ways_of
from leasehold.leasing.unit import Joins, Order
from leasehold.leasing.waiting.best_effort import with_draws
from leasehold.leasing.waiting.keeping import Keeping
from leasehold.metrics.decision import decision
from leasehold.model.caller import EVERYTHING
from leasehold.model.draft import Once
from leasehold.model.errors import NotEnoughError
from leasehold.model.held_offer import offered
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import moved

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from leasehold.calendar.snapshot import Snapshot
    from leasehold.leasing.deciding.decide import Asked, Terms
    from leasehold.leasing.deciding.rebinding_search import RoomMade
    from leasehold.leasing.deciding.way import Way
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.leasing.unit import Along, Unit
    from leasehold.model.caller import Caller, Sight
    from leasehold.model.delay import Delay
    from leasehold.model.draft import LeaseDraft
    from leasehold.model.lease import Lease
    from leasehold.model.placing.draw import DrawPlan
    from leasehold.model.windows import Window


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
    (`leasing/waiting/best_effort.py`). One that may start later gets the first window that starts soon enough. Raises
    NotEnoughError with an explanation, InvalidInputError with the field's name, OutOfWindowError for the time of the
    warning, LimitExceededError from enforcement, and the errors of `carry_out`. A repeated idempotency key returns the
    lease that it made; with another request, or if that lease is gone, it raises ConflictError.
    """
    once = None if idempotency_key is None else Once(caller.project_id, idempotency_key, draft.fingerprint)
    with (
        decision("create, dry run" if draft.dry_run else "create"),
        telling_delays(service, dry_run=draft.dry_run) as delays,
    ):
        if draft.open_ended:
            check_open_end(service.settings.leases.open_ended, draft.type)
        asked = read_reservations(service, caller, draft.reservations, sight)
        asks = ExternalCall.CREATE, caller.project_id
        order = Order(conditions_asked(asked), asks, once, dry_run=draft.dry_run, along=along)

        def make(plan: DrawPlan | None) -> Lease:
            case = Creation(caller, draft, asked, sight, plan, delays)
            return carry_out(service, replace(order, joins=case.joins), case)

        return with_draws(service, caller.project_id, draft, asked, make)


def try_creation(service: Service, caller: Caller, draft: LeaseDraft, sight: Sight = EVERYTHING) -> Lease:
    """Return the lease as `create_lease` would make it, with its allocations, and leave no trace; raises the same.

    The external service is asked as for a lease. The ids in the answer mean nothing.
    """
    return create_lease(service, caller, replace(draft, dry_run=True), sight=sight)


@dataclass(frozen=True, slots=True)
class Creation(Joining):
    """The use case; `sight` says what the caller may learn, `plan` which shared hosts may be drawn for the lease.

    `delays` gets that of the lease, if it is kept or granted for later because resources are not ready.
    """

    caller: Caller
    draft: LeaseDraft
    asked: Sequence[Asked]
    sight: Sight
    plan: DrawPlan | None
    delays: list[Delay]

    def __call__(self, unit: Unit) -> Decision:
        wanted = _, keeping = self.wanted(unit)
        pools = self.pools if keeping is None else keeping.pools(unit.connection)
        return self.decided(unit, unit.lock_and_move(pools), wanted)

    @property
    def joins(self) -> Joins | None:
        """With whom it may be decided together (`batch.py`), if its pools are all that it asks about."""
        draft = self.draft
        alone = draft.type.waits or draft.hold or draft.published_offer or self.plan
        return None if alone else Joins(self.caller.project_id, self.pools)

    def decided(self, unit: Unit, locks: Locks, wanted: tuple[Lease, Keeping | None]) -> Decision:
        """Return what becomes of the lease under these locks."""
        lease, keeping = wanted
        self.delays.clear()
        check_ahead(lease.window.end, locks.now)
        source = unit.service.source_of(lease)
        with unit.snapshots(locks) as every:
            snapshots = source.seen_by_new(unit.service.grounds(locks, every), lease)
            terms = unit.terms(lease, lease.window, locks, use_disabled=self.draft.use_disabled)
            ways = ways_of(unit.service, locks, frozenset(unit.settled)) if source.makes_room else None
            try:
                decided = self._proposal(unit, lease, snapshots, terms, ways).decide()
            except NotEnoughError as refusal:
                if keeping is None:
                    raise
                self._note(refusal.refusal.delay)
                return keeping.refused(unit, locks, snapshots, refusal)
            self._note(decided.delay)
            if decided.window is not None:
                lease = new_lease(unit.service, self.caller, self.draft, self.asked, decided.window, locks.now)
                terms = unit.terms(lease, lease.window, locks, use_disabled=self.draft.use_disabled)
            granted = with_defaults(lease, [part.kind.pool for part in self.asked], decided.picks, snapshots)
            behind = None if keeping is None else keeping.behind(locks, snapshots, terms)
        if behind is not None:
            return behind
        unit.approval.require(
            (lease.window, [event.time for event in lease.events], decided.key),
            lambda: ExternalView(unit.service, unit.connection).creation(self.draft, lease, decided.picks),
        )
        return self._granted(locks, granted, decided, terms)

    def _note(self, delay: Delay | None) -> None:
        if delay is not None:
            self.delays.append(delay)

    def wanted(self, unit: Unit) -> tuple[Lease, Keeping | None]:
        """Return the lease that is asked for, within the limits of its project, and how it waits if it may."""
        unit.check_undone()
        service, now, settings = unit.service, unit.now, unit.service.settings
        window = asked_window(self.draft, now)
        waiting = waiting_terms(self.draft, settings.leases, now, self.pools, settings.cloud.draw_limit)
        lease = new_lease(service, self.caller, self.draft, self.asked, window, now)
        if self.draft.hold is not None:
            check_offers(unit.connection, lease.project_id, settings.leases.limits.offers, now)
        service.enforcement.check_create(lease, unit.deciding)
        if waiting is None:
            return lease, None
        waiting = replace(waiting, sees_private=self.sight.private)
        return lease, Keeping(service, lease, self.asked, waiting, self.plan)

    @property
    def pools(self) -> frozenset[str]:
        """The pools of its reservations."""
        return frozenset(part.kind.pool for part in self.asked)

    def _proposal(
        self, unit: Unit, lease: Lease, snapshots: Mapping[str, Snapshot], terms: Terms, ways: Way | None
    ) -> Proposal:
        def allowed(other: Window) -> bool:
            return unit.service.enforcement.would_create(replace(lease, window=other), unit.deciding)

        return Proposal(
            snapshots,
            self.asked,
            terms,
            allowed,
            unit.service.settings.leases.explanation_seconds,
            tells_disabled=self.sight.disabled and not lease.type.waits,
            ways=ways,
            explains=unit.explains,
            latest=self._latest(terms.window.start),
            refused=unit.refused,
            estimating=Estimating(unit.service.estimators, snapshots, unit.now, lease=lease),
        )

    def _latest(self, start: datetime) -> datetime | None:
        within = self.draft.ready_within if self.draft.type is LeaseType.SCHEDULED else None
        return None if within is None else moved(start, within)

    def _granted(self, locks: Locks, lease: Lease, decided: RoomMade, terms: Terms) -> Decision:
        """Return that the lease, or an offer of it, gets this, and that others make room for it."""
        if self.draft.hold is not None:
            lease = offered(lease, self.draft.hold, locks.now)
        return Decision(
            locks=locks,
            lease=lease,
            promised=Promised(self.asked, decided, terms.reserved),
            # Nobody is told of an offer; this event follows if it is accepted.
            news=["lease.create"] if lease.offered_until is None else [],
            due=lease.offered_until or locks.now,
            writes=decided.writes,
            frees=bool(decided.writes),
        )
