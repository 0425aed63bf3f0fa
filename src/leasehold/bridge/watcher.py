"""Checks resources when the message bus says that they may have changed (feature J1).

The check is that of the polling monitor, of the types that a notification concerns, whether they are polled or not.
Between notifications it does what polling would do and no notification can ask for: it checks again when a grace period
ends or when the cloud did not answer, and heals the leases that come near enough.
"""

from __future__ import annotations

import logging
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from leasehold.leasing.healing.heal import heal_leases
from leasehold.leasing.resources.health import verdicts
from leasehold.manager.monitor import check_once

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)

LEAST_SECONDS = 1.0
"""Between two checks, however many notifications come."""
OWED_SECONDS = 5.0
"""After which a check that did not succeed is made again."""


class Watcher:
    """One thread that checks at its start, whenever it is told to, and when a check is owed."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._pushed = service.settings.bridge.pushed
        self._lock = Lock()
        self._told: set[str] = set()
        self._news = Event()
        self._owed: frozenset[str] = frozenset()
        self._stopping = Event()
        self._thread = Thread(target=self._loop, name="watcher", daemon=True)

    def start(self) -> None:
        """Start the thread, whose first check finds what was notified while no bridge ran."""
        self.tell(self._pushed)
        self._thread.start()

    def tell(self, types: Iterable[str]) -> None:
        """Have the resources of these types checked soon; a thousand calls within a second are one check."""
        with self._lock:
            self._told.update(types)
            self._news.set()

    def stop(self, seconds: float) -> None:
        """Begin no further check, and wait up to `seconds` for the current one."""
        self._stopping.set()
        self._news.set()
        self._thread.join(seconds)

    def _loop(self) -> None:
        pause = 0.0
        while not self._stopping.is_set():
            self._news.wait(pause)
            if self._stopping.is_set():
                return
            pause = self.run_once(self._take())
            self._stopping.wait(LEAST_SECONDS)

    def _take(self) -> frozenset[str]:
        with self._lock:
            self._news.clear()
            told = frozenset(self._told)
            self._told.clear()
        return told

    def run_once(self, told: Iterable[str]) -> float:
        """Check these types, those owed and those whose grace period is over, and heal; without any only heal.

        Returns in how many seconds to do so again if nothing is told. Errors are logged, and what they concern is owed.
        """
        service = self._service
        self._owed = self._owed.union(told)
        try:
            over = {name for name, each in verdicts(service, self._pushed).items() if any(map(self._is_over, each))}
            if self._owed or over:
                self._owed = check_once(service, self._owed | over)
            else:
                heal_leases(service)
            # One that is over and still there is of a resource that nobody reports; it is looked at as if polled.
            ahead = [each for found in verdicts(service, self._pushed).values() for each in found]
            ahead = [each for each in ahead if not self._is_over(each)]
        except Exception:
            log.exception("The resources could not be checked; they are checked again")
            return OWED_SECONDS
        pause = OWED_SECONDS if self._owed else service.settings.manager.health_seconds
        return min([pause, *(max(0.0, (each - service.now()).total_seconds()) for each in ahead)])

    def _is_over(self, verdict: datetime) -> bool:
        return verdict <= self._service.now()
