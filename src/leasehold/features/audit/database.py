"""The database half of the audit: check the rows for consistency, without the calendar (feature E9)."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from leasehold.db.leases.closures import maintenance_reservations
from leasehold.db.leases.hold import held_in_vain
from leasehold.db.leases.holding import wrongly_noted
from leasehold.db.leases.listed import CHUNK
from leasehold.db.task import LEASE
from leasehold.db.work import IDLE, work_for
from leasehold.features.audit.agreement import AGREEING
from leasehold.features.audit.reading import (
    kept_allocations,
    kept_by,
    known_leases,
    lost_leases,
    suspects,
    without_lease,
)
from leasehold.leasing.steps.lifecycle import next_moment
from leasehold.model.allocation import taken_by
from leasehold.model.backoff import REFUSALS_TO_SHOW
from leasehold.model.finding import DEFECT, REPAIR, Finding, FindingKind, Mend
from leasehold.model.states import EventType, LeaseStatus, ReservationStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from leasehold.db.work import Work
    from leasehold.model.allocation import Allocation
    from leasehold.model.lease import Lease
    from leasehold.model.resource import Resource

LATE = timedelta(minutes=5)
"""If due work is unclaimed for this long, probably no manager runs."""
STUCK = timedelta(minutes=15)
"""Resources that a lease still keeps this long after its end are a finding: servers are normally removed sooner."""
PATIENCE = timedelta(hours=1)
"""An upper bound for the pause before due work is retried."""


def audit_database(connection: Connection, now: datetime) -> list[Finding]:
    """Return all inconsistencies in the database; an empty list if there are none.

    The connection should read a consistent snapshot: concurrent changes would look like inconsistencies.
    """
    beyond = (*_overbooked(connection, now), *_uncounted(connection, now), *_lost(connection))
    return [*beyond, *audit_leases(connection, now)]


def audit_leases(connection: Connection, now: datetime) -> list[Finding]:
    """Return the inconsistencies in the leases and their tasks; much faster than checking all allocations."""
    found = of_leases(connection, suspects(connection, now, now - LATE), now)
    return [*found, *_orphaned(connection), *_kept(connection, now), *_held(connection)]


def of_leases(connection: Connection, leases: Iterator[Lease], now: datetime) -> Iterator[Finding]:
    """Yield the inconsistencies in these leases and their tasks, `CHUNK` leases at a time."""
    while chunk := list(islice(leases, CHUNK)):
        work = work_for(connection, LEASE, [lease.id for lease in chunk])
        for lease in chunk:
            yield from _statuses(lease)
            yield from _deferred(lease, work.get(lease.id, IDLE), now)


# ------------------------------------------------------------ capacity


def _overbooked(connection: Connection, now: datetime) -> Iterator[Finding]:
    # A maintenance window may have been made beside leases that had started.
    beside = maintenance_reservations(connection)
    for resource, held in kept_allocations(connection, now):
        clash = _first_clash(resource, [each for each in held if each.reservation_id not in beside])
        if clash is not None:
            yield clash


def _uncounted(connection: Connection, now: datetime) -> Iterator[Finding]:
    for ident in wrongly_noted(connection, now):
        what = f"Lease {ident} holds resources at times at which the limits of its project do not count it."
        yield Finding(FindingKind.UNCOUNTED, ident, what, f"{DEFECT} Any change of the lease mends it.")


def _first_clash(resource: Resource, held: Sequence[Allocation]) -> Finding | None:
    """Return a finding for the first time at which the allocations, sorted by start, exceed the resource's capacity."""
    there: list[Allocation] = []
    for each in held:
        there = [other for other in there if other.window.end > each.window.start]
        there.append(each)
        excess = _excess(resource, there)
        if excess:
            names = ", ".join(sorted({other.reservation_id for other in there}))
            what = f"{resource.label} is allocated beyond capacity from {each.window.start:%Y-%m-%d %H:%M}: {excess}"
            what = f"{what}, by the reservations {names}."
            return Finding(FindingKind.OVERBOOKED, resource.label, what, "Delete or move one of the leases.")
    return None


def _excess(resource: Resource, there: Sequence[Allocation]) -> str:
    if any(each.demand is None for each in there):
        return "as a whole and again" if len(there) > 1 else ""
    return ", ".join(
        f"{amount} {name} of {resource.capacity.get(name, 0)}"
        for name, amount in sorted(taken_by(there).items())
        if amount > resource.capacity.get(name, 0)
    )


def _lost(connection: Connection) -> Iterator[Finding]:
    for lease_id, (project_id, trace) in sorted(lost_leases(connection).items()):
        yield _gone(lease_id, project_id, trace)


class Received(NamedTuple):
    """An event of a lease that a receiver has, with the lease's end."""

    time: datetime
    type: str
    lease_id: str
    project_id: str
    end: datetime


