"""The steps of a lease: a transaction begins each step, another completes it; the cloud is called between (design §5).

`begin` determines the next step from the clock and the database; `outcome.complete` records its result. Any manager may
run both, also after a crash: a step that was begun and not completed is begun again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from logging import getLogger
from typing import TYPE_CHECKING, Any

from leasehold.db.allocation import unreleased_on
from leasehold.db.leases.lease import find_claimed, save_lease
from leasehold.db.outbox import put_event
from leasehold.db.resources.resource import resources_by_number
from leasehold.db.task import LEASE, finish_task
from leasehold.db.together import together
from leasehold.leasing.deciding.allocations import lasts
from leasehold.leasing.end_notices import note_end
from leasehold.model.allocation import taken_by
from leasehold.model.event_log import LeaseNews
from leasehold.model.held_offer import lapsed
from leasehold.model.judging import next_no_show
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus
from leasehold.model.transitions import Trigger, can, move
from leasehold.resource_types.driver import Convergence, Holding, Wanted
from leasehold.resource_types.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.task import Claim
    from leasehold.db.together import Writer
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.model.terms.no_show import NoShow

log = getLogger(__name__)


class Phase(StrEnum):
    """The kind of step that a lease needs now."""

    REMOVE = "remove"
    END = "end"
    START = "start"
    BEFORE_END = "before_end"
    NO_SHOW = "no_show"
    """What the lease does not use is looked for, to warn its owner or to release it (`leasing/steps/no_show.py`)."""
    KEEP = "keep"
    TRY = "try"
    """The lease waits for resources, and is tried again (`leasing/waiting/waiting.py`)."""
    LAPSE = "lapse"
    """The time is over in which an offer could be accepted (`leasing/lapse.py`)."""
    RELEASE = "release"
    """The lease is over and still has unreleased resources, a fault: its cloud objects are removed again."""


class Result(StrEnum):
    """The result of a step for one reservation."""

    DONE = "done"
    WAITING = "waiting"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a step for one reservation; `reason` is a sentence for the lease's owner.

    `occupied` are the allocations on vacated hosts that cannot be released yet, because servers remain there. `freed`
    are allocations that are released although the reservation is not done, because servers live on elsewhere, or
    although its lease goes on, because it does not use them. `no_show` is what is known of its no-show from now on, if
    that differs, and `unused` are the allocations that its owner is warned of.
    """

    reservation_id: str
    result: Result
    reason: str | None = None
    cloud: Mapping[str, Any] | None = None
    occupied: frozenset[int] = frozenset()
    freed: frozenset[int] = frozenset()
    no_show: NoShow | None = None
    unused: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a lease: a job for each reservation, and why reservations are `blocked`, by their id.

    `first` says that this is the first try of a start, a warning or an end: earlier failures do not count.
    """

    phase: Phase
    lease: Lease
    jobs: Sequence[Convergence[Any]]
    blocked: Mapping[str, str]
    first: bool = False

    @property
    def wanted(self) -> Wanted:
        """The state that the cloud should have for the lease's reservations after this step."""
        if self.phase in ENDING:
            return Wanted.ENDED
        started = self.phase is Phase.START or self.lease.status is LeaseStatus.ACTIVE
        return Wanted.ACTIVE if started else Wanted.PREPARED

    def wanted_of(self, job: Convergence[Any]) -> Wanted:
        """Return the state that the cloud should have for one reservation: one that was dropped has ended."""
        return Wanted.ENDED if job.reservation.dropped else self.wanted


EVENT_OF = {Phase.START: EventType.START, Phase.BEFORE_END: EventType.BEFORE_END, Phase.END: EventType.END}
"""The event that a step carries out; NO_SHOW, KEEP, REMOVE and RELEASE have none."""


_BEGUN = {LeaseStatus.STARTING: LeaseNews.STARTING, LeaseStatus.TERMINATING: LeaseNews.ENDING}
"""The event of a step that has begun, by the status that the lease then has."""
ENDING = frozenset({Phase.END, Phase.REMOVE, Phase.RELEASE})
"""The steps of a lease that ends or is over."""
_DUE = {Phase.START: Trigger.START_DUE, Phase.BEFORE_END: Trigger.WARNING_DUE, Phase.END: Trigger.END_DUE}
_STEPS = ((EventType.END, Phase.END), (EventType.START, Phase.START), (EventType.BEFORE_END, Phase.BEFORE_END))
"""The priority of events that are due together: a lease whose window is over is not started any more."""


