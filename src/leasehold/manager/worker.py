"""The worker loop: claim what is due, hand it to threads, sleep until the next due time.

Work is independent: a slow call for one lease occupies one thread and delays no other (design §5).
"""

from __future__ import annotations

import logging
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING
from uuid import uuid4

from leasehold.books.task import claim_tasks, next_due, postpone_task, renew_claims
from leasehold.manager.settle import settle
from leasehold.metrics.task import LOST, count_task

if TYPE_CHECKING:
    from concurrent.futures import Future

    from leasehold.books.task import Claim
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)

PAUSE_AFTER_TROUBLE = 1.0
LEAST_SLEEP = 0.005


class Worker:
    """Works on due tasks until it is stopped; any number of them may run, in any number of processes."""

    def __init__(self, service: Service, wake: Event) -> None:
        """`wake` is set by whoever makes work due in this process."""
        self._service = service
        self._settings = service.settings.manager
        self._wake = wake
        self._stopping = Event()
        self._name = f"{socket.gethostname()[:20]}:{os.getpid()}"
        self._lock = Lock()
        # By claim, not by task: a finished task may be claimed again before its first claim is struck off here.
        self._running: set[Claim] = set()
        self._pool = ThreadPoolExecutor(self._settings.workers, thread_name_prefix="settle")
        self._threads = [
            Thread(target=self._claim_loop, name="claims", daemon=True),
            Thread(target=self._renew_loop, name="renewals", daemon=True),
        ]

    def start(self) -> None:
        """Begin to work."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Claim nothing more, wait for what is running, and return."""
        self._stopping.set()
        self._wake.set()
        for thread in self._threads:
            thread.join()
        self._pool.shutdown(wait=True)

    def _claim_loop(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                pause = self._claim_some()
            except Exception:
                log.exception("Due work cannot be claimed; trying again in %s s", PAUSE_AFTER_TROUBLE)
                pause = PAUSE_AFTER_TROUBLE
            if pause:
                self._wake.wait(pause)

    def _claim_some(self) -> float:
        """Claim what the threads can take soon, and return for how many seconds there is nothing to do here.

        A finished task wakes the loop, so with all threads busy there is no need to look.
        """
        with self._lock:
            free = 2 * self._settings.workers - len(self._running)
        if free <= self._settings.workers // 2:
            return self._settings.poll_seconds
        claimer = f"{self._name}:{uuid4().hex[:12]}"
        lasts = timedelta(seconds=self._settings.claim_seconds)
        claims = self._service.books.transact(
            lambda connection: claim_tasks(connection, claimer, self._service.now(), lasts, free)
        )
        for claim in claims:
            with self._lock:
                self._running.add(claim)
            self._pool.submit(settle, self._service, claim).add_done_callback(partial(self._done, claim))
        return 0.0 if claims else self._until_next()

    def _done(self, claim: Claim, done: Future[None]) -> None:
        with self._lock:
            self._running.remove(claim)
        error = done.exception()
        if error is not None:
            log.error("Task %s of %s failed; it will be tried again", claim.kind, claim.subject, exc_info=error)
            count_task(claim.kind, "", LOST)
            self._postpone(claim, error)
        self._wake.set()

    def _postpone(self, claim: Claim, error: BaseException) -> None:
        settings = self._settings
        pause = min(settings.retry_first_seconds * 2 ** min(claim.attempts, 20), settings.retry_most_seconds)
        due = self._service.now() + timedelta(seconds=pause)
        try:
            self._service.books.transact(lambda connection: postpone_task(connection, claim, due, str(error)))
        except Exception:
            log.exception("Task %s keeps its claim until that runs out, then anybody may take it", claim.id)

    def _until_next(self) -> float:
        now = self._service.now()
        with self._service.books.reading() as connection:
            due = next_due(connection, now)
        if due is None:
            return self._settings.poll_seconds
        return min(max((due - now).total_seconds(), LEAST_SLEEP), self._settings.poll_seconds)

    def _renew_loop(self) -> None:
        while not self._stopping.wait(self._settings.claim_seconds / 3):
            with self._lock:
                claims = list(self._running)
            if not claims:
                continue
            until = self._service.now() + timedelta(seconds=self._settings.claim_seconds)
            renew = partial(
                renew_claims, ids=[each.id for each in claims], claimers={each.claimer for each in claims}, until=until
            )
            try:
                self._service.books.transact(renew)
            except Exception:
                log.exception("Claims cannot be renewed; another manager may take them over")
