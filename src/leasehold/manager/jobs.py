"""What every manager does again and again, beside the jobs of features."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.leasing.end_notices import deliver_end_notice
from leasehold.leasing.event_log import sequence_events
from leasehold.leasing.job import Job
from leasehold.leasing.pool_size import follow
from leasehold.leasing.preemption import warn_preemptibles
from leasehold.leasing.reminder import remind
from leasehold.leasing.session import purge_sessions
from leasehold.leasing.turn import Turn
from leasehold.manager.reconciler import Reconciler
from leasehold.resource_types.displacement import open_all

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

    from leasehold.leasing.service import Service

POOL_LOCK = "pool-size"
PREEMPTION_LOCK = "preemption"
PART = 10
"""A look for leases that start soon comes so often in each grace period."""
SHORTEST, LONGEST = 1.0, 60.0
"""Seconds between two such looks, at least and at most."""
SESSIONS_SECONDS = 600.0
"""Between two removals of sessions of the web console that are over; what was idle for long, the API removes."""


def core_jobs(service: Service) -> Iterator[Job]:
    """Yield the jobs of a manager over `service`.

    Without a turn several managers may do a job at the same time: one transaction of it does what it does once.
    """
    settings = service.settings.manager
    yield Job("sequencer", settings.event_seconds, lambda _: sequence_events(service))
    # A thread of its own, as a service that hangs would occupy all threads of the pool (decision 0041).
    yield Job("end notices", settings.poll_seconds, lambda stopping: _deliver_end_notices(service, stopping))
    yield Job("reminder", settings.warn_poll_seconds, lambda _: remind(service))
    yield _preemption(service)
    yield Job("sessions", SESSIONS_SECONDS, lambda _: purge_sessions(service, timedelta(0)))
    if settings.pool_seconds:
        turn = Turn.of_one_round(service, POOL_LOCK, settings.pool_seconds)
        yield Job("pool size", settings.pool_seconds, lambda _: follow(service), turn)
    if settings.audit_seconds:
        yield Reconciler(service).job()


def _deliver_end_notices(service: Service, stopping: Event) -> None:
    """Deliver until nothing is due or a delivery fails (feature H5)."""
    while not stopping.is_set() and deliver_end_notice(service):
        pass


def _preemption(service: Service) -> Job:
    """Look for leases that start soon ten times in each grace period, and every minute in long ones (feature K1).

    Without a grace period, open the hosts that were closed while there was one.
    """
    cloud = service.settings.cloud
    grace = cloud.preemptible_grace.total_seconds() if cloud.expect_preemptibles else 0.0
    if not grace:
        opening = _Opening(service)
        return Job("preemption", LONGEST, lambda _: opening.run())
    every = min(max(grace / PART, SHORTEST), LONGEST)
    turn = Turn.of_one_round(service, PREEMPTION_LOCK, every)
    return Job("preemption", every, lambda _: warn_preemptibles(service), turn)


class _Opening:
    """Opens all hosts once, and does nothing more."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._opened = False

    def run(self) -> None:
        if not self._opened:
            open_all(self._service.cloud)
            self._opened = True
