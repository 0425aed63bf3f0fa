"""Do one piece of claimed work: begin a step, make the cloud match for each reservation, complete the step."""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.cloud.fenced import fenced
from leasehold.cloud.ports import CloudError, CloudPermanentError, CloudTransientError
from leasehold.db.task import LEASE, finish_task, postpone_task, still_ours
from leasehold.leasing.host import HOST_TASK, converge_host, standing
from leasehold.leasing.lifecycle import Outcome, Phase, Result, begin
from leasehold.leasing.lost_claims import LATE_HOST, LATE_LEASE, expect_late_call, follow_late_call
from leasehold.leasing.outcome import complete, shows_failure
from leasehold.manager.claim_guard import ClaimGuard, ClaimLostError
from leasehold.metrics.task import DONE, FAILED, LOST, RETRIED, count_task, task_begun
from leasehold.model.errors import MissingPluginError
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.driver import LearnedError, Wanted
from leasehold.resource_types.history import History

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Cloud
    from leasehold.db.task import Claim
    from leasehold.leasing.lifecycle import Step
    from leasehold.leasing.service import Service
    from leasehold.resource_types.driver import Driver, Job

log = logging.getLogger(__name__)

NO_STEP = "none"
"""The phase of a task that found nothing to do for its lease, or that somebody else had taken over."""
PAUSE = timedelta(seconds=1)
_OVERTAKEN = "Another manager has taken over the work and finished it."


def run_task(service: Service, claim: Claim) -> None:
    """Do the claimed work and give the claim back; whatever fails is rescheduled, never lost.

    Work whose claim has run out meanwhile, because this process stood still, is left where it is: others do it.
    """
    ours = replace(service, cloud=fenced(service.cloud, ClaimGuard(service, claim).check))
    with task_begun(claim.kind, (service.now() - claim.due_at).total_seconds()):
        try:
            _KINDS.get(claim.kind, _postpone)(ours, claim)
        except ClaimLostError as error:
            log.warning("Task %s of %s is left to others: %s", claim.kind, claim.subject, error)
            count_task(claim.kind, "", LOST)
            expect_late_call(service, claim)


def _run_lease_task(service: Service, claim: Claim) -> None:
    step = begin(service, claim)
    if step is None:
        count_task(LEASE, NO_STEP, DONE)
        return
    outcomes = [_converge(service, step, job) for job in step.jobs]
    if not complete(service, claim, step, outcomes):
        raise ClaimLostError(_OVERTAKEN)
    became = _what_became(claim, step, outcomes)
    _tell(step, outcomes, became)
    count_task(LEASE, step.phase, became)


def _what_became(claim: Claim, step: Step, outcomes: Sequence[Outcome]) -> str:
    """Return the outcome as it is counted: everything is tried again, and what failed so often shows in the lease."""
    if all(outcome.result is Result.DONE for outcome in outcomes):
        return DONE
    return FAILED if shows_failure(claim, step, outcomes) else RETRIED


def _tell(step: Step, outcomes: Sequence[Outcome], became: str) -> None:
    """Log how a step went, so that who looks for a lease's id finds its story; the routine look says nothing."""
    reasons = "; ".join(outcome.reason for outcome in outcomes if outcome.reason)
    if became == DONE:
        level = logging.DEBUG if step.phase is Phase.KEEP else logging.INFO
        log.log(level, "Lease %s: %s done", step.lease.id, step.phase)
    elif became == FAILED:
        log.warning("Lease %s: %s fails, and will be tried again: %s", step.lease.id, step.phase, reasons)
    else:
        log.info("Lease %s: %s will be tried again: %s", step.lease.id, step.phase, reasons)


def _converge(service: Service, step: Step, job: Job[Any]) -> Outcome:
    """Make the cloud match for one reservation; its failure never stops the others (design §5)."""
    known = _known_beforehand(service, step, job)
    if known is not None:
        return known
    try:
        driver = service.types.get(job.reservation.resource_type).driver
        facts = _reach(service.cloud, driver, step, job)
        # An end has deleted what was left anywhere.
        left = job.left and step.wanted is not Wanted.ENDED
        occupied = driver.occupied(service.cloud, job) if left else frozenset[int]()
        if step.phase is Phase.START:
            _started(service, driver, job)
    except CloudTransientError as error:
        return _waiting(service, job, error)
    except CloudPermanentError as error:
        return Outcome(job.name, Result.REFUSED, f"The cloud refused: {error}")
    except MissingPluginError as error:
        return Outcome(job.name, Result.REFUSED, error.reason)
    except ClaimLostError:
        raise
    except Exception:
        message = "A bug in %s: reservation %s of lease %s could not be made to match"
        log.exception(message, job.reservation.resource_type, job.name, step.lease.id)
        return Outcome(job.name, Result.WAITING, "An internal error; the operator finds it in the manager's log")
    new = dict(facts) if facts.items() - job.reservation.cloud.items() else None
    return Outcome(job.name, Result.DONE, cloud=new, occupied=occupied)


