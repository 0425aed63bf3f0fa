"""The thread of a job."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.manager.periodic_thread import PeriodicThread

if TYPE_CHECKING:
    from leasehold.leasing.job import Job

log = logging.getLogger(__name__)


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
