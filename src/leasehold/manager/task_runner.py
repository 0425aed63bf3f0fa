"""Run one claimed task: begin a step, converge the cloud for each reservation, complete the step."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.cloud.fenced import fenced
from leasehold.cloud.ports import CloudError, CloudPermanentError, CloudTransientError
from leasehold.db.task import LEASE, due_anew, finish_task, postpone_task, still_ours
from leasehold.leasing.lapse import lapse
from leasehold.leasing.resources.resource import converge_resource, standing
from leasehold.leasing.steps.lifecycle import Outcome, Phase, Result, begin
from leasehold.leasing.steps.lost_claims import LATE, expect_late_call, follow_late_call
from leasehold.leasing.steps.no_show import NOTHING, Verdict, judge
from leasehold.leasing.steps.outcome import complete, shows_failure
from leasehold.leasing.waiting.waiting import try_waiting
from leasehold.manager.claim_guard import ClaimGuard, ClaimLostError
from leasehold.metrics.task import DONE, FAILED, LOST, RETRIED, count_task, task_begun
from leasehold.model.errors import MissingPluginError
from leasehold.resource_types.attempts import do_all
from leasehold.resource_types.capabilities import CleaningUp, EndActing, MakingWay, Outliving, Retaining
from leasehold.resource_types.driver import LearnedError, Wanted
from leasehold.resource_types.records import Records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Cloud
    from leasehold.db.task import Claim
    from leasehold.leasing.service import Service
    from leasehold.leasing.steps.lifecycle import Step
    from leasehold.resource_types.capabilities import Placed
    from leasehold.resource_types.driver import Convergence, Driver
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)

NO_STEP = "none"
"""The phase label of a task without a step: nothing was due, or tasks of its kind have no steps."""
PAUSE = timedelta(seconds=1)
_ALONE = {Phase.TRY: try_waiting, Phase.LAPSE: lapse}
"""The steps that are one transaction and touch no cloud; each returns False if the claim is lost."""
_OVERTAKEN = "Another manager has taken over the work and finished it."


def run_task(service: Service, claim: Claim, begun: Step | None = None) -> None:
    """Run the claimed task, or the step of it that has `begun`, and release the claim; a failed one is rescheduled.

    If the claim expires meanwhile, because this process was suspended, the task is left to another manager.
    """
    ours = replace(service, cloud=fenced(service.cloud, ClaimGuard(service, claim).check))
    with task_begun(claim.kind, (service.now() - claim.due_at).total_seconds()):
        try:
            _runner_of(service, claim, begun)(ours, claim)
        except ClaimLostError as error:
            log.warning("Task %s of %s is left to another manager: %s", claim.kind, claim.subject, error)
            count_task(claim.kind, "", LOST)
            expect_late_call(service, claim)


def _run_lease_task(service: Service, claim: Claim, begun: Step | None) -> None:
    step = begun or begin(service, claim)
    if step is None:
        count_task(LEASE, NO_STEP, DONE)
        return
    alone = _ALONE.get(step.phase)
    if alone is not None:
        if not alone(service, step.lease, claim):
            raise ClaimLostError(_OVERTAKEN)
        count_task(LEASE, step.phase, DONE)
        return
    outcomes = [_converge(service, step, job) for job in step.jobs]
    if not complete(service, claim, step, outcomes):
        raise ClaimLostError(_OVERTAKEN)
    became = _what_became(claim, step, outcomes, service.now())
    _tell(step, outcomes, became)
    count_task(LEASE, step.phase, became)


def _what_became(claim: Claim, step: Step, outcomes: Sequence[Outcome], now: datetime) -> str:
    """Return the outcome for the metrics: DONE; RETRIED; or FAILED if the lease shows the failure."""
    if all(outcome.result is Result.DONE for outcome in outcomes):
        return DONE
    return FAILED if shows_failure(claim, step, outcomes, now) else RETRIED


def _tell(step: Step, outcomes: Sequence[Outcome], became: str) -> None:
    """Log the outcome of a step with the lease's id; a successful KEEP step is logged at DEBUG only."""
    reasons = "; ".join(outcome.reason for outcome in outcomes if outcome.reason)
    if became == DONE:
        level = logging.DEBUG if step.phase is Phase.KEEP else logging.INFO
        log.log(level, "Lease %s: %s done", step.lease.id, step.phase)
    elif became == FAILED:
        log.warning("Lease %s: %s fails, and will be tried again: %s", step.lease.id, step.phase, reasons)
    else:
        log.info("Lease %s: %s will be tried again: %s", step.lease.id, step.phase, reasons)


