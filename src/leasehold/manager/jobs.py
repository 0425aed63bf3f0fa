"""What every manager does again and again, beside the jobs of features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.leasing.end_notices import deliver_end_notice
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.leasing.reminder import remind
from leasehold.leasing.resources.pool_size import follow
from leasehold.leasing.turn import Job, Turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from leasehold.leasing.service import Service

POOL_LOCK = "pool-size"


def core_jobs(service: Service) -> Iterator[Job]:
    """Yield the jobs of a manager over `service`.

    Without a turn several managers may do a job at the same time: one transaction of it does what it does once.
    """
    settings = service.settings.manager
    yield Job("sequencer", settings.event_seconds, lambda _: sequence_events(service))
    # A thread of its own, as a service that hangs would occupy all threads of the pool (decision 0041).
    yield Job("end notices", settings.poll_seconds, lambda stopping: _deliver_end_notices(service, stopping))
    yield Job("reminder", settings.warn_poll_seconds, lambda _: remind(service))
    if settings.pool_seconds:
        turn = Turn.of_one_round(service, POOL_LOCK, settings.pool_seconds)
        yield Job("pool size", settings.pool_seconds, lambda _: follow(service), turn)


def _deliver_end_notices(service: Service, stopping: Event) -> None:
    """Deliver until nothing is due or a delivery fails (feature H5)."""
    while not stopping.is_set() and deliver_end_notice(service):
        pass
