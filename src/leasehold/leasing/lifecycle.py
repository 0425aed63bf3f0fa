"""The steps of a lease's life, each begun and completed in a transaction, with the cloud called in between (design §5).

`begin` says what the clock and the database want done now; `outcome.complete` writes down how it went. Both may be
run by any manager, and again after a crash: a step that was begun and not completed is simply begun again.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from leasehold.db.allocation import unreleased_on
from leasehold.db.lease import find_lease, save_lease
from leasehold.db.outbox import put_event
from leasehold.db.resource import resources_by_number
from leasehold.db.task import finish_task, still_ours
from leasehold.leasing.allocations import lasts
from leasehold.model.states import EventStatus, EventType, LeaseStatus, ReservationStatus
from leasehold.resource_types.driver import Holding, Job, Wanted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.db.task import Claim
    from leasehold.leasing.service import Service
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource


class Phase(StrEnum):
    """What a lease needs now."""

    REMOVE = "remove"
    END = "end"
    START = "start"
    BEFORE_END = "before_end"
    KEEP = "keep"
    RELEASE = "release"
    """The lease is over and still keeps resources, which must not be: what it has in the cloud is removed again."""


class Result(StrEnum):
    """How one reservation fared."""

    DONE = "done"
    WAITING = "waiting"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one reservation in a step; `reason` is a sentence for the lease's owner.

    `occupied` are the promises on failed hosts that cannot be released yet, because servers are left there.
    """

    reservation_id: str
    result: Result
    reason: str | None = None
    cloud: Mapping[str, Any] | None = None
    occupied: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Step:
    """What has to be done for a lease now: a job for each reservation, and what the cloud should hold after it.

    `first` says that this is the first try of a start, a warning or an end: failures of before do not count.
    """

    phase: Phase
    lease: Lease
    jobs: Sequence[Job[Any]]
    blocked: Mapping[str, str]
    first: bool = False

    @property
    def wanted(self) -> Wanted:
        """What the cloud should hold for the reservations after this step."""
        if self.phase in (Phase.REMOVE, Phase.END, Phase.RELEASE):
            return Wanted.ENDED
        started = self.phase is Phase.START or self.lease.status is LeaseStatus.ACTIVE
        return Wanted.ACTIVE if started else Wanted.PREPARED


EVENT_OF = {Phase.START: EventType.START, Phase.BEFORE_END: EventType.BEFORE_END, Phase.END: EventType.END}
"""The event that a step carries out; keeping and removing have none."""


_STATUS_DURING = {Phase.START: LeaseStatus.STARTING, Phase.END: LeaseStatus.TERMINATING}
_STEPS = ((EventType.END, Phase.END), (EventType.START, Phase.START), (EventType.BEFORE_END, Phase.BEFORE_END))
"""What is done first where several events are due: a lease whose time is over is not started any more."""


def phase_of(lease: Lease, now: datetime) -> Phase | None:
    """Return what the lease needs now; None: nothing before its next event."""
    if lease.status is LeaseStatus.DELETING:
        return Phase.REMOVE
    if is_over(lease):
        return Phase.RELEASE if any(map(keeps, lease.reservations)) else None
    for kind, phase in _STEPS:
        moment = _open_since(lease, kind)
        if moment is not None and moment <= now:
            return phase
    return Phase.KEEP if lease.status in (LeaseStatus.PENDING, LeaseStatus.ACTIVE) else None


def is_over(lease: Lease) -> bool:
    """Say whether the lease was deleted, or its end is carried out."""
    end = lease.event(EventType.END)
    ended = end is not None and end.status is EventStatus.DONE
    return lease.deleted_at is not None or lease.status is LeaseStatus.TERMINATED or ended


def keeps(part: Reservation) -> bool:
    """Say whether a reservation holds resources that it has not given back."""
    return any(held.released_at is None and held.window.duration for held in part.allocations)


def _open_since(lease: Lease, kind: EventType) -> datetime | None:
    """Return the moment of an event that is to be carried out, or tried again after it failed; None when it is not.

    The warning belongs to a lease that is active. A lease in ERROR is started again whatever failed, because Blazar
    may have left it so after its start.
    """
    event = lease.event(kind)
    if event is None or (kind is EventType.BEFORE_END and lease.status is not LeaseStatus.ACTIVE):
        return None
    again = kind is EventType.START and lease.status is LeaseStatus.ERROR
    return event.time if again or event.status is not EventStatus.DONE else None


def next_moment(lease: Lease) -> datetime | None:
    """Return when the lease's next event is due; it may lie in the past, which means at once."""
    if is_over(lease):
        return None
    moments = (_open_since(lease, kind) for kind, _ in _STEPS)
    return min((moment for moment in moments if moment is not None), default=None)


