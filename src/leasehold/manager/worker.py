"""The worker loop: claim due tasks, hand them to a pool of threads, sleep until the next due time.

Tasks are independent: a slow call for one lease occupies one thread and delays no other lease (design §5).
"""

from __future__ import annotations

import logging
import os
import socket
from datetime import timedelta
from functools import partial
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING
from uuid import uuid4

from leasehold.db.task import LEASE, claim_tasks, give_back, next_due, postpone_task, renew_claims
from leasehold.leasing.steps.lifecycle import Phase, begin_all
from leasehold.manager.task_runner import run_task
from leasehold.manager.worker_pool import WorkerPool
from leasehold.metrics.task import LOST, count_task, expect_failures
from leasehold.model.backoff import pause_after
from leasehold.resource_types.capabilities import Placed

if TYPE_CHECKING:
    from collections.abc import Collection

    from leasehold.db.task import Claim
    from leasehold.leasing.service import Service
    from leasehold.leasing.steps.lifecycle import Step

log = logging.getLogger(__name__)

PAUSE_AFTER_TROUBLE = 1.0
LEAST_SLEEP = 0.005
FRESH_SECONDS = 1.0
"""A step that has waited for longer since its claim is begun again: the lease may have changed."""


class Worker:
    """Runs due tasks until it is stopped; any number of workers may run, in any number of processes."""

    def __init__(self, service: Service, wake: Event) -> None:
        """Code that makes a task due in this process sets `wake`."""
        self._service = service
        self._settings = service.settings.manager
        self._wake = wake
        self._stopping = Event()
        self._stopped = Event()
        self._name = f"{socket.gethostname()[:20]}:{os.getpid()}"
        self._begun: dict[Claim, Step] = {}
        self._pool = WorkerPool(self._settings.workers, self._work, wake.set)
        self._claiming = Thread(target=self._claim_loop, name="claims", daemon=True)
        self._renewing = Thread(target=self._renew_loop, name="renewals", daemon=True)

    def start(self) -> None:
        """Start the threads."""
        expect_failures(LEASE, Phase)
        drivers = [each.driver for each in self._service.types.by_name.values()]
        for kind in {each.task for each in drivers if isinstance(each, Placed)}:
            expect_failures(kind, ())
        self._pool.start()
        self._claiming.start()
        self._renewing.start()

    def stop(self) -> None:
        """Claim no more tasks, wait up to `shutdown_seconds` for running ones, and release the other claims."""
        end = monotonic() + self._settings.shutdown_seconds
        self._stopping.set()
        self._wake.set()
        self._claiming.join(self._settings.shutdown_seconds)
        self._give_back(self._pool.close())
        unfinished = self._pool.wait(max(0.0, end - monotonic()))
        self._stopped.set()
        if unfinished:
            subjects = ", ".join(sorted(each.subject for each in unfinished))
            log.warning("Stopped before the work was done on %s; another manager may take it", subjects)
            self._give_back(unfinished)
        self._renewing.join(PAUSE_AFTER_TROUBLE)

    def _give_back(self, claims: Collection[Claim]) -> None:
        if not claims:
            return
        try:
            self._service.db.transact(lambda connection: give_back(connection, claims))
        except Exception:
            log.exception("Claims cannot be released; another manager may take the tasks when the claims expire")

    def _claim_loop(self) -> None:
        while True:
            # Clear `wake` before testing `stopping`; `stop()` sets them in the opposite order, so no wake-up is lost.
            self._wake.clear()
            if self._stopping.is_set():
                return
            try:
                pause = self._claim_some()
            except Exception:
                log.exception("Due work cannot be claimed; trying again in %s s", PAUSE_AFTER_TROUBLE)
                pause = PAUSE_AFTER_TROUBLE
            if pause:
                self._wake.wait(pause)

    def _claim_some(self) -> float:
        """Claim up to two tasks for each thread, begin what can be begun together, and return the seconds to sleep.

        A finished task wakes the loop, so there is no need to claim while the queue is full enough.
        """
        free = 2 * self._settings.workers - len(self._pool.claims())
        if free <= self._settings.workers // 2:
            return self._settings.poll_seconds
        claimer = f"{self._name}:{uuid4().hex[:12]}"
        lasts = timedelta(seconds=self._settings.claim_seconds)
        claims = self._service.db.transact(
            lambda connection: claim_tasks(connection, claimer, self._service.now(), lasts, free)
        )
        self._begun.update(begin_all(self._service, claims))
        self._pool.add(claims)
        return 0.0 if claims else self._until_next()

    def _work(self, claim: Claim) -> None:
        begun = self._begun.pop(claim, None)
        fresh = monotonic() - claim.made_at < FRESH_SECONDS
        try:
            run_task(self._service, claim, begun if fresh else None)
        except Exception as error:
            log.exception("Task %s of %s failed; it will be tried again", claim.kind, claim.subject)
            count_task(claim.kind, "", LOST)
            self._postpone(claim, error)

    def _postpone(self, claim: Claim, error: Exception) -> None:
        settings = self._settings
        first, most = settings.retry_first_seconds, settings.retry_most_seconds
        due = self._service.now() + pause_after(claim.attempts + 1, first=first, most=most)
        try:
            self._service.db.transact(lambda connection: postpone_task(connection, claim, due, str(error)))
        except Exception:
            log.exception("Task %s stays claimed until its claim expires; then any manager may take it", claim.id)

    def _until_next(self) -> float:
        now = self._service.now()
        with self._service.db.reading() as connection:
            due = next_due(connection, now)
        if due is None:
            return self._settings.poll_seconds
        return min(max((due - now).total_seconds(), LEAST_SLEEP), self._settings.poll_seconds)

    def _renew_loop(self) -> None:
        while not self._stopped.wait(self._settings.claim_seconds / 3):
            claims = self._pool.claims()
            if not claims:
                continue
            until = self._service.now() + timedelta(seconds=self._settings.claim_seconds)
            renew = partial(
                renew_claims, ids=[each.id for each in claims], claimers={each.claimer for each in claims}, until=until
            )
            try:
                self._service.db.transact(renew)
            except Exception:
                log.exception("Claims cannot be renewed; another manager may take them over")
