"""The periodic audit: compare the cloud with the database at a limited rate, repair what is safe, and log findings.

Every manager runs this thread; a periodic lock in the database lets one of them do each round. Differences of a lease
or a host are repaired by making its task due. What an operator has to decide is logged as a warning in every round.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from leasehold.cloud.ports import CloudError
from leasehold.db.audit_round import begin_round, end_round, fail_round
from leasehold.db.periodic_lock import add_periodic_lock, keep_periodic_lock, take_periodic_lock
from leasehold.leasing.audit.cloud import Pace, audit_cloud
from leasehold.leasing.audit.db import audit_leases
from leasehold.leasing.audit.repair import repair
from leasehold.leasing.audit.report import AUDIT_LOCK
from leasehold.manager.periodic_thread import PeriodicThread
from leasehold.metrics.audit import DONE, FAILED, LEFT, MENDED, count_finding, count_round, expect_findings
from leasehold.model.finding import FindingKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.leasing.service import Service
    from leasehold.model.finding import Finding

log = logging.getLogger(__name__)

_DEFECT = "The round ended by an unexpected error of the service; the log of the managers has its traceback"

LONGEST_WAIT = 30.0
"""In seconds: the longest interval between two tries to take the lock, and the longest wait before the first."""


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
        count_finding(finding.kind, LEFT if done is None else MENDED)
        log.warning("Audit: %s %s", finding.what, finding.remedy if done is None else done)
        seen.append((finding, done))
    return seen


class Reconciler(PeriodicThread):
    """Does rounds of the audit until it is stopped; stopping aborts a round after the present lease."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        self._service = service
        self._settings = service.settings.manager
        self._interval = timedelta(seconds=self._settings.audit_seconds)
        self._mine = service.now()
        expect_findings(FindingKind)
        super().__init__("audit", min(self._settings.audit_seconds, LONGEST_WAIT))

    def run_once(self) -> None:
        """Do a round if the lock is free; errors are logged and counted."""
        try:
            if self._take_lock():
                self._round()
        except _BrokenOffError:
            return
        except Exception:
            log.exception("The periodic audit failed; its next round starts over")
            count_round(FAILED)

    def _round(self) -> None:
        """Do a round and record how it ended; raises what is no failure of the cloud."""
        db, now = self._service.db, self._service.now
        db.transact(lambda connection: begin_round(connection, now()))
        pace = Pace(after_lease=self._settings.audit_pause_seconds, wait=self._wait)
        try:
            found = reconcile(self._service, pace)
        except _BrokenOffError:
            raise
        except CloudError as error:
            failure = f"The cloud could not be compared with the database: {error}"
            log.warning("%s", failure)
            self._record_failure(failure)
            count_round(FAILED)
        except Exception as error:
            # Otherwise the round would seem to be under way until the next one begins.
            self._record_failure(f"{_DEFECT} ({type(error).__name__}).")
            raise
        else:
            db.transact(lambda connection: end_round(connection, now(), found))
            count_round(DONE)

    def _record_failure(self, failure: str) -> None:
        now = self._service.now()
        self._service.db.transact(partial(fail_round, now=now, failure=failure))

    def _take_lock(self) -> bool:
        now, db = self._service.now(), self._service.db
        try:
            db.transact(partial(add_periodic_lock, kind=AUDIT_LOCK))
        except IntegrityError:
            return False
        self._mine = now + self._interval
        return db.transact(partial(take_periodic_lock, kind=AUDIT_LOCK, now=now, until=self._mine))

    def _wait(self, seconds: float) -> None:
        """Pause, and extend the lock in time, so that a round of any length keeps it."""
        if self._stopping.wait(seconds):
            raise _BrokenOffError
        until = self._service.now() + self._interval
        if until > self._mine + self._interval / 2:
            keep = partial(keep_periodic_lock, kind=AUDIT_LOCK, mine=self._mine, until=until)
            if not self._service.db.transact(keep):
                raise _BrokenOffError
            self._mine = until