def _converge(service: Service, step: Step, job: Convergence[Any]) -> Outcome:
    """Converge the cloud for one reservation; a failure never stops the other reservations (design §5)."""
    known = _known_beforehand(service, step, job)
    if known is not None:
        return known
    try:
        driver = service.types.get(job.reservation.resource_type).driver
        facts = _reach(service.cloud, driver, step, job)
        # An end deletes the servers on vacated hosts too.
        left = job.left and step.wanted_of(job) is not Wanted.ENDED
        occupied = driver.occupied(service.cloud, job) if left and isinstance(driver, Retaining) else frozenset[int]()
        if step.phase is Phase.START and isinstance(driver, CleaningUp) and not job.reservation.dropped:
            # The reservation is already usable.
            with _tolerant(job, "nothing is cleaned up after its start"):
                driver.started(service.cloud, job, Records(service.db, service.now))
        found = judge(service.cloud, driver, step, job, service.now()) if step.phase is Phase.NO_SHOW else NOTHING
    except CloudTransientError as error:
        return replace(_waiting(service, job, error), freed=_freed(service, step, job))
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
    stored = job.reservation.cloud
    new = dict(facts) if any(name not in stored or stored[name] != value for name, value in facts.items()) else None
    done = Outcome(job.name, Result.DONE, cloud=new, occupied=occupied)
    return _judged(done, found)


def _judged(done: Outcome, found: Verdict) -> Outcome:
    """Return the outcome of a reservation that is as it should be in the cloud, with what it does not use."""
    outcome = replace(done, no_show=found.no_show, unused=found.unused, freed=found.freed)
    if not found.failures:
        return outcome
    refused = all(isinstance(each, CloudPermanentError) for each in found.failures)
    why = "; ".join(dict.fromkeys(map(str, found.failures)))
    result, what = (Result.REFUSED, "The cloud refused") if refused else (Result.WAITING, "Waiting for the cloud")
    return replace(outcome, result=result, reason=f"{what}: {why}")


def _known_beforehand(service: Service, step: Step, job: Convergence[Any]) -> Outcome | None:
    """Return the outcome of a reservation that needs no call to the cloud; None if it needs one."""
    if job.name in step.blocked:
        return Outcome(job.name, Result.WAITING, step.blocked[job.name])
    over = step.wanted_of(job) is Wanted.ENDED or step.phase is Phase.BEFORE_END
    if over and job.reservation.resource_type in service.settings.manager.forgotten_plugins:
        # The operator has confirmed that no object of this type is left in the cloud.
        return Outcome(job.name, Result.DONE)
    return None


def _waiting(service: Service, job: Convergence[Any], error: CloudTransientError) -> Outcome:
    """Return the outcome WAITING; before that, remove what a lease that is over has left in the way."""
    found = service.types.find(job.reservation.resource_type)
    if found is not None and isinstance(found.driver, MakingWay):
        with _tolerant(job, "what is in the way is not removed"):
            found.driver.make_way(service.cloud, job, error, Records(service.db, service.now))
    facts = error.facts if isinstance(error, LearnedError) else None
    return Outcome(job.name, Result.WAITING, f"Waiting for the cloud: {error}", facts)