def _known_beforehand(service: Service, step: Step, job: Job[Any]) -> Outcome | None:
    """Return what becomes of a reservation without a call to the cloud; None where the cloud has to be asked."""
    if job.name in step.blocked:
        return Outcome(job.name, Result.WAITING, step.blocked[job.name])
    over = step.wanted is Wanted.ENDED or step.phase is Phase.BEFORE_END
    if over and job.reservation.resource_type in service.settings.manager.forgotten_plugins:
        # The operator says that nothing of it is left.
        return Outcome(job.name, Result.DONE)
    return None


def _waiting(service: Service, job: Job[Any], error: CloudTransientError) -> Outcome:
    """Return what a reservation waits for; what a lease that is over has left in its way is removed first."""
    found = service.types.find(job.reservation.resource_type)
    if found is not None:
        try:
            found.driver.make_way(service.cloud, job, error, History(service.db, service.now))
        except CloudError as failure:
            log.warning("What is in the way of reservation %s could not be removed: %s", job.name, failure)
    facts = error.facts if isinstance(error, LearnedError) else None
    return Outcome(job.name, Result.WAITING, f"Waiting for the cloud: {error}", facts)


def _started(service: Service, driver: Driver[Any], job: Job[Any]) -> None:
    """Let the driver tidy up after a start. The reservation is usable as it is, so a failure delays nothing."""
    try:
        driver.started(service.cloud, job, History(service.db, service.now))
    except CloudError as error:
        log.warning("The driver could not tidy up after the start of reservation %s: %s", job.name, error)


def _reach(cloud: Cloud, driver: Driver[Any], step: Step, job: Job[Any]) -> Mapping[str, Any]:
    """Converge, also before the end: a lease that healing made due has only that step. Neither stops the other."""
    if step.phase is not Phase.BEFORE_END:
        return driver.converge(cloud, job, step.wanted)
    facts: dict[str, Any] = {}
    do_all(
        [
            lambda: facts.update(driver.converge(cloud, job, step.wanted)),
            lambda: driver.before_end(cloud, job),
        ]
    )
    return facts


def _run_host_task(service: Service, claim: Claim) -> None:
    """Make the cloud agree about a host, and do so again at once where it was enrolled or removed meanwhile."""
    seen = converge_host(service, claim.subject)

    def finish(connection: Connection) -> bool:
        # The claim is locked first: whoever enrols or removes the host also writes to its task.
        if not still_ours(connection, claim):
            return False
        same = standing(connection, claim.subject) == seen
        finish_task(connection, claim, None if same else service.now())
        return True

    if not service.db.transact(finish):
        raise ClaimLostError(_OVERTAKEN)
    count_task(HOST_TASK, Phase.REMOVE, DONE)


def _run_late_call_task(service: Service, claim: Claim) -> None:
    """Follow a call that may have come late; while others are at work there, a little later."""
    again = None if follow_late_call(service, claim.kind, claim.subject) else service.now() + PAUSE
    service.db.transact(lambda connection: finish_task(connection, claim, again))
    count_task(claim.kind, NO_STEP, DONE)


def _postpone(service: Service, claim: Claim) -> None:
    """Leave work of a kind that this version does not know to one that does, which may run beside it or come back."""
    error = f"This version knows no work of the kind {claim.kind}; a newer one does it."
    log.warning("Task %s of %s waits: %s", claim.id, claim.subject, error)
    due = service.now() + timedelta(seconds=service.settings.manager.retry_most_seconds)
    service.db.transact(lambda connection: postpone_task(connection, claim, due, error))
    count_task(claim.kind, NO_STEP, RETRIED)


_KINDS: dict[str, Callable[[Service, Claim], None]] = {
    LEASE: _run_lease_task,
    HOST_TASK: _run_host_task,
    LATE_LEASE: _run_late_call_task,
    LATE_HOST: _run_late_call_task,
}