def phase_of(lease: Lease, now: datetime) -> Phase | None:
    """Return the step that the lease needs now; None if it needs nothing before its next event."""
    if lease.status is LeaseStatus.DELETING:
        return Phase.REMOVE
    if lease.waits:
        return Phase.TRY
    if lease.status is LeaseStatus.OFFERED:
        return Phase.LAPSE if lapsed(lease, now) else None
    if is_over(lease):
        return Phase.RELEASE if any(map(keeps, lease.reservations)) else None
    return _due_phase(lease, now)


def _due_phase(lease: Lease, now: datetime) -> Phase | None:
    """Return the step of a lease that is neither over nor waits."""
    for kind, phase in _STEPS:
        moment = _open_since(lease, kind)
        if moment is not None and moment <= now:
            return phase
    no_show = next_no_show(lease)
    if no_show is not None and no_show <= now:
        return Phase.NO_SHOW
    return Phase.KEEP if lease.status in (LeaseStatus.PENDING, LeaseStatus.ACTIVE) else None


def is_over(lease: Lease) -> bool:
    """Return whether the lease was deleted, or its end is complete."""
    end = lease.event(EventType.END)
    ended = end is not None and end.status is EventStatus.DONE
    return lease.deleted_at is not None or lease.status is LeaseStatus.TERMINATED or ended


def keeps(part: Reservation) -> bool:
    """Return whether a reservation has allocations that are not released."""
    return any(held.released_at is None and held.window.duration for held in part.allocations)


def _open_since(lease: Lease, kind: EventType) -> datetime | None:
    """Return the time of an event that has to be carried out, or retried after a failure; None for any other event.

    Only an active lease has a warning. A lease in ERROR is started again, even if its start is done, because Blazar
    may have set ERROR after the start.
    """
    event = lease.event(kind)
    if event is None or (kind is EventType.BEFORE_END and lease.status is not LeaseStatus.ACTIVE):
        return None
    if kind is EventType.START and event.time is not None and not lease.window.duration:
        # It ends at its start, so the work of its start would be in vain.
        event = replace(event, time=lease.window.start)
    again = kind is EventType.START and lease.status is LeaseStatus.ERROR
    return event.time if again or event.status is not EventStatus.DONE else None


def next_moment(lease: Lease) -> datetime | None:
    """Return when the lease's next event or step of a no-show is due: a time in the past means at once, None never."""
    if is_over(lease):
        return None
    if lease.waits and lease.waiting is not None:
        return lease.waiting.due
    if lease.status is LeaseStatus.OFFERED:
        return lease.offered_until
    moments = [*(_open_since(lease, kind) for kind, _ in _STEPS), next_no_show(lease)]
    moments += [event.time for event in lease.own_events]
    return min((moment for moment in moments if moment is not None), default=None)


def begin(service: Service, claim: Claim) -> Step | None:
    """Record that the next step of the claimed lease has begun, and return the step.

    Returns None if nothing is due now (the task is then rescheduled), or if the claim is lost.
    """
    return service.db.transact(partial(_begin, service, claim))


def _begin(service: Service, claim: Claim, connection: Connection) -> Step | None:
    now = service.now()
    found = find_claimed(connection, [claim.subject], now).get(claim.subject)
    if found is None:
        finish_task(connection, claim, None)
        return None
    if found.holder != claim.claimer:
        return None
    lease = _tell_own(connection, found.lease, now)
    phase = phase_of(lease, now)
    if phase is None:
        finish_task(connection, claim, next_moment(lease))
        return None
    if phase in (Phase.TRY, Phase.LAPSE):
        return Step(phase, lease, (), {})
    jobs = jobs_of(service, connection, lease)
    blocked = _blocked(connection, jobs, found.there, now) if phase is Phase.START else {}
    if phase in ENDING:
        source = service.source_of(lease)
        jobs = [source.ending(connection, job, now) for job in jobs]
    # If every reservation is blocked, the step has not begun: the lease may still be moved, or deleted at once.
    waits = bool(blocked) and len(blocked) == sum(not job.reservation.dropped for job in jobs)
    with together(connection) as writes:
        begun = lease if waits else _save_begun(writes, lease, phase, jobs, now)
        if phase is Phase.BEFORE_END and not lease.reached(EventType.BEFORE_END):
            # Notify now, not when the step is complete: images before the end may take long.
            put_event(writes, f"lease.event.{EventType.BEFORE_END}", begun, now)
    if phase is Phase.END and not lease.reached(EventType.END):
        note_end(service, connection, begun, now)
    first = phase in EVENT_OF and not waits and not lease.reached(EVENT_OF[phase])
    return Step(phase, begun, jobs, blocked, first)


