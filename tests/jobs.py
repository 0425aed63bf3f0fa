"""The jobs of a manager, one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.features.registry import FEATURES
from leasehold.leasing.turn import Job
from leasehold.manager.jobs import core_jobs
from leasehold.manager.periodic_thread import JobThread

if TYPE_CHECKING:
    from leasehold.leasing.service import Service


def job_of(service: Service, name: str) -> JobThread:
    """Return the thread that a manager over `service` has for the job of this name, not started."""
    jobs = [*core_jobs(service), *(job for each in FEATURES for job in each.jobs(service))]
    (found,) = (job for job in jobs if isinstance(job, Job) and job.name == name)
    return JobThread(found)
