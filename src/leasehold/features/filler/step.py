"""What a host of a filler needs next in the cloud: the driver of its type does it as for a reservation.

Each step may be repeated, also after a crash half-way. One manager at a time is at work on a host: before each call to
the cloud it has the claim of that, so that none ends servers on a host that has been somebody else's since.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from leasehold.cloud.fenced import fenced
from leasehold.cloud.ports import CloudError, CloudTransientError
from leasehold.features.filler import store as rows
from leasehold.features.filler.metrics import LATE, OVERDUE
from leasehold.features.filler.model import MARK, Stage
from leasehold.features.filler.use import give_up, gone, type_of
from leasehold.leasing.healing.heal import heal_leases
from leasehold.model.reservation import Reservation
from leasehold.model.states import ReservationStatus
from leasehold.model.terms.end_action import DEFAULT, words_of
from leasehold.resource_types.capabilities import Movable, Outliving
from leasehold.resource_types.driver import Convergence, Holding, LearnedError, Wanted
from leasehold.resource_types.waits import Waits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Cloud
    from leasehold.conf.settings import CloudSettings
    from leasehold.features.filler.model import FilledHost, Standing
    from leasehold.leasing.service import Service
    from leasehold.resource_types.driver import Driver

log = logging.getLogger(__name__)

CLAIM: Final = timedelta(minutes=1)
SURE: Final = 20.0
"""Seconds after which a claim is extended before the next call; the rest of it is for slow calls."""


class OvertakenError(Exception):
    """Another manager may be at work on the host, or has finished, so this one makes no more calls for it."""


@dataclass(slots=True)
class _Claim:
    """The claim of a host of a filler by one manager."""

    service: Service
    ident: str
    claimer: str = field(default_factory=lambda: str(uuid4()))
    taken_at: float = -SURE

    def check(self) -> None:
        """Take the claim or extend it if need be; raises OvertakenError if another manager has it."""
        began = monotonic()
        if began - self.taken_at < SURE:
            return
        now = self.service.now()
        claim = partial(rows.claim_host, ident=self.ident, claimer=self.claimer, now=now, until=now + CLAIM)
        if not self.service.db.transact(claim):
            raise OvertakenError(self.ident)
        self.taken_at = began

    def release(self) -> None:
        """Give the claim up."""
        self.service.db.transact(partial(rows.release_host, ident=self.ident, claimer=self.claimer))


@dataclass(frozen=True, slots=True)
class Step:
    """One host of a filler, and all that it takes to go on with it."""

    service: Service
    standing: Standing

    def attempt(self) -> None:
        """Do what the host needs next; what fails is done again in the next round, or given up in time."""
        claim = _Claim(self.service, self.standing.host.id)
        try:
            claim.check()
            self._go_on(claim)
            claim.release()
        except OvertakenError:
            log.info("Another manager is at work on %s.", self._label)
        except Exception:
            log.exception("A bug: %s does not go on", self._label)

    @property
    def _label(self) -> str:
        return f"host {self.standing.resource.label} of filler {self.standing.filler.id}"

    def _go_on(self, claim: _Claim) -> None:
        # What was decided before the claim is known for certain; what was decided since is seen in the next round.
        with self.service.db.reading() as connection:
            host = rows.find_host(connection, self.standing.host.id)
        if host is None:
            return
        stage = host.stage(self.service.now())
        if stage is Stage.COMING:
            self._bring(claim, host)
        elif stage in (Stage.ENDING, Stage.OVERDUE):
            self._end(claim, host)

    def _bring(self, claim: _Claim, host: FilledHost) -> None:
        try:
            facts = self._converge(claim, host, Wanted.ACTIVE)
        except CloudError as error:
            log.warning("%s is not given yet: %s", self._label, error)
            return
        self._note(host, arrived_at=self.service.now(), facts={**host.facts, **facts})

    def _end(self, claim: _Claim, host: FilledHost) -> None:
        """End the servers, and record that the host is empty; what does not end in time costs the filler its host."""
        try:
            facts = self._converge(claim, host, Wanted.ENDED)
        except LearnedError as error:
            self._note(host, facts={**host.facts, **error.facts})
            self._late(host, str(error))
        except CloudError as error:
            self._late(host, str(error))
        else:
            late = gone(self.service, self.standing.resource, host, claim.claimer, {**host.facts, **facts})
            if late:
                LATE.inc(late)
                log.error("%s was not empty in time: %s leases started late.", self._label, late)

    def _late(self, host: FilledHost, why: str) -> None:
        evict = self.standing.settings.evict
        if host.leaves_at is None or self.service.now() - host.leaves_at < evict:
            log.info("%s is not empty yet: %s", self._label, why)
        elif give_up(self.service, self.standing.resource, host):
            OVERDUE.inc()
            log.critical(
                "%s is given up, and its leases get other hosts, because it is not empty: %s", self._label, why
            )
            heal_leases(self.service)

    def _converge(self, claim: _Claim, host: FilledHost, wanted: Wanted) -> Mapping[str, Any]:
        """Make the cloud match; raises CloudError, also for what a driver should not have raised."""
        type_ = type_of(self.service, self.standing.filler)
        cloud = fenced(self.service.cloud, claim.check)
        job = job_of(self.service, replace(self.standing, host=host))
        try:
            if wanted is Wanted.ENDED and not _is_there(type_.driver, cloud, job):
                return _call_off(type_.driver, cloud, job)
            return type_.driver.converge(cloud, job, wanted)
        except (CloudError, OvertakenError):
            raise
        except Exception as error:
            log.exception("A bug in %s: %s does not go on", type_.name, self._label)
            message = f"An internal error ({type(error).__name__}); the log has more"
            raise CloudTransientError(message) from error

    def _note(self, host: FilledHost, **values: object) -> None:
        self.service.db.transact(partial(_change, host.id, values))


def _is_there(driver: Driver[Any], cloud: Cloud, job: Convergence[Any]) -> bool:
    """Return whether the filler has the host in the cloud, so that the servers on it are the filler's.

    It has not come, or an attempt has taken it away; or the database went back, and it is somebody else's by now.
    """
    return not isinstance(driver, Outliving) or bool(driver.kept(cloud, job))


def _call_off(driver: Driver[Any], cloud: Cloud, job: Convergence[Any]) -> Mapping[str, Any]:
    """Remove what else there is of a filler in the cloud, and leave the servers on its host alone: they are others'."""
    facts = driver.converge(cloud, replace(job, holdings=()), Wanted.ENDED)
    if isinstance(driver, Movable):
        for held in job.holdings:
            driver.reopen(cloud, held.resource.attributes)
    return facts


