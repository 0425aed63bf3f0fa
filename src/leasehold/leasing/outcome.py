"""What a step led to, written into the books: the next status, the next due time, what is free again (design §5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.books.allocation import end_allocations
from leasehold.books.lease import find_lease, lock_generation, save_lease
from leasehold.books.outbox import put_event
from leasehold.books.pool import bump_pools, lock_pools
from leasehold.books.task import finish_task, still_ours
from leasehold.leasing.delete import forget
from leasehold.leasing.lifecycle import EVENT_OF, Phase, Result, given_up, next_moment
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus
from leasehold.resource_types.base import Wanted
from leasehold.resource_types.snapshots import IMAGES_MISSING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.books.task import Claim
    from leasehold.leasing.lifecycle import Outcome, Step
    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease

SHORT_WAIT = timedelta(seconds=2)
"""How long at first between two looks at a host that another lease is about to leave."""
WAITED_SHARE = 10
"""Later one part in so many of the time waited already: a host stuck for hours is not asked every two seconds."""


def complete(service: Service, claim: Claim, step: Step, outcomes: Sequence[Outcome]) -> bool:
    """Write down how a step went, and when the lease is to be looked at next; False when the claim is lost.

    When the lease was changed meanwhile, by its owner or by healing, only what is free again is written, and the
    lease is looked at once more right away.
    """
    return service.books.transact(_Completion(service, claim, step, outcomes))


@dataclass(frozen=True, slots=True)
class _Completion:
    """The transaction, which may have to run more than once."""

    service: Service
    claim: Claim
    step: Step
    outcomes: Sequence[Outcome]

    def __call__(self, connection: Connection) -> bool:
        now = self.service.now()
        freed = self._freed()
        generations = lock_pools(connection, freed.keys())
        lease = self._as_it_is(connection)
        if not still_ours(connection, self.claim):
            return False
        if lease is None:
            return True
        for pool, ids in freed.items():
            end_allocations(connection, ids, generations[pool] + 1, now, released=True)
        bump_pools(connection, generations)
        if lease.generation != self.step.lease.generation:
            save_lease(connection, lease, self._known(lease), now)
            finish_task(connection, self.claim, now)
        elif all(outcome.result is Result.DONE for outcome in self.outcomes):
            self._succeed(connection, lease, now)
        else:
            self._falter(connection, lease, now)
        return True

    def _as_it_is(self, connection: Connection) -> Lease | None:
        """Return the lease, locked; it is read again only when it was changed since the step began."""
        seen = self.step.lease
        generation = lock_generation(connection, seen.id)
        return seen if generation == seen.generation else find_lease(connection, seen.id, lock=True, gone=True)

    def _freed(self) -> dict[str, list[int]]:
        """Return, by pool, the promises whose resources are clean: all of an ended reservation, else former ones."""
        done = self._of(Result.DONE)
        freed: dict[str, list[int]] = {}
        for job in self.step.jobs:
            over = job.all_holdings if self.step.wanted is Wanted.ENDED else (*job.former, *job.left)
            clean = [holding.allocation_id for holding in over if holding.allocation_id not in self._occupied]
            if job.name in done and clean:
                pool = self.service.types.get(job.reservation.resource_type).pool
                freed.setdefault(pool, []).extend(clean)
        return freed

    @property
    def _occupied(self) -> frozenset[int]:
        """The promises on failed hosts on which servers are left."""
        return frozenset().union(*(outcome.occupied for outcome in self.outcomes))

    def _of(self, result: Result) -> set[str]:
        return {outcome.reservation_id for outcome in self.outcomes if outcome.result is result}

    def _known(self, lease: Lease) -> Lease:
        """Return the lease with what the cloud answered about its reservations."""
        facts = {outcome.reservation_id: outcome.cloud for outcome in self.outcomes if outcome.cloud}
        for part in lease.reservations:
            if part.id in facts:
                lease = lease.with_reservations({part.id}, cloud={**part.cloud, **facts[part.id]})
        return lease

    def _succeed(self, connection: Connection, lease: Lease, now: datetime) -> None:
        phase = self.step.phase
        if phase is Phase.REMOVE:
            if lease.deleted_at is None:
                forget(connection, lease, now)
            finish_task(connection, self.claim, None)
            return
        after = save_lease(connection, lease, _NEXT[phase](self._known(lease)), now)
        if phase in EVENT_OF and phase is not Phase.BEFORE_END:
            put_event(connection, f"lease.event.{EVENT_OF[phase]}", after, now)
        if self._occupied:
            # Nothing tells us when the servers are gone.
            finish_task(connection, self.claim, self._again(after, now), keep_attempts=True)
        else:
            finish_task(connection, self.claim, next_moment(after))

    def _falter(self, connection: Connection, lease: Lease, now: datetime) -> None:
        """Some reservation is not done: wait and try again, or give up when waiting does not help."""
        reason = "; ".join(outcome.reason for outcome in self.outcomes if outcome.reason) + "."
        after = replace(self._known(lease), status_reason=reason)
        phase, failed = self.step.phase, self._of(Result.FAILED)
        gives_up = given_up(phase, self.outcomes)
        if gives_up:
            after = after.with_event(EVENT_OF[phase], status=EventStatus.ERROR)
        if gives_up and phase is Phase.END and not _has_begun(after):
            after = after.with_event(EventType.START, status=EventStatus.ERROR)
        if gives_up and phase in _PARTS_AFTER:
            after = replace(after, status=LeaseStatus.ERROR)
            after = after.with_reservations(failed, status=ReservationStatus.ERROR)
            after = after.with_reservations(self._of(Result.DONE), status=_PARTS_AFTER[phase])
        after = save_lease(connection, lease, after, now)
        if gives_up:
            put_event(connection, f"lease.event.{EVENT_OF[phase]}", after, now)
            finish_task(connection, self.claim, next_moment(after), error=reason)
        else:
            finish_task(connection, self.claim, self._again(after, now), error=reason, keep_attempts=True)

    def _again(self, lease: Lease, now: datetime) -> datetime:
        """Return when to try again: after a growing pause, or at the lease's next event if that is sooner."""
        settings = self.service.settings.manager
        seconds = min(settings.retry_first_seconds * 2 ** min(self.claim.attempts - 1, 20), settings.retry_most_seconds)
        pause = timedelta(seconds=seconds)
        if self.step.blocked and self._of(Result.WAITING) == self.step.blocked.keys():
            pause = min(pause, max(SHORT_WAIT, (now - lease.window.start) / WAITED_SHARE))
        moments = (event.time for event in lease.events if event.status is EventStatus.UNDONE and event.time)
        return min([now + pause, *(moment for moment in moments if moment > now)])


