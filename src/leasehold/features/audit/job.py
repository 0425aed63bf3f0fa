"""The periodic audit: compare the cloud with the database at a limited rate, repair what is safe, and log findings.

Every manager has this job; its turn lets one of them do each round. Differences of a lease
or a host are repaired by making its task due. What an operator has to decide is logged as a warning in every round.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from prometheus_client import Counter

from leasehold.cloud.ports import CloudError
from leasehold.features.audit.cloud import Pace, audit_cloud
from leasehold.features.audit.database import audit_leases
from leasehold.features.audit.options import AuditSettings
from leasehold.features.audit.repair import repair
from leasehold.features.audit.store import begin_round, end_round, fail_round
from leasehold.features.audit.use import AUDIT_LOCK
from leasehold.leasing.turn import Job, Turn
from leasehold.model.finding import FindingKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from threading import Event

    from leasehold.leasing.service import Service
    from leasehold.model.finding import Finding

log = logging.getLogger(__name__)

MENDED = "mended"
LEFT = "left"
"""Not repaired, because a person must decide what to do; the log describes it."""

DONE = "done"
FAILED = "failed"
"""The cloud or the database could not be read completely; the next round starts again."""

FINDINGS = Counter(
    "leasehold_audit_findings",
    "Findings of the periodic audit: `mended` by itself, or `left` to a person. Counted again in each round.",
    ["kind", "outcome"],
)
ROUNDS = Counter(
    "leasehold_audit_rounds", "Rounds of the periodic audit: `done`, or `failed` before the end.", ["outcome"]
)


_DEFECT = "The round ended by an unexpected error of the service; the log of the managers has its traceback"

LONGEST_WAIT = 30.0
"""In seconds: the longest interval between two tries to take the turn, and the longest wait before the first."""


class _BrokenOffError(Exception):
    """The manager stops, or another manager has the lock now."""


def reconcile(service: Service, pace: Pace) -> list[tuple[Finding, str | None]]:
    """Audit everything once, repair what a service may repair, and return each finding with what was done about it.

    Raises CloudError if the cloud cannot be audited; the findings in the database are repaired before that.
    """
    found = _in_database(service)
    done = _see_to(service, found)
    return [*done, *_see_to(service, audit_cloud(service, pace))]


def _in_database(service: Service) -> list[Finding]:
    """Return the findings about leases in the database.

    `leasehold-manage audit` checks the allocations of all resources, which takes longer; the metrics report late work.
    """
    with service.db.reading() as connection:
        return [found for found in audit_leases(connection, service.now()) if found.kind is not FindingKind.LATE]


def _see_to(service: Service, findings: Sequence[Finding]) -> list[tuple[Finding, str | None]]:
    seen = []
    for finding in findings:
        done = repair(service, finding)
        FINDINGS.labels(finding.kind, LEFT if done is None else MENDED).inc()
        log.warning("Audit: %s %s", finding.what, finding.remedy if done is None else done)
        seen.append((finding, done))
    return seen


def jobs(service: Service) -> Sequence[Job]:
    """Do a round every `[manager] audit_seconds`, unless it is 0."""
    return [Reconciler(service).job()] if service.settings.of(AuditSettings).audit_seconds else []


class Reconciler:
    """Does rounds of the audit; when the manager stops, a round ends after the present lease."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings = service.settings.of(AuditSettings)
        self._interval = timedelta(seconds=self._settings.audit_seconds)
        self._turn = Turn(service, AUDIT_LOCK, self._interval)
        for kind in FindingKind:
            # At 0 from the start: Prometheus sees no increase in a series that begins at 1.
            FINDINGS.labels(kind, LEFT)

    def job(self) -> Job:
        """Return the job: it looks more often than rounds come, so that one that is asked for begins soon."""
        return Job("audit", min(self._settings.audit_seconds, LONGEST_WAIT), self.run, self._turn)

    def run(self, stopping: Event) -> None:
        """Do a round while the turn is ours; raises what is no failure of the cloud, which is counted."""
        try:
            self._round(stopping)
        except _BrokenOffError:
            return
        except Exception:
            ROUNDS.labels(FAILED).inc()
            raise

    def _round(self, stopping: Event) -> None:
        """Do a round and record how it ended; raises what is no failure of the cloud."""
        db, now = self._service.db, self._service.now
        db.transact(lambda connection: begin_round(connection, now()))
        pace = Pace(after_lease=self._settings.audit_pause_seconds, wait=partial(self._wait, stopping))
        try:
            found = reconcile(self._service, pace)
        except _BrokenOffError:
            raise
        except CloudError as error:
            failure = f"The cloud could not be compared with the database: {error}"
            log.warning("%s", failure)
            self._record_failure(failure)
            ROUNDS.labels(FAILED).inc()
        except Exception as error:
            # Otherwise the round would seem to be under way until the next one begins.
            self._record_failure(f"{_DEFECT} ({type(error).__name__}).")
            raise
        else:
            db.transact(lambda connection: end_round(connection, now(), found))
            ROUNDS.labels(DONE).inc()

    def _record_failure(self, failure: str) -> None:
        now = self._service.now()
        self._service.db.transact(partial(fail_round, now=now, failure=failure))

    def _wait(self, stopping: Event, seconds: float) -> None:
        """Pause, and extend the turn once half of it is over, so that a round of any length keeps it."""
        if stopping.wait(seconds):
            raise _BrokenOffError
        until = self._turn.until
        if (until is None or self._service.now() > until - self._interval / 2) and not self._turn.keep():
            raise _BrokenOffError
