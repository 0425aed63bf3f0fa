"""Release what an active lease does not use, after its owner was warned (feature E10, decision 0061).

A step looks at the cloud (`judge`), and its completion records what was found (`settled`, `put_no_show_events`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudError
from leasehold.db.outbox import put_event
from leasehold.leasing.deciding.allocations import held_by
from leasehold.leasing.deciding.flags import Flags, changed, with_flags
from leasehold.model.allocation import slots_of
from leasehold.model.event_log import LeaseNews
from leasehold.model.judging import due_of, judging
from leasehold.model.windows import from_seconds, to_seconds
from leasehold.resource_types.capabilities import GivingUp

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Cloud
    from leasehold.leasing.steps.lifecycle import Outcome, Step
    from leasehold.model.lease import Lease
    from leasehold.model.reservation import Reservation
    from leasehold.model.terms.no_show import NoShow
    from leasehold.resource_types.driver import Convergence, Driver, Holding
    from leasehold.resource_types.kind import Kind


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a step has found of a reservation: its `no_show` from now on, None if that is not known yet.

    `unused` are the allocations that it was warned of, `freed` those that are out of it in the cloud. `failures` are
    the errors of the others, which are tried again.
    """

    no_show: NoShow | None = None
    unused: frozenset[int] = frozenset()
    freed: frozenset[int] = frozenset()
    failures: tuple[CloudError, ...] = ()


NOTHING = Verdict()


def judge(cloud: Cloud, driver: Driver[Any], step: Step, job: Convergence[Any], now: datetime) -> Verdict:
    """Look for what a reservation does not use, if that is due, and take it out of it after the warning.

    Raises CloudError if it cannot be looked for.
    """
    due, no_show = judging(step.lease, job.reservation, now), job.reservation.no_show
    if due is None or no_show is None:
        return NOTHING
    if not isinstance(driver, GivingUp):
        return Verdict(replace(no_show, done=True))
    mine = [each for each in job.holdings if each.allocation_id in due.allocations]
    used = driver.used(cloud, job) if mine else frozenset[int]()
    # A resource is out of the reservation or in it, with all that the reservation has of it.
    numbers = {each.resource.number for each in job.holdings if each.allocation_id in used}
    unused = [each for each in mine if each.resource.number not in numbers]
    if due.releases:
        return _given_up(cloud, driver, job, unused, no_show)
    idle = frozenset(each.allocation_id for each in unused)
    return Verdict(replace(no_show, warned_at=now, used=due.allocations - idle, done=not idle), unused=idle)


def _given_up(
    cloud: Cloud, driver: GivingUp, job: Convergence[Any], unused: Iterable[Holding], no_show: NoShow
) -> Verdict:
    freed, failures = set(), []
    for holding in unused:
        try:
            if driver.give_up(cloud, job, holding):
                freed.add(holding.allocation_id)
        except CloudError as error:
            failures.append(error)
    return Verdict(None if failures else replace(no_show, done=True), freed=frozenset(freed), failures=tuple(failures))


def settled(lease: Lease, step: Step, outcomes: Sequence[Outcome], now: datetime) -> Lease:
    """Return the lease after a step of a no-show; without anything left of it, it ends now.

    What a reservation has left is all that it asks for from now on: nothing replaces what it has given up.
    """
    freed = frozenset[int]().union(*(outcome.freed for outcome in outcomes))
    for outcome in outcomes:
        if outcome.no_show is not None:
            lease = lease.with_reservations({outcome.reservation_id}, no_show=outcome.no_show)
    if not freed:
        return lease
    if not any(_keeps(part, freed) for part in lease.kept):
        return lease.ending_at(from_seconds(to_seconds(now)))
    for job in step.jobs:
        if job.kind is not None and _amount(job, freed):
            part = next(part for part in lease.reservations if part.id == job.name)
            request = _left_of(lease, part, job.kind, freed)
            flags = _flags(part, lease, freed)
            lease = with_flags(lease.with_reservations({job.name}, request=request), {job.name: flags})
    return lease


def _flags(part: Reservation, lease: Lease, freed: Collection[int]) -> Flags:
    """Return the flags of a reservation that has given these up: one that healing chose for it may be among them."""
    held = held_by(part, lease)
    substitutes = any(each.substitute for each in held if each.id not in freed)
    return Flags(part.missing_resources, changed(part, held, substitutes=substitutes), part.missing)


def _keeps(part: Reservation, freed: Collection[int]) -> bool:
    return any(each.released_at is None and each.window.duration and each.id not in freed for each in part.allocations)


def _left_of(lease: Lease, part: Reservation, kind: Kind[Any], freed: Collection[int]) -> Mapping[str, Any]:
    """Return the request of a reservation for what it has left, and for what it misses beside that."""
    held, request = held_by(part, lease), kind.load(part.request)
    promised = part.promised(slots_of(held), partial(kind.amount, request))
    return kind.store(kind.exactly(request, promised - sum(each.slots for each in held if each.id in freed)))


def _amount(job: Convergence[Any], idents: Collection[int]) -> int:
    """Return how much these allocations are of a reservation, in the unit of its request."""
    return sum(each.slots for each in job.holdings if each.allocation_id in idents)


def put_no_show_events(
    connection: Connection, lease: Lease, step: Step, outcomes: Sequence[Outcome], now: datetime
) -> None:
    """Record that the owner was warned, or that something was released, if so; `lease` is as it is after the step."""
    jobs, parts = {job.name: job for job in step.jobs}, {part.id: part for part in lease.reservations}
    warned, released = [], []
    for outcome in outcomes:
        job, part = jobs[outcome.reservation_id], parts[outcome.reservation_id]
        shown = {"reservation_id": part.id, "resource_type": part.resource_type}
        due = due_of(lease, part)
        if outcome.unused and due is not None:
            warned.append({**shown, "amount": _amount(job, outcome.unused), "released_at": due.isoformat()})
        if outcome.freed:
            released.append({**shown, "amount": _amount(job, outcome.freed)})
    if warned:
        put_event(connection, LeaseNews.NO_SHOW_WARNED, lease, now, {"unused": warned})
    if released:
        put_event(connection, LeaseNews.NO_SHOW_RELEASED, lease, now, {"unused": released})