def _freed(service: Service, step: Step, job: Convergence[Any]) -> frozenset[int]:
    """Return the allocations on which nothing lives on, of a reservation whose servers outlive the lease."""
    # A host that is given back with its servers is released when all of the reservation is done.
    if step.phase is not Phase.END or job.kept_until is None or job.gives_back:
        return frozenset()
    found = service.types.find(job.reservation.resource_type)
    if found is None or not isinstance(found.driver, Outliving):
        return frozenset()
    held = kept = frozenset(holding.allocation_id for holding in job.all_holdings)
    with _tolerant(job, "all of it is kept until it is done"):
        kept = found.driver.kept(service.cloud, job)
    return held - kept


@contextmanager
def _tolerant(job: Convergence[Any], instead: str) -> Iterator[None]:
    """Log what fails in the block, of the cloud or by a bug of the driver, and go on; `instead` says without what."""
    try:
        yield
    except ClaimLostError:
        raise
    except CloudError as error:
        log.warning("Reservation %s: %s: %s", job.name, instead, error)
    except Exception:
        log.exception("A bug in %s: reservation %s: %s", job.reservation.resource_type, job.name, instead)


def _reach(cloud: Cloud, driver: Driver[Any], step: Step, job: Convergence[Any]) -> Mapping[str, Any]:
    """Call the driver for the step. BEFORE_END converges too, because a lease made due by healing gets no other step.

    A failure of one of the two calls does not prevent the other.
    """
    if step.phase is not Phase.BEFORE_END or job.reservation.dropped or not isinstance(driver, EndActing):
        return driver.converge(cloud, job, step.wanted_of(job))
    facts: dict[str, Any] = {}
    do_all(
        [
            lambda: facts.update(driver.converge(cloud, job, step.wanted)),
            lambda: facts.update(driver.before_end(cloud, job)),
        ]
    )
    return facts


def _run_resource_task(service: Service, type_: ResourceType, driver: Placed, claim: Claim) -> None:
    """Converge the cloud for a resource; the task is due again if an enrolment or removal touched it meanwhile."""
    seen, progress = converge_resource(service, type_, driver, claim)

    def finish(connection: Connection) -> bool:
        # Lock the claim first: enrolling or removing the resource also writes to its task.
        if not still_ours(connection, claim):
            return False
        due = due_anew(connection, claim)
        if due is None and standing(connection, type_.name, claim.subject) != seen:
            due = service.now()
        if due is None and progress.due is not None:
            attempts, refusals = claim.attempts, progress.refusals
            finish_task(connection, claim, progress.due, error=progress.reason, attempts=attempts, refusals=refusals)
        else:
            finish_task(connection, claim, due)
        return True

    if not service.db.transact(finish):
        raise ClaimLostError(_OVERTAKEN)
    count_task(claim.kind, Phase.REMOVE, DONE if progress.due is None else RETRIED)


def _run_late_call_task(service: Service, claim: Claim) -> None:
    """Follow a call that may have taken effect late; retry after PAUSE while one of the touched tasks is claimed."""
    again = None if follow_late_call(service, claim.kind, claim.subject) else service.now() + PAUSE
    service.db.transact(lambda connection: finish_task(connection, claim, again))
    count_task(claim.kind, NO_STEP, DONE)


def _postpone(service: Service, claim: Claim) -> None:
    """Postpone a task of a kind that this version does not know: a newer manager, now or after an upgrade, runs it."""
    error = f"This version does not know tasks of the kind {claim.kind}; a newer manager runs them."
    log.warning("Task %s of %s waits: %s", claim.id, claim.subject, error)
    due = service.now() + timedelta(seconds=service.settings.manager.retry_most_seconds)
    service.db.transact(lambda connection: postpone_task(connection, claim, due, error))
    count_task(claim.kind, NO_STEP, RETRIED)


def _runner_of(service: Service, claim: Claim, begun: Step | None) -> Callable[[Service, Claim], None]:
    """Return what runs a task of this kind."""
    if claim.kind == LEASE:
        return partial(_run_lease_task, begun=begun)
    if claim.kind.startswith(LATE):
        return _run_late_call_task
    found = service.types.of_task(claim.kind)
    return _postpone if found is None else lambda ours, claimed: _run_resource_task(ours, *found, claimed)
