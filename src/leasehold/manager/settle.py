"""Do one piece of claimed work: begin a step, make the cloud match for each reservation, complete the step."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.books.task import LEASE, finish_task
from leasehold.cloud.ports import CloudPermanentError, CloudTransientError
from leasehold.leasing.host import HOST_TASK, settle_host
from leasehold.leasing.lifecycle import Outcome, Phase, Result, begin
from leasehold.leasing.outcome import complete

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.books.task import Claim
    from leasehold.leasing.lifecycle import Step
    from leasehold.leasing.service import Service
    from leasehold.resource_types.base import Job

log = logging.getLogger(__name__)


def settle(service: Service, claim: Claim) -> None:
    """Do the claimed work and give the claim back; whatever fails is rescheduled, never lost."""
    _KINDS[claim.kind](service, claim)


def _settle_lease(service: Service, claim: Claim) -> None:
    step = begin(service, claim)
    if step is None:
        return
    outcomes = [_converge(service, step, job) for job in step.jobs]
    complete(service, claim, step, outcomes)


def _converge(service: Service, step: Step, job: Job) -> Outcome:
    """Make the cloud match for one reservation; its failure never stops the others (design §5)."""
    if job.name in step.blocked:
        return Outcome(job.name, Result.WAITING, step.blocked[job.name])
    kind = service.types.get(job.reservation.resource_type)
    try:
        # Also before the end: whatever else made the lease due, as a healed host does, has only this one step.
        facts = kind.converge(service.cloud, job, step.wanted)
        if step.phase is Phase.BEFORE_END:
            kind.before_end(service.cloud, job)
    except CloudTransientError as error:
        return Outcome(job.name, Result.WAITING, f"Waiting for the cloud: {error}")
    except CloudPermanentError as error:
        return Outcome(job.name, Result.FAILED, f"The cloud refused: {error}")
    except Exception:
        log.exception("A bug in %s: reservation %s could not be made to match", kind.name, job.name)
        return Outcome(job.name, Result.WAITING, "An internal error; the operator finds it in the manager's log")
    known = dict(job.reservation.cloud)
    return Outcome(job.name, Result.DONE, cloud=dict(facts) if facts and dict(facts) != known else None)


def _settle_host(service: Service, claim: Claim) -> None:
    settle_host(service, claim.subject)
    service.books.transact(lambda connection: finish_task(connection, claim, None))


_KINDS: dict[str, Callable[[Service, Claim], None]] = {LEASE: _settle_lease, HOST_TASK: _settle_host}
