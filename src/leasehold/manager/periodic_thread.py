"""What a manager does every so often beside its work: in a thread of its own, until the manager stops."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from threading import Event, Thread

log = logging.getLogger(__name__)


class PeriodicThread(ABC):
    """Looks every so many seconds, for the first time after the first of them."""

    def __init__(self, name: str, seconds: float) -> None:
        """Prepare the thread."""
        self._name = name
        self._seconds = seconds
        self._stopping = Event()
        self._thread = Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def begin_to_stop(self) -> None:
        """Begin no other look, and break off the one under way where it can be."""
        self._stopping.set()

    def stop(self, seconds: float) -> None:
        """Finish the look under way, or break it off; one that takes longer than `seconds` is left with a warning.

        What it did is in the database; the rest is done by the next look, of whichever manager.
        """
        self.begin_to_stop()
        self._thread.join(seconds)
        if self._thread.is_alive():
            log.warning("Stopped while the %s was still waiting for an answer; its next look begins anew", self._name)

    @abstractmethod
    def run_once(self) -> None:
        """Look once; what goes wrong is logged, and the next look comes all the same."""

    def _loop(self) -> None:
        while not self._stopping.wait(self._seconds):
            self.run_once()