def _change(ident: str, values: Mapping[str, object], connection: Connection) -> None:
    rows.change_host(connection, ident, **values)


def job_of(service: Service, standing: Standing) -> Convergence[Any]:
    """Return a host of a filler as its driver knows reservations: one of this host alone, in a lease of its own.

    The filler stands for the lease, so its id names all of its hosts to the scheduler.
    """
    host, filler, now = standing.host, standing.filler, service.now()
    type_ = type_of(service, filler)
    request = type_.kind.store(type_.kind.exactly(type_.kind.load(filler.request), 1))
    status = ReservationStatus.PENDING if host.arrived_at is None else ReservationStatus.ACTIVE
    part = Reservation(host.id, filler.id, type_.name, host.id, request, status, cloud=host.facts)
    ends = host.leaves_at
    return Convergence(
        host.project_id,
        part,
        type_.kind,
        (Holding(standing.resource, 1, 0),),
        settings=_hurried(service.settings.cloud, str(request.get("before_end", DEFAULT)), standing.settings.evict / 2),
        warned=ends,
        waits=None if ends is None else Waits(now, ends, ends),
        alone=True,
        marks={MARK: filler.id},
    )


def _hurried(settings: CloudSettings, asked: str, most: timedelta) -> CloudSettings:
    """Return the settings in which all actions before the end together wait for so long at most."""
    words = words_of(settings.default_before_end if asked == DEFAULT else asked)
    waits = {word: min(wait, most / max(1, len(words))) for word, wait in settings.end_waits.items()}
    return replace(settings, end_waits=waits)
