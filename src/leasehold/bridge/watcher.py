"""Checks resources when the message bus says that they may have changed (feature J1).

The check is that of the polling monitor, of the types that are pushed, whether they are polled or not. Between
notifications it does what polling would do and no notification can ask for: it checks again when a grace period ends or
when the cloud did not answer, and heals the leases that come near enough.
"""

from __future__ import annotations

import logging
from threading import Event, Thread
from typing import TYPE_CHECKING

from leasehold.leasing.heal import heal_leases
from leasehold.leasing.health import next_verdict
from leasehold.manager.monitor import check_once

if TYPE_CHECKING:
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)

LEAST_SECONDS = 1.0
"""Between two checks, however many notifications come."""
OWED_SECONDS = 5.0
"""After which a check that did not succeed is made again."""


class Watcher:
    """One thread that checks at its start, whenever it is told to, and when a check is owed."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        self._service = service
        self._pushed = service.settings.bridge.pushed
        self._news = Event()
        self._owed = False
        self._stopping = Event()
        self._thread = Thread(target=self._loop, name="watcher", daemon=True)

    def start(self) -> None:
        """Start the thread, whose first check finds what was notified while no bridge ran."""
        self._news.set()
        self._thread.start()

    def tell(self) -> None:
        """Have the resources checked soon; a thousand calls within a second are one check."""
        self._news.set()

    def stop(self, seconds: float) -> None:
        """Begin no further check, and wait up to `seconds` for the current one."""
        self._stopping.set()
        self._news.set()
        self._thread.join(seconds)

    def _loop(self) -> None:
        pause = 0.0
        while not self._stopping.is_set():
            told = self._news.wait(pause)
            if self._stopping.is_set():
                return
            self._news.clear()
            pause = self.run_once(told=told)
            self._stopping.wait(LEAST_SECONDS)

    def run_once(self, *, told: bool) -> float:
        """Check and heal, or without news only heal; return in how many seconds to do so again if nothing is told.

        Errors are logged, and a check that did not succeed is owed.
        """
        self._owed = self._owed or told
        try:
            verdict = next_verdict(self._service, self._pushed)
            if self._owed or (verdict is not None and verdict <= self._service.now()):
                self._owed = not check_once(self._service, self._pushed)
                verdict = next_verdict(self._service, self._pushed)
            else:
                heal_leases(self._service)
        except Exception:
            log.exception("The resources could not be checked; they are checked again")
            return OWED_SECONDS
        pause = OWED_SECONDS if self._owed else self._service.settings.manager.health_seconds
        if verdict is None:
            return pause
        return min(pause, max(0.0, (verdict - self._service.now()).total_seconds()))