def begin_all(service: Service, claims: Sequence[Claim]) -> Mapping[Claim, Step]:
    """Do as `begin` in one transaction for first starts that nothing blocks, and tries; leave out all other claims.

    If it fails, or nobody knows whether it was committed, all are left out: a step may be begun again.
    """
    # Other tasks may be about a lease, too.
    claims = [each for each in claims if each.kind == LEASE]
    try:
        return service.db.transact(partial(_begin_all, service, claims)) if len(claims) > 1 else {}
    except Exception:
        log.warning("%d steps could not be begun together", len(claims), exc_info=True)
        return {}


def _begin_all(service: Service, claims: Sequence[Claim], connection: Connection) -> dict[Claim, Step]:
    now = service.now()
    claimed = find_claimed(connection, [each.subject for each in claims], now)
    ours = {
        claim: (found, phase_of(found.lease, now))
        for claim in claims
        if (found := claimed.get(claim.subject)) is not None
        and found.holder == claim.claimer
        and not found.lease.own_events
    }
    steps = {claim: Step(phase, found.lease, (), {}) for claim, (found, phase) in ours.items() if phase is Phase.TRY}
    plain = {
        claim: found
        for claim, (found, phase) in ours.items()
        if phase is Phase.START and found.lease.status is LeaseStatus.PENDING
    }
    every = jobs_of_each(service, connection, [found.lease for found in plain.values()])
    with together(connection) as writes:
        for (claim, found), jobs in zip(plain.items(), every, strict=True):
            if not _blocked(connection, jobs, found.there, now):
                begun = _save_begun(writes, found.lease, Phase.START, jobs, now)
                steps[claim] = Step(Phase.START, begun, jobs, {}, not found.lease.reached(EventType.START))
    return steps


def _save_begun(writes: Writer, lease: Lease, phase: Phase, jobs: Sequence[Convergence[Any]], now: datetime) -> Lease:
    """Write that a step has begun, with an event if the lease has another status then, and return the lease."""
    begun = save_lease(writes, lease, _begun(lease, phase), now)
    if begun.status is not lease.status:
        put_event(writes, _BEGUN[begun.status], begun, now, _what_lives_on(begun, jobs))
    return begun


def _tell_own(connection: Connection, lease: Lease, now: datetime) -> Lease:
    """Return the lease after its owner's events that are due are told; those left at its end are told then."""
    due = [each for each in lease.own_events if each.time is not None and min(each.time, lease.window.end) <= now]
    if not due or is_over(lease) or not can(lease.status, Trigger.TOLD):
        return lease
    told = save_lease(connection, lease, move(lease, Trigger.TOLD, told={each.id for each in due}), now)
    for each in due:
        what = {"id": each.id, "event_type": each.type, "time": each.time and each.time.isoformat()}
        put_event(connection, LeaseNews.OWN_EVENT, told, now, {"event": what})
    return told


def _what_lives_on(lease: Lease, jobs: Sequence[Convergence[Any]]) -> dict[str, str]:
    """Return until when servers outlive a lease that ends, for its event; nothing if none does, or there is no end."""
    until = [job.kept_until for job in jobs if job.kept_until is not None and job.holdings and not job.gives_back]
    ends = lease.status is LeaseStatus.TERMINATING and lease.reached(EventType.START)
    return {"servers_live_until": max(until).isoformat()} if ends and until else {}


def _begun(lease: Lease, phase: Phase) -> Lease:
    """Return the lease with its step in progress; a failed event stays in ERROR until a try succeeds."""
    return lease if phase not in EVENT_OF or lease.event(EVENT_OF[phase]) is None else move(lease, _DUE[phase])


def jobs_of(service: Service, connection: Connection, lease: Lease) -> list[Convergence[Any]]:
    """Return the jobs for `Driver.converge`: one for each reservation of the lease that is not finished."""
    return jobs_of_each(service, connection, [lease])[0]


def jobs_of_each(service: Service, connection: Connection, leases: Sequence[Lease]) -> list[list[Convergence[Any]]]:
    """Return the jobs of each of these leases."""
    every = [(lease, [part for part in lease.reservations if _unfinished(part, lease)]) for lease in leases]
    held = (each for _, parts in every for part in parts for each in part.allocations)
    resources = resources_by_number(connection, {each.resource_number for each in held if each.released_at is None})
    now = service.now()
    return [[_job(service, lease, part, resources, now) for part in parts] for lease, parts in every]


