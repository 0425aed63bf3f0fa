"""The decisions about sleep, each one transaction: to sleep, to wake up, and that a host is ready, or has failed.

While a host is asleep the calendar lets nothing be promised on it that begins before it could be ready (decision 0140).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.db.allocation import leases_on
from leasehold.db.leases.lease import find_leases
from leasehold.db.resources.use import Use, use_of
from leasehold.db.task import LEASE, hurry_task
from leasehold.db.work import work_of
from leasehold.features.power.model import LONGEST_REASON, Outcome, Stage
from leasehold.features.power.store import add_sleep, change_sleep, find_machine, open_sleeps, put_machine
from leasehold.leasing.resources.readiness import decide_about, put_readiness
from leasehold.model.resource import Health, Readiness
from leasehold.resource_types.capabilities import Placed

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.power.model import Sleep
    from leasehold.leasing.locks import Locks
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource
    from leasehold.resource_types.capabilities import Resting
    from leasehold.resource_types.registry import ResourceType


@dataclass(frozen=True, slots=True)
class Host:
    """A resource whose machine can be switched, with its type and the driver of that."""

    resource: Resource
    type_: ResourceType
    driver: Resting

    @property
    def number(self) -> int:
        """The number of the resource."""
        return self.resource.number

    @property
    def able(self) -> bool:
        """Whether it may sleep as far as its own state goes: it works, nobody uses it, and leases may at once."""
        each = self.resource
        return each.reservable and each.health is Health.HEALTHY and each.held_for is None and each.readiness is None


def readiness_of(service: Service, host: Host, takes: timedelta, begun: datetime | None = None) -> Readiness:
    """Return how soon a host that takes so long to wake up is ready, as the calendar counts.

    The calendar lets the cleaning time pass after that. One that sleeps is clean, so it is promised no later for it.
    """
    return Readiness(max(timedelta(0), takes - service.margins.of(host.resource.pool)), begun)


def put_to_sleep(service: Service, host: Host, power_class: str, takes: timedelta, least_off: timedelta) -> bool:
    """Decide that an idle host sleeps, and say whether it does: something may have been promised on it meanwhile."""

    def work(locks: Locks, now: Host) -> bool:
        use = use_of(locks.connection, [host.number], locks.now).get(host.number, Use())
        soon = use.next_start is not None and use.next_start < locks.now + takes + least_off
        driver = host.driver
        task = work_of(locks.connection, driver.task, host.resource.id) if isinstance(driver, Placed) else None
        busy = task is not None and task.busy(locks.now)
        if not now.able or use.used or soon or busy or open_sleeps(locks.connection, host.number):
            return False
        add_sleep(locks.connection, host.number, power_class, takes, locks.now)
        put_readiness(locks, now.resource, readiness_of(service, host, takes), Health.ASLEEP)
        return True

    return _decide(service, host, work, freed=False)


def adopt(service: Service, host: Host, power_class: str, takes: timedelta) -> bool:
    """Wake a host that is closed as if it slept, although no sleep says so: the database went back, or it has failed.

    Its machine is only switched on: this sleep has not proved that its address is right, as a shutdown does.
    """

    def work(locks: Locks, now: Host) -> bool:
        failed = open_sleeps(locks.connection, host.number).get(host.number)
        if now.resource.readiness is not None or (failed is not None and failed.stage is not Stage.FAILED):
            return False
        if failed is not None:
            change_sleep(locks.connection, failed.id, ready_at=locks.now)
        times = dict.fromkeys(("stopped_at", "off_at", "woken_at", "cycled_at"), locks.now)
        add_sleep(locks.connection, host.number, power_class, takes, locks.now, **times)
        put_readiness(locks, now.resource, readiness_of(service, host, takes, locks.now), Health.ASLEEP)
        return True

    return _decide(service, host, work, freed=False)


def stop(service: Service, host: Host, sleep: Sleep, watts: float | None) -> bool:
    """Record that the machine of a closed host is shut down from now on; False if somebody needs it meanwhile."""

    def work(locks: Locks, now: Host) -> bool:
        if now.resource.readiness is None or not _is(locks, host, sleep, Stage.CLOSING):
            return False
        change_sleep(locks.connection, sleep.id, stopped_at=locks.now, watts=watts)
        return True

    return _decide(service, host, work, freed=False)


def wake(service: Service, host: Host) -> bool:
    """Decide that a host wakes up, and say whether it has slept."""

    def work(locks: Locks, now: Host) -> bool:
        sleep = open_sleeps(locks.connection, host.number).get(host.number)
        readiness = now.resource.readiness
        if sleep is None or readiness is None or sleep.woken_at is not None:
            return False
        change_sleep(locks.connection, sleep.id, woken_at=locks.now)
        put_readiness(locks, now.resource, replace(readiness, begun=locks.now), Health.ASLEEP)
        return True

    return _decide(service, host, work, freed=True)


def expect(service: Service, host: Host, sleep: Sleep, takes: timedelta, **found: object) -> bool:
    """Record what was `found` of a sleeping machine, and that it takes another time to wake up from now on."""

    def work(locks: Locks, now: Host) -> bool:
        if now.resource.readiness is None or not _is(locks, host, sleep):
            return False
        change_sleep(locks.connection, sleep.id, takes_seconds=int(takes.total_seconds()), **found)
        readiness = readiness_of(service, host, takes, now.resource.readiness.begun)
        put_readiness(locks, now.resource, readiness, Health.ASLEEP)
        return True

    return _decide(service, host, work, freed=True)


def ready(service: Service, host: Host, sleep: Sleep, outcome: Outcome) -> int:
    """Record that a host is as before its sleep, and return how many leases have waited for it.

    One that had failed is only noted; the health check admits it.
    """
    late: list[str] = []

    def work(locks: Locks, now: Host) -> bool:
        late.clear()
        if not _is(locks, host, sleep):
            return False
        if now.resource.readiness is not None:
            second = locks.now.replace(microsecond=0)
            waiting = list(leases_on(locks.connection, [host.number], second, second))
            # A maintenance window may begin at once on a host that sleeps: nobody has promised it to be ready.
            found = find_leases(locks.connection, waiting) if waiting else ()
            late.extend(each.id for each in found if not each.is_maintenance)
            put_readiness(locks, now.resource, None, Health.HEALTHY)
            for lease_id in waiting:
                hurry_task(locks.connection, LEASE, lease_id, locks.now)
        kept = Outcome.FAILED if sleep.outcome is Outcome.FAILED else outcome
        change_sleep(locks.connection, sleep.id, ready_at=locks.now, outcome=kept, late=len(late))
        return True

    _decide(service, host, work, freed=True)
    return len(late)


def fail(service: Service, host: Host, sleep: Sleep, reason: str) -> None:
    """Record that a machine has not come up: its host has failed, and its leases can be healed."""

    def work(locks: Locks, now: Host) -> bool:
        if now.resource.readiness is None or not _is(locks, host, sleep):
            return False
        change_sleep(locks.connection, sleep.id, outcome=Outcome.FAILED)
        put_readiness(locks, now.resource, None, Health.FAILED)
        distrust(locks.connection, host.number, reason, locks.now)
        return True

    _decide(service, host, work, freed=False)


def distrust(connection: Connection, number: int, reason: str, now: datetime) -> None:
    """Keep a machine on from now on, until a person says that it works; the first reason stays."""
    machine = find_machine(connection, number)
    if machine is not None and machine.failure is None:
        put_machine(connection, replace(machine, failure=reason[:LONGEST_REASON], failed_at=now))


def _is(locks: Locks, host: Host, sleep: Sleep, *stages: Stage) -> bool:
    """Say whether a sleep has not ended since it was read, and is in one of these stages; none: in any."""
    present = open_sleeps(locks.connection, host.number).get(host.number)
    return present is not None and present.id == sleep.id and (not stages or present.stage in stages)


def _decide(service: Service, host: Host, work: Callable[[Locks, Host], bool], *, freed: bool) -> bool:
    """Run `work` on the host as it is, with its pool locked, and move the pool if it returns true."""
    return decide_about(
        service, host.resource, lambda locks, now: work(locks, replace(host, resource=now)), freed=freed
    )
