"""The manager, without its threads: tasks run at the moment at which they are due, and the rounds when they are due.

It calls what the threads of `leasehold.manager` call. Errors are raised instead of logged, because without a fault of
the cloud none should occur.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from leasehold.db.task import claim_tasks, next_due
from leasehold.features.filler.options import FillerSettings
from leasehold.features.filler.rounds import Rounds as FillerRounds
from leasehold.features.filler.store import present_hosts
from leasehold.features.flexible.moving import move_all
from leasehold.features.flexible.options import FlexibleSettings
from leasehold.features.power.options import PowerSettings
from leasehold.features.power.rounds import Rounds
from leasehold.features.preemption.use import warn_preemptibles
from leasehold.leasing.healing.heal import heal_leases
from leasehold.leasing.healing.risk import tell_risks
from leasehold.leasing.reminder import remind
from leasehold.leasing.resources.pool_size import follow
from leasehold.manager.monitor import check_once
from leasehold.manager.surveyor import Surveyor
from leasehold.manager.task_runner import run_task

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from bench.simulation.site import Site
    from leasehold.db.task import Claim

LOOKS_EVERY: Final = 180.0
"""Seconds between two looks for leases that start soon; a manager looks every minute."""
ENDLESS: Final = 5_000
"""More tasks than are ever due at one moment: reaching it means an endless loop."""


class Manager:
    """One manager of a site; `after_task` is called after each task."""

    def __init__(self, site: Site, after_task: Callable[[Claim], None]) -> None:
        """Note its periodic rounds in the agenda."""
        self._site, self._service, self._after_task = site, site.world.service, after_task
        self._surveyor = Surveyor(self._service)
        settings = self._service.settings.manager
        self._every(settings.health_seconds, self._check_hosts)
        self._every(settings.warn_poll_seconds, lambda: remind(self._service))
        self._every(settings.pool_seconds, lambda: follow(self._service))
        self._every(LOOKS_EVERY, lambda: warn_preemptibles(self._service))
        power = self._service.settings.of(PowerSettings)
        if power.classes:
            self._every(power.every.total_seconds(), Rounds(self._service).run)
        self._every(self._service.settings.of(FlexibleSettings).every.total_seconds(), lambda: move_all(self._service))
        self._fillers, fillers = FillerRounds(self._service), self._service.settings.of(FillerSettings)
        if fillers.hosts:
            self._every(fillers.every.total_seconds(), self._fillers.run)

    def next_due(self) -> datetime | None:
        """Return when the next task is due."""
        with self._service.db.reading() as connection:
            return next_due(connection, self._site.now())

    def run_due(self) -> None:
        """Run all tasks that are due now, in the order in which a worker claims them."""
        settings, done = self._service.settings.manager, 0
        lasts = timedelta(seconds=settings.claim_seconds)
        while claims := self._service.db.transact(
            lambda connection: claim_tasks(connection, uuid4().hex, self._site.now(), lasts, 2 * settings.workers)
        ):
            for claim in claims:
                run_task(self._service, claim)
                self._after_task(claim)
            done += len(claims)
            if done > ENDLESS:
                message = f"The manager runs in an endless loop at {self._site.now()}: {claims}"
                raise AssertionError(message)

    def end_fillers(self) -> None:
        """Let the time go by until no filler has a host any more."""
        service, every = self._service, self._service.settings.of(FillerSettings).every
        while True:
            self._fillers.run()
            self.run_due()
            with service.db.reading() as connection:
                if not present_hosts(connection):
                    return
            self._site.world.clock.set(self._site.now() + every)

    def _every(self, seconds: float, work: Callable[[], object]) -> None:
        def again() -> None:
            self._site.agenda.at(self._site.now() + timedelta(seconds=seconds), again)
            work()

        self._site.agenda.at(self._site.now() + timedelta(seconds=seconds), again)

    def _check_hosts(self) -> None:
        """Do what the monitor does."""
        check_once(self._service)
        if self._surveyor.survey():
            heal_leases(self._service)
            tell_risks(self._service)