def _unfinished(part: Reservation, lease: Lease) -> bool:
    """Return whether a reservation needs a job: every one of a deleted lease does, else those not ended or released."""
    return lease.deleted_at is not None or part.status is not ReservationStatus.DELETED or keeps(part)


def _job(
    service: Service, lease: Lease, part: Reservation, resources: Mapping[int, Resource], now: datetime
) -> Convergence[Any]:
    live: list[Holding] = []
    former: list[Holding] = []
    left: list[Holding] = []
    for held in part.allocations:
        if held.released_at is None:
            kept = left if held.left_at is not None else live if lasts(held, lease) else former
            kept.append(Holding(resources[held.resource_number], held.slots, held.id))
    found = service.types.find(part.resource_type)
    return Convergence(
        lease.project_id,
        part,
        None if found is None else found.kind,
        tuple(live),
        tuple(former),
        tuple(left),
        service.settings.cloud,
        None if part.dropped else _warned(lease, now),
        _waits(lease, part, now),
        _kept_until(lease, part, now),
        removed=part.dropped or _is_removed(lease),
        alone=len(lease.kept) == 1,
    )


def _is_removed(lease: Lease) -> bool:
    """Return whether the lease was deleted, or is being deleted: whoever does so wants it to go at once."""
    return lease.status is LeaseStatus.DELETING or lease.deleted_at is not None


def _kept_until(lease: Lease, part: Reservation, now: datetime) -> datetime | None:
    """Return until when servers of a reservation live on after the end; None if that is over, or there is no such time.

    Where hosts are given back with their servers, it is the last date there is. Whoever deletes a lease wants it to go:
    its servers are deleted at once; and so do those of a reservation that is dropped.
    """
    if not part.ending.tail or part.dropped or _is_removed(lease):
        return None
    until = part.ending.held(lease.window).end
    return until if until > now else None


def _warned(lease: Lease, now: datetime) -> datetime | None:
    """Return the time of the warning, or of the end of a lease without one, if it is due.

    A lease that is deleted or over has none.
    """
    event = lease.event(EventType.BEFORE_END) or lease.event(EventType.END)
    if event is None or event.time is None or event.time > now or _is_removed(lease) or is_over(lease):
        return None
    return event.time


def _waits(lease: Lease, part: Reservation, now: datetime) -> Waits:
    """Return from when the end counts its waits, or the deletion."""
    end = lease.event(EventType.END)
    # For an end that lies ahead the answer must not depend on `now`: the audit compares two answers.
    begun = over = max(now, lease.window.end)
    if lease.status is LeaseStatus.DELETING or part.dropped:
        parts = [part] if part.dropped else lease.reservations
        held = [each.window.end for one in parts for each in one.allocations if not each.released_at]
        begun = over = min(now, max(held, default=now), *([] if lease.lent is None else [lease.window.end]))
    elif end is not None and lease.reached(EventType.END) and end.updated_at is not None:
        begun = min(now, end.updated_at)
        over = max(begun, part.ending.counted(lease.window).end)
    return Waits(now, begun, over)


def _blocked(
    connection: Connection, jobs: Sequence[Convergence[Any]], there: Sequence[Allocation] | None, now: datetime
) -> dict[str, str]:
    """Return, by reservation, why its start has to wait: its resources are not ready, or not released before.

    What is `there` was read with the lease; None: it was not.
    """
    if there is None:
        numbers = {holding.resource.number for job in jobs for holding in job.holdings}
        there = unreleased_on(connection, numbers, now) if numbers else []
    reasons = {}
    for job in jobs:
        unready = [holding.resource.label for holding in job.holdings if holding.resource.readiness is not None]
        if unready:
            reasons[job.name] = f"Waiting for {', '.join(unready)} to be ready"
            continue
        full = [holding.resource.label for holding in job.holdings if is_full(holding.resource, there, job.name, now)]
        if full:
            reasons[job.name] = f"Waiting for the previous lease to leave {', '.join(full)}"
    return reasons


def is_full(resource: Resource, there: Sequence[Allocation], reservation_id: str, now: datetime) -> bool:
    """Say whether ended but unreleased allocations leave no room for the reservation's own allocation."""
    here = [each for each in there if each.resource_number == resource.number]
    over = [each for each in here if each.window.end <= now and each.reservation_id != reservation_id]
    if not over:
        return False
    if any(each.demand is None for each in here):
        return True
    return any(amount > resource.capacity.get(name, 0) for name, amount in taken_by(here).items())