_PARTS_AFTER = {Phase.START: ReservationStatus.ACTIVE, Phase.END: ReservationStatus.DELETED}


def _started(lease: Lease) -> Lease:
    lease = lease.with_reservations(None, status=ReservationStatus.ACTIVE)
    lease = lease.with_event(EventType.START, status=EventStatus.DONE)
    return replace(lease, status=LeaseStatus.ACTIVE, status_reason=None)


def _warned(lease: Lease) -> Lease:
    return replace(lease.with_event(EventType.BEFORE_END, status=EventStatus.DONE), status_reason=None)


def _kept(lease: Lease) -> Lease:
    return replace(lease, status_reason=None)


def _has_begun(lease: Lease) -> bool:
    start = lease.event(EventType.START)
    return start is None or start.status in (EventStatus.DONE, EventStatus.ERROR)


def _ended(lease: Lease) -> Lease:
    """End a lease; one whose time passed before it could start says so, because a promise was not kept.

    One that its owner cut to nothing before it began has simply ended.
    """
    begun = _has_begun(lease)
    lease = lease.with_reservations(None, status=ReservationStatus.DELETED)
    lease = lease.with_event(EventType.END, status=EventStatus.DONE)
    if begun:
        return _with_images_or_without(replace(lease, status=LeaseStatus.TERMINATED, status_reason=None))
    if not lease.window.duration:
        lease = lease.with_event(EventType.START, status=EventStatus.DONE)
        return replace(lease, status=LeaseStatus.TERMINATED, status_reason=None)
    reason = f"The lease's time passed before it could start. {lease.status_reason or ''}".strip()
    lease = lease.with_event(EventType.START, status=EventStatus.ERROR)
    return replace(lease, status=LeaseStatus.ERROR, status_reason=reason)


def _with_images_or_without(lease: Lease) -> Lease:
    """Settle the warning of a lease that has ended: all was saved, or its owner reads what was not."""
    missing = sum(part.cloud.get(IMAGES_MISSING, 0) for part in lease.reservations)
    if missing:
        reason = f"The lease ended without {missing} of the images of its servers; they were not complete in time."
        return replace(lease.with_event(EventType.BEFORE_END, status=EventStatus.ERROR), status_reason=reason)
    warning = lease.event(EventType.BEFORE_END)
    if warning is None or warning.status is not EventStatus.IN_PROGRESS:
        return lease
    return lease.with_event(EventType.BEFORE_END, status=EventStatus.DONE)


_NEXT: dict[Phase, Callable[[Lease], Lease]] = {
    Phase.START: _started,
    Phase.BEFORE_END: _warned,
    Phase.KEEP: _kept,
    Phase.END: _ended,
}
"""What a lease becomes when a step has succeeded for all its reservations."""
