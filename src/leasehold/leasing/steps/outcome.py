"""Record the result of a step: the next status, the next due time, the released resources (design §5)."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from operator import attrgetter
from typing import TYPE_CHECKING

from leasehold.db.allocation import end_allocations
from leasehold.db.leases.lease import find_lease, lock_generation, lock_states, save_lease
from leasehold.db.outbox import put_event
from leasehold.db.pool import lock_pools
from leasehold.db.task import finish_task, still_ours
from leasehold.db.together import together
from leasehold.leasing.deciding.flags import put_flag_event
from leasehold.leasing.deciding.queue import ALONE
from leasehold.leasing.deciding.source import Release
from leasehold.leasing.locks import Locks
from leasehold.leasing.steps.guests import with_guests
from leasehold.leasing.steps.lifecycle import EVENT_OF, Phase, Result, next_moment
from leasehold.leasing.steps.no_show import put_no_show_events, settled
from leasehold.leasing.steps.shared import complete_together
from leasehold.model.backoff import REFUSALS_TO_SHOW, REFUSED_GROWTH, pause_after
from leasehold.model.event_log import LeaseNews
from leasehold.model.judging import next_no_show
from leasehold.model.segment import Cause
from leasehold.model.states import EventStatus, EventType, LeaseStatus
from leasehold.model.transitions import Trigger, gone, move
from leasehold.resource_types.driver import UNSAVED, Wanted
from leasehold.resource_types.end_actions.chain import limits_of, shown_of
from leasehold.resource_types.end_actions.image_results import NOT_DONE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.task import Claim
    from leasehold.db.together import Writer
    from leasehold.leasing.service import Service
    from leasehold.leasing.steps.lifecycle import Outcome, Step
    from leasehold.model.lease import Lease

log = logging.getLogger(__name__)

SHORT_WAIT = timedelta(seconds=2)
"""The first pause before a step that waits for another lease to leave a host is retried."""
WAITED_SHARE = 10
"""Later, the pause is a tenth of the time waited so far: a host stuck for hours is not checked every two seconds."""


def shows_failure(claim: Claim, step: Step, outcomes: Sequence[Outcome], now: datetime) -> bool:
    """Return whether the lease shows the failure of a start, a warning or an end until a try succeeds.

    The work of a start that begins before the lease does has failed only if the lease is not ready at its start.
    """
    early = step.phase is Phase.START and now < step.lease.window.start
    often = _refused(outcomes) and not early and refusals(claim, step, outcomes) >= REFUSALS_TO_SHOW
    return step.phase in EVENT_OF and (often or _has_failed(step))


def refusals(claim: Claim, step: Step, outcomes: Sequence[Outcome]) -> int:
    """Return how often in a row the cloud has refused this step, including now."""
    return (0 if step.first else claim.refusals) + _refused(outcomes)


def _refused(outcomes: Sequence[Outcome]) -> bool:
    return any(outcome.result is Result.REFUSED for outcome in outcomes)


def _has_failed(step: Step) -> bool:
    """Return whether the lease already shows the failure of this step."""
    event = step.lease.event(EVENT_OF[step.phase])
    return event is not None and event.status is EventStatus.ERROR


def complete(service: Service, claim: Claim, step: Step, outcomes: Sequence[Outcome]) -> bool:
    """Record the result of a step and when the lease's task is due next; return False when the claim is lost.

    If the owner or healing changed the lease meanwhile, only the released allocations and the drivers' facts are
    recorded, and the task is due at once.
    """
    completion = _Completion(service, claim, step, outcomes)
    if completion.is_plain:
        try:
            return complete_together(service, completion, completion.at_once, _at_once)
        except _OvertakenError:
            # What was changed, and by whom, is found out with the lease locked.
            log.debug("Lease %s has changed during its step", step.lease.id)
    return service.db.transact(completion)


class _OvertakenError(Exception):
    """The lease or its claim is not as it was when the step began, so this transaction writes nothing."""


@dataclass(frozen=True, slots=True)
class _Completion:
    """The transaction, which may have to run more than once."""

    service: Service
    claim: Claim
    step: Step
    outcomes: Sequence[Outcome]

    def __call__(self, connection: Connection) -> bool:
        pools = lock_pools(connection, self._freed().keys())
        source = self.service.source_of(self.step.lease)
        heir = source.lock_heir(connection, self.step.lease) if pools else None
        lease, locks = self._as_it_is(connection), Locks(connection, pools, self.service.now())
        if not still_ours(connection, self.claim):
            return False
        if lease is not None:
            outcomes = with_guests(self.service, self.step, self.outcomes, locks)
            replace(self, outcomes=outcomes).record(lease, Release(locks, heir))
        return True

    @property
    def is_plain(self) -> bool:
        """Whether all there is to record is that a start has succeeded: nothing is released, dropped or waited for."""
        done = all(outcome.result is Result.DONE for outcome in self.outcomes)
        dropped = any(job.reservation.dropped for job in self.step.jobs)
        return self.step.phase is Phase.START and done and not (dropped or self._freed() or self._occupied)

    def at_once(self, connection: Connection) -> bool:
        """Record a plain start without a look at the lease and the claim: the writes prove that both are unchanged."""
        with together(connection) as writes:
            self.started(writes)
        if not writes.is_complete:
            raise _OvertakenError
        return True

    def started(self, writes: Writer) -> None:
        """Write a plain start, if lease and claim are as they were."""
        lease, now = self.step.lease, self.service.now()
        active = _NEXT[Phase.START](self._known(lease))
        if active == lease:
            raise _OvertakenError
        after = save_lease(writes, lease, active, now, locked=False)
        put_event(writes, f"lease.event.{EventType.START}", after, now)
        finish_task(writes, self.claim, next_moment(after))

    def record(self, lease: Lease, to: Release) -> None:
        """Write what the outcomes say about the lease, which is locked, as are its pools and its heir."""
        connection, now, freed = to.locks.connection, to.locks.now, self._freed()
        changed = lease.generation != self.step.lease.generation
        if changed and self.step.phase is Phase.NO_SHOW:
            # What is promised now may be more. The next step puts back what this one has taken out, or releases it.
            finish_task(connection, self.claim, now)
            return
        self._release(lease, freed, to)
        lease = self._without_dropped(connection, lease, now)
        if changed:
            save_lease(connection, lease, self._known(lease), now)
            finish_task(connection, self.claim, now)
        elif all(outcome.result is Result.DONE for outcome in self.outcomes):
            self._succeed(connection, lease, now)
        else:
            self._falter(connection, lease, now)
        if freed and (changed or self._tells_nothing_of(freed)):
            put_event(connection, LeaseNews.RELEASED, lease, now)

    def _without_dropped(self, connection: Connection, lease: Lease, now: datetime) -> Lease:
        """Return the lease, saved, after reservations that were dropped are gone from the cloud, if any are."""
        done = self._of(Result.DONE) if self.step.wanted is not Wanted.ENDED else set()
        gone = {job.name for job in self.step.jobs if job.reservation.dropped and job.name in done}
        return save_lease(connection, lease, move(lease, Trigger.DROPPED, done=gone), now) if gone else lease

    def _release(self, lease: Lease, freed: Mapping[str, list[int]], to: Release) -> None:
        """Release these allocations, and make due the leases that wait for something in their pools.

        Its source says who has them next.
        """
        held = {each.id: each for part in lease.reservations for each in part.allocations}
        cause, locks = Cause.NO_SHOW if self.step.phase is Phase.NO_SHOW else Cause.ENDED, to.locks
        for pool, ids in freed.items():
            ending = [held[ident] for ident in ids]
            end_allocations(locks.connection, ending, locks.next(pool), locks.now, cause, released=True)
            self.service.source_of(lease).give_back(to, lease, ending)
        locks.move(freed=True)

    def _tells_nothing_of(self, freed: Mapping[str, list[int]]) -> bool:
        """Return whether the step has no event of its own that speaks of all that is released."""
        if self.step.phase is Phase.NO_SHOW:
            return not all(self._early.issuperset(ids) for ids in freed.values())
        return self.step.phase in (Phase.KEEP, Phase.RELEASE)

    def _as_it_is(self, connection: Connection) -> Lease | None:
        """Return the lease, locked; it is read again only if it has changed since the step began."""
        seen = self.step.lease
        generation = lock_generation(connection, seen.id)
        return seen if generation == seen.generation else find_lease(connection, seen.id, lock=True, gone=True)

    def _freed(self) -> dict[str, list[int]]:
        """Return, by pool, the allocations to release.

        All of an ended reservation, and those on which nothing lives on; of any other, former and vacated ones, and
        those that it gives up.
        """
        done = self._of(Result.DONE)
        early = self._early
        freed: dict[str, list[int]] = {}
        for job in self.step.jobs:
            ended = self.step.wanted_of(job) is Wanted.ENDED
            over = job.all_holdings if ended else (*job.former, *job.left)
            ready = [each for each in over if job.name in done or each.allocation_id in early]
            ready += [each for each in job.holdings if each not in over and each.allocation_id in early]
            ready += [each for each in job.spared if job.name in done]
            for holding in ready:
                if holding.allocation_id not in self._occupied:
                    freed.setdefault(holding.resource.pool, []).append(holding.allocation_id)
        return freed

    @property
    def _early(self) -> frozenset[int]:
        """The allocations that are released although their reservation is not done, or its lease goes on."""
        return frozenset().union(*(outcome.freed for outcome in self.outcomes))

    @property
    def _occupied(self) -> frozenset[int]:
        """The allocations on vacated hosts that still have servers."""
        return frozenset().union(*(outcome.occupied for outcome in self.outcomes))

    def _of(self, result: Result) -> set[str]:
        return {outcome.reservation_id for outcome in self.outcomes if outcome.result is result}

    def _known(self, lease: Lease) -> Lease:
        """Return the lease with the facts that the drivers returned about its reservations."""
        facts = {outcome.reservation_id: outcome.cloud for outcome in self.outcomes if outcome.cloud}
        done = self._of(Result.DONE) if self.step.phase in _SHARING else set()
        told = {job.name: job.reservation.shares for job in self.step.jobs if job.name in done}
        for part in lease.reservations:
            after = part.told(told[part.id]) if part.id in told else part
            if part.id in facts:
                after = replace(after, cloud={**after.cloud, **facts[part.id]})
            if after != part:
                lease = lease.with_reservations({part.id}, cloud=after.cloud, shares=after.shares)
        return lease

    def _settled(self, lease: Lease, now: datetime) -> Lease:
        """Return the lease with these facts, and with what a no-show makes of it."""
        known = self._known(lease)
        return settled(known, self.step, self.outcomes, now) if self.step.phase is Phase.NO_SHOW else known

    def _succeed(self, connection: Connection, lease: Lease, now: datetime) -> None:
        phase = self.step.phase
        if phase is Phase.REMOVE:
            if lease.deleted_at is None:
                after = save_lease(connection, lease, gone(lease, Trigger.GONE, now), now)
                put_event(connection, "lease.delete", after, now)
            finish_task(connection, self.claim, None)
            return
        after = save_lease(connection, lease, _NEXT[phase](self._settled(lease, now)), now)
        if phase is Phase.NO_SHOW:
            put_no_show_events(connection, after, self.step, self.outcomes, now)
            put_flag_event(connection, lease, after, now)
        elif phase is Phase.BEFORE_END:
            put_event(connection, LeaseNews.WARNED, after, now, shown_of(after.reservations, warned=True))
        elif phase in EVENT_OF:
            more = shown_of(after.reservations) if phase is Phase.END else None
            put_event(connection, f"lease.event.{EVENT_OF[phase]}", after, now, more)
        if self._occupied:
            # No event says when the servers are gone, so poll.
            attempts = self.claim.attempts
            finish_task(connection, self.claim, self._again(after, now, attempts, 0), attempts=attempts)
        else:
            finish_task(connection, self.claim, next_moment(after))

    def _falter(self, connection: Connection, lease: Lease, now: datetime) -> None:
        """Record why a reservation is not done, and schedule the next try."""
        reason = "; ".join(outcome.reason for outcome in self.outcomes if outcome.reason) + "."
        after = self._settled(lease, now)
        after = after if self.step.phase is Phase.RELEASE else replace(after, status_reason=reason)
        tells = shows_failure(self.claim, self.step, self.outcomes, now)
        after = save_lease(connection, lease, self._failed(after) if tells else after, now)
        if self.step.phase is Phase.NO_SHOW:
            put_no_show_events(connection, after, self.step, self.outcomes, now)
            put_flag_event(connection, lease, after, now)
        if tells and not _has_failed(self.step):
            warning = self.step.phase is Phase.BEFORE_END
            told = LeaseNews.WARNING_FAILED if warning else f"lease.event.{EVENT_OF[self.step.phase]}"
            put_event(connection, told, after, now, shown_of(after.reservations, warned=True) if warning else None)
        # What has given up something that it waited for goes on at once.
        attempts = 1 if self.step.first or _unsaved(after) != _unsaved(lease) else self.claim.attempts
        refused = refusals(self.claim, self.step, self.outcomes)
        due = self._again(after, now, attempts, refused)
        finish_task(connection, self.claim, due, error=reason, attempts=attempts, refusals=refused)

    def _failed(self, lease: Lease) -> Lease:
        """Return the lease with the failure; what has succeeded for a reservation is recorded all the same."""
        return move(lease, _FAILED[self.step.phase], done=self._of(Result.DONE), refused=self._of(Result.REFUSED))

    def _again(self, lease: Lease, now: datetime, attempts: int, refused: int) -> datetime:
        """Return when to try again: after a growing pause, or at the next event or no-show if that is earlier."""
        waiting, settings = self._of(Result.WAITING), self.service.settings.manager
        first, pauses = settings.retry_first_seconds, []
        if self._of(Result.REFUSED):
            most = settings.retry_refused_seconds
            pauses = [pause_after(refused, first=first, most=most, growth=REFUSED_GROWTH)]
        if waiting or not pauses:
            pauses.append(pause_after(attempts, first=first, most=settings.retry_most_seconds))
        if waiting and waiting == self.step.blocked.keys():
            pauses.append(max(SHORT_WAIT, (now - lease.begins) / WAITED_SHARE))
        moments = [event.time for event in lease.events if event.status is EventStatus.UNDONE and event.time]
        # Then a failure of the start is shown, if it goes on.
        moments.append(lease.window.start)
        no_show = next_no_show(lease)
        moments += [] if no_show is None else [no_show]
        for job in self.step.jobs:
            moments += [*limits_of(job), *([] if job.kept_until is None else [job.kept_until])]
        return min([now + min(pauses), *(moment for moment in moments if moment > now)])


def _at_once(_: Service, completions: Sequence[_Completion], connection: Connection) -> list[object]:
    """Record those of several plain starts whose lease and claim are unchanged, and return ALONE for the others."""
    states = lock_states(connection, [each.step.lease.id for each in completions])
    ours = {
        each.claim: each
        for each in completions
        if states.get(each.step.lease.id) == (each.step.lease.generation, each.claim.claimer)
    }
    with together(connection) as writes:
        # In the order in which claims are renewed.
        for claim in sorted(ours, key=attrgetter("id")):
            ours[claim].started(writes)
    if not writes.is_complete:
        raise _OvertakenError
    return [True if each.claim in ours else ALONE for each in completions]


_SHARING = frozenset({Phase.START, Phase.KEEP})
"""The steps that tell the cloud which projects may use a reservation."""
_FAILED = {Phase.START: Trigger.START_FAILED, Phase.BEFORE_END: Trigger.WARNING_FAILED, Phase.END: Trigger.END_FAILED}


def _unsaved(lease: Lease) -> Counter[str]:
    """Return how much of what was asked for was not complete when the reservations ended, by a noun in the plural."""
    unsaved: Counter[str] = Counter()
    for part in lease.reservations:
        unsaved.update(part.cloud.get(UNSAVED, {}))
    return unsaved


def _well(lease: Lease) -> Lease:
    """Return the lease without a reason: what was waited for has come."""
    return replace(lease, status_reason=None)


def _ended(lease: Lease) -> Lease:
    """Return an ended lease; one whose window passed before it could start is in ERROR, with the reason."""
    unsaved = _unsaved(lease)
    if unsaved:
        what = " and ".join(f"{number} of the {noun}" for noun, number in sorted(unsaved.items()))
        results = [each for rows in shown_of(lease.reservations).values() for each in rows]
        whys = sorted({each["reason"] for each in results if each["status"] == NOT_DONE})
        reason = " ".join([f"The lease ended without {what}.", *whys])
        return replace(move(lease, Trigger.ENDED_INCOMPLETE), status_reason=reason)
    after = move(lease, Trigger.ENDED)
    if after.status is LeaseStatus.TERMINATED:
        return _well(after)
    reason = f"The lease's time passed before it could start. {lease.status_reason or ''}".strip()
    return replace(after, status_reason=reason)


_NEXT: dict[Phase, Callable[[Lease], Lease]] = {
    Phase.START: lambda lease: _well(move(lease, Trigger.STARTED)),
    Phase.BEFORE_END: lambda lease: _well(move(lease, Trigger.WARNED)),
    Phase.NO_SHOW: _well,
    Phase.KEEP: _well,
    Phase.END: _ended,
    Phase.RELEASE: lambda lease: lease,
}
"""The lease after a step that succeeded for all its reservations."""
