"""A thread that repeats a job at a fixed interval until the manager stops."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from threading import Event, Thread
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError

if TYPE_CHECKING:
    from leasehold.leasing.turn import Job

log = logging.getLogger(__name__)


class PeriodicThread(ABC):
    """Calls `run_once` every `seconds` seconds, first after one interval."""

    def __init__(self, name: str, seconds: float) -> None:
        self._name = name
        self._seconds = seconds
        self._stopping = Event()
        self._thread = Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def begin_to_stop(self) -> None:
        """Start no other run, and abort the current one if it can be aborted."""
        self._stopping.set()

    def stop(self, seconds: float) -> None:
        """Wait up to `seconds` for the current run to finish or abort; after that, log a warning and leave it.

        Its results so far are in the database; the next run, of any manager, does the rest.
        """
        self.begin_to_stop()
        self._thread.join(seconds)
        if self._thread.is_alive():
            log.warning("Stopped while the %s was still waiting for an answer; its next run starts over", self._name)

    @abstractmethod
    def run_once(self) -> None:
        """Do the job once; errors have to be logged, not raised, so that the thread continues."""

    def _loop(self) -> None:
        while not self._stopping.wait(self._seconds):
            self.run_once()


class JobThread(PeriodicThread):
    """Does a job again and again, whatever it raises."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.name, job.every)
        self._job = job

    def run_once(self) -> None:
        """Do the job once if it is our turn; errors are logged, and the next run tries again."""
        job = self._job
        try:
            if job.turn is None or job.turn.take():
                job.run(self._stopping)
        except CloudError as error:
            log.warning("The job %s waits for the cloud; its next run tries again: %s", job.name, error)
        except Exception:
            log.exception("The job %s has failed; its next run tries again", job.name)
