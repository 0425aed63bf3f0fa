"""Checks in the background whether the database answers and takes changes, for the health check.

A full disk and a server that only reads answer every read, so the check commits a change that leaves all as it is.

However many clients ask, the database is asked at most once every `FRESH_SECONDS`, and only one request waits for its
answer, for at most `PATIENCE_SECONDS`. So the health check needs no admission control.
"""

from __future__ import annotations

import logging
import time as clock
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from leasehold.db.unchanged import change_nothing

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.db.store import Database

LOG = logging.getLogger(__name__)

FRESH_SECONDS = 2.0
"""A result that is not older is used without asking again."""
PATIENCE_SECONDS = 2.0
"""How long the request that starts a check waits for its result before it uses the last one."""
STALE_SECONDS = 10.0
"""An older success no longer counts, because the database hangs."""


class HealthCheck:
    """The last result of the check; shared by all threads."""

    def __init__(self, db: Database, now: Callable[[], float] = clock.monotonic) -> None:
        """Start without a result. The checking thread is started on demand, so that a server may fork before."""
        self._database = db
        self._now = now
        self._lock = Lock()
        self._looking: Event | None = None
        self._answered = False
        self._seen_at = float("-inf")

    def is_well(self) -> bool:
        """Say whether the database answered lately; only the request that starts a check waits for its result."""
        with self._lock:
            if self._age() < FRESH_SECONDS:
                return self._answered
            begun = None
            if self._looking is None:
                begun = self._looking = Event()
        if begun is not None:
            Thread(target=self._look, args=(begun,), name="health", daemon=True).start()
            begun.wait(PATIENCE_SECONDS)
        with self._lock:
            return self._answered and self._age() < STALE_SECONDS

    def _age(self) -> float:
        return self._now() - self._seen_at

    def _look(self, done: Event) -> None:
        answered = self._ask()
        with self._lock:
            self._answered, self._seen_at, self._looking = answered, self._now(), None
        done.set()

    def _ask(self) -> bool:
        try:
            change_nothing(self._database.engine)
        except Exception:
            # Drivers raise many types of errors; any of them means that this process cannot serve requests now.
            LOG.exception("The database does not answer the health check, or takes no changes.")
            return False
        return True