def begin(service: Service, claim: Claim) -> Step | None:
    """Look at the claimed lease, write that its next step has begun, and return the step.

    Returns None, with the task rescheduled, when there is nothing to do now.
    """

    def work(connection: Connection) -> Step | None:
        now = service.now()
        lease = find_lease(connection, claim.subject, lock=True, gone=True)
        if not still_ours(connection, claim):
            return None
        phase = None if lease is None else phase_of(lease, now)
        if lease is None or phase is None:
            finish_task(connection, claim, None if lease is None else next_moment(lease))
            return None
        jobs = jobs_of(service, connection, lease)
        blocked = _blocked(connection, jobs, now) if phase is Phase.START else {}
        # Where every reservation waits, nothing has begun: the lease may still be moved, or deleted at once.
        waits = bool(blocked) and len(blocked) == len(jobs)
        begun = lease if waits else save_lease(connection, lease, _begun(lease, phase), now)
        if phase is Phase.BEFORE_END and not lease.reached(EventType.BEFORE_END):
            # The warning is told when it comes: what was asked for before the end, such as images, may take long.
            put_event(connection, f"lease.event.{EventType.BEFORE_END}", begun, now)
        first = phase in EVENT_OF and not waits and not lease.reached(EVENT_OF[phase])
        return Step(phase, begun, jobs, blocked, first)

    return service.db.transact(work)


def _begun(lease: Lease, phase: Phase) -> Lease:
    """Return the lease with its step under way; one that has failed says so until a try succeeds."""
    event = lease.event(EVENT_OF[phase]) if phase in EVENT_OF else None
    if event is None or event.status is EventStatus.ERROR:
        return lease
    lease = lease.with_event(EVENT_OF[phase], status=EventStatus.IN_PROGRESS)
    return replace(lease, status=_STATUS_DURING.get(phase, lease.status))


def jobs_of(service: Service, connection: Connection, lease: Lease) -> list[Job[Any]]:
    """Return the lease's reservations that are not over, as converge wants to see them."""
    open_parts = [part for part in lease.reservations if _unfinished(part, lease)]
    numbers = {held.resource_number for part in open_parts for held in part.allocations if held.released_at is None}
    resources = resources_by_number(connection, numbers)
    now = service.now()
    return [_job(service, lease, part, resources, now) for part in open_parts]


def _unfinished(part: Reservation, lease: Lease) -> bool:
    """A deleted lease is tidied up whatever its parts say; otherwise a part that has ended is done with."""
    return lease.deleted_at is not None or part.status is not ReservationStatus.DELETED or keeps(part)


def _job(
    service: Service, lease: Lease, part: Reservation, resources: Mapping[int, Resource], now: datetime
) -> Job[Any]:
    live: list[Holding] = []
    former: list[Holding] = []
    left: list[Holding] = []
    for held in part.allocations:
        if held.released_at is None:
            kept = left if held.left_at is not None else live if lasts(held, lease) else former
            kept.append(Holding(resources[held.resource_number], held.slots, held.id))
    found = service.types.find(part.resource_type)
    return Job(
        lease.project_id,
        part,
        None if found is None else found.kind,
        tuple(live),
        tuple(former),
        tuple(left),
        service.settings.cloud,
        _warned(lease, now),
        _wait_until(service, lease, now),
    )


def _warned(lease: Lease, now: datetime) -> datetime | None:
    """Return the time of the warning when it has come and is not carried out; a lease that was deleted has none."""
    event = lease.event(EventType.BEFORE_END)
    over = lease.status is LeaseStatus.DELETING or lease.deleted_at is not None
    if over or event is None or event.time is None or event.status is EventStatus.DONE or event.time > now:
        return None
    return event.time


def _wait_until(service: Service, lease: Lease, now: datetime) -> datetime | None:
    """Return how long the end, which began at its event or with the deletion, may wait; None: it has waited enough."""
    end = lease.event(EventType.END)
    # Of an end that lies ahead the answer is the same at every look: the audit compares two of them.
    begun = max(now, lease.window.end)
    if lease.status is LeaseStatus.DELETING:
        held = [each.window.end for part in lease.reservations for each in part.allocations if not each.released_at]
        begun = min(now, max(held, default=now))
    elif end is not None and lease.reached(EventType.END) and end.updated_at is not None:
        begun = min(now, end.updated_at)
    until = begun + service.settings.cloud.snapshot_wait
    return until if until > now else None


def _blocked(connection: Connection, jobs: Sequence[Job[Any]], now: datetime) -> dict[str, str]:
    """Return, by reservation, what its start has to wait for: resources that earlier leases have not given back."""
    numbers = {holding.resource.number for job in jobs for holding in job.holdings}
    there = unreleased_on(connection, numbers, now) if numbers else []
    reasons = {}
    for job in jobs:
        full = [holding.resource.label for holding in job.holdings if _full(holding.resource, there, job.name, now)]
        if full:
            reasons[job.name] = f"Waiting for the previous lease to leave {', '.join(full)}"
    return reasons


def _full(resource: Resource, there: Sequence[Allocation], reservation_id: str, now: datetime) -> bool:
    """Say whether what is over but not released leaves no room for the reservation's own share."""
    here = [each for each in there if each.resource_number == resource.number]
    over = [each for each in here if each.window.end <= now and each.reservation_id != reservation_id]
    if not over:
        return False
    if any(each.demand is None for each in here):
        return True
    taken: Counter[str] = Counter()
    for each in here:
        taken.update({name: amount * each.slots for name, amount in (each.demand or {}).items()})
    return any(amount > resource.capacity.get(name, 0) for name, amount in taken.items())
