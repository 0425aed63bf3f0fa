"""What becomes of resources that have servers when their lease ends: they serve everybody (feature E3, decision 0062).

The lease lets them go and the resource leaves the calendar in one transaction, so nobody is promised one on which the
servers of a lease live on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from leasehold.db.resources.resource import resources_by_number
from leasehold.leasing.resources.membership import give_back_with_guests
from leasehold.leasing.steps.lifecycle import Outcome, Result
from leasehold.model.errors import some_of
from leasehold.resource_types.driver import Wanted

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.leasing.steps.lifecycle import Step
    from leasehold.resource_types.driver import Convergence, Holding


def with_guests(service: Service, step: Step, outcomes: Sequence[Outcome], locks: Locks) -> Sequence[Outcome]:
    """Begin to give back what has servers at the end of a lease, and return the outcomes of the step after that.

    The caller has the pools locked, releases what the outcomes say, and bumps the pools. A resource that is promised to
    another lease is not given back, and not released either: its reservation waits, and says so.
    """
    done = {each.reservation_id for each in outcomes if each.result is Result.DONE}
    jobs = [job for job in step.jobs if step.wanted is Wanted.ENDED and job.gives_back and job.name in done]
    stuck = {job.name: held for job in jobs if (held := _promised(service, job, step.lease.id, locks))}
    by_name = {job.name: job for job in jobs}
    return [
        _waiting(each, by_name[each.reservation_id], stuck[each.reservation_id])
        if each.reservation_id in stuck
        else each
        for each in outcomes
    ]


def _promised(service: Service, job: Convergence[Any], lease_id: str, locks: Locks) -> list[Holding]:
    """Give back the resources of a reservation that have servers, and return those that cannot be given back."""
    held = [each for each in job.all_holdings if each.allocation_id in job.guests]
    connection, now = locks.connection, locks.now
    present = resources_by_number(connection, {each.resource.number for each in held})
    given: dict[int, bool] = {}
    for number, resource in present.items():
        type_, after = service.types.get(resource.type), locks.next(resource.pool)
        # One that has left the reservation pool already is promised to nobody.
        given[number] = not resource.pooled or give_back_with_guests(connection, type_, resource, lease_id, after, now)
    return [each for each in held if not given[each.resource.number]]


def _waiting(outcome: Outcome, job: Convergence[Any], stuck: Collection[Holding]) -> Outcome:
    """Return the outcome of a reservation that is done but for what is promised to others; the rest is released."""
    kept = frozenset(each.allocation_id for each in stuck)
    labels = some_of(sorted(each.resource.label for each in stuck))
    reason = f"Waiting for other leases: {labels} is promised to them, and cannot be given back with its servers"
    freed = frozenset(each.allocation_id for each in job.all_holdings) - kept
    return replace(outcome, result=Result.WAITING, reason=reason, occupied=outcome.occupied | kept, freed=freed)