def audit_received(connection: Connection, events: Iterable[Received], now: datetime) -> Iterator[Finding]:
    """Yield the leases that a receiver's events name and the database does not, if their end is ahead by the last one.

    What is over, or was deleted, may have been purged.
    """
    last = {each.lease_id: each for each in sorted(events)}
    ahead = {each.lease_id: each.project_id for each in last.values() if each.type != "lease.delete" and each.end > now}
    for lease_id in sorted(ahead.keys() - known_leases(connection, ahead)):
        yield _gone(lease_id, ahead[lease_id], "an event at a receiver")


def _gone(lease_id: str, project_id: str, trace: str) -> Finding:
    what = f"Lease {lease_id} of project {project_id} is gone, and {trace} still names it: the database has lost it."
    remedy = "Tell the project, which may ask for it again. See Galera in docs/operators/high-availability.md."
    return Finding(FindingKind.LOST, lease_id, what, remedy)


# ------------------------------------------------------------ statuses


def _statuses(lease: Lease) -> Iterator[Finding]:
    agreeing = AGREEING[lease.status]
    for part in lease.reservations:
        gone = part.dropped and part.status is ReservationStatus.DELETED
        if part.status not in agreeing.parts and not gone:
            yield _disagreement(lease, f"its reservation {part.id} is {part.status}")
        if (part.missing_resources or part.resources_changed) and not lease.degraded:
            yield _disagreement(lease, f"its reservation {part.id} lost resources and it is not degraded")
    if lease.degraded and not any(part.missing_resources or part.resources_changed for part in lease.reservations):
        yield _disagreement(lease, "it is degraded and none of its reservations lost resources")
    for kind, allowed in ((EventType.START, agreeing.start), (EventType.END, agreeing.end)):
        event = lease.event(kind)
        if event is None:
            yield _disagreement(lease, f"it has no event {kind}")
        elif event.status not in allowed:
            yield _disagreement(lease, f"its event {kind} is {event.status}")
        elif event.time != (lease.begins if kind is EventType.START else lease.window.end):
            yield _disagreement(lease, f"its event {kind} has another time than the lease")


def _disagreement(lease: Lease, text: str) -> Finding:
    what = f"Lease {lease.id} is {lease.status}, but {text}."
    return Finding(FindingKind.STATUS, lease.id, what, f"{DEFECT} Deleting the lease always works.")


# ------------------------------------------------------------ deferred work


def _deferred(lease: Lease, task: Work, now: datetime) -> Iterator[Finding]:
    """Check that a lease with a next step has a task, that it is due in time, and that it gets claimed."""
    due = task.due_at
    moment = now if lease.status is LeaseStatus.DELETING else next_moment(lease)
    if moment is not None and (due is None or due > (moment if moment > now else now + PATIENCE)):
        what = f"Lease {lease.id} is {lease.status}, but no task is due for its next step."
        yield Finding(FindingKind.WORK, lease.id, what, f"{DEFECT} {REPAIR}", Mend.LEASE)
    if due is not None and due < now - LATE and not task.claimed(now):
        what = f"No manager has taken up the work for lease {lease.id}, due since {due:%Y-%m-%d %H:%M}."
        yield Finding(FindingKind.LATE, lease.id, what, "Check that a manager runs and reaches the database.")


def _orphaned(connection: Connection) -> Iterator[Finding]:
    for subject in without_lease(connection, LEASE):
        what = f"A task is for lease {subject}, which does not exist."
        yield Finding(FindingKind.WORK, subject, what, DEFECT)


def _kept(connection: Connection, now: datetime) -> Iterator[Finding]:
    """Yield the leases that are over and keep resources, with the reason: other leases may be waiting for these."""
    over_and_keeping = kept_by(connection, now)
    work = work_for(connection, LEASE, over_and_keeping)
    for lease_id, kept in over_and_keeping.items():
        labels = ", ".join(resource.label for resource in kept.resources)
        over = f"{kept.status}, over since {kept.since:%Y-%m-%d %H:%M}"
        what = f"Lease {lease_id} of project {kept.project_id} is {over}, and still keeps {labels}"
        task = work.get(lease_id, IDLE)
        if task.due_at is None:
            what = f"{what}, and no task is left that releases them."
            yield Finding(FindingKind.KEPT, lease_id, what, f"{DEFECT} {REPAIR}", Mend.LEASE)
        elif _is_stuck(task, kept.since, now):
            again = f"Fix that cause; this is tried again by itself, next at {task.due_at:%Y-%m-%d %H:%M:%S}."
            yield Finding(FindingKind.KEPT, lease_id, f"{what}. {task.last_error or ''}".rstrip(), again)


def _held(connection: Connection) -> Iterator[Finding]:
    """Yield the resources that nobody gets because they are held for a lease that does not wait any more."""
    for resource in held_in_vain(connection):
        what = f"{resource.label} is held for lease {resource.held_for}, which does not wait for it."
        yield Finding(FindingKind.HOLD, resource.id, what, f"{DEFECT} {REPAIR}", Mend.HOLD, resource.type)


def _is_stuck(task: Work, since: datetime, now: datetime) -> bool:
    """Return whether the cloud refuses the release, or the release takes longer than STUCK."""
    return task.refusals >= REFUSALS_TO_SHOW or (task.attempts > 0 and since < now - STUCK)
