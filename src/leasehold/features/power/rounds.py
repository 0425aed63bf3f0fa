"""What a manager does in each round: it goes on with every sleep under way, and decides who wakes up and who sleeps.

Each step may be repeated, so whoever takes over after a crash finds what was done.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.db.resources.resource import list_resources
from leasehold.features.power.drivers import load_power
from leasehold.features.power.metrics import FAILED, LATE, SWITCHED, show_margins
from leasehold.features.power.model import Outcome, Stage, margin
from leasehold.features.power.options import PowerSettings
from leasehold.features.power.plan import Candidate, Conditions, plan
from leasehold.features.power.port import PowerError
from leasehold.features.power.store import Use, awake_since, change_sleep, open_sleeps, read_machines, use_of, wakes_of
from leasehold.features.power.use import Host, distrust, expect, fail, put_to_sleep, ready, wake
from leasehold.leasing.healing.heal import heal_leases
from leasehold.model.properties import matches
from leasehold.resource_types.capabilities import Resting

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from threading import Event

    from sqlalchemy import Connection

    from leasehold.features.power.model import Machine, Sleep
    from leasehold.features.power.options import MachineClass
    from leasehold.features.power.port import Power
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)

CLOSED_WITHIN = timedelta(minutes=5)
"""A host that cannot be closed for so long stays on."""
OFF_WITHIN = timedelta(minutes=15)
"""A machine that cannot be switched off for so long after its time to shut down is not trusted, and stays on."""


@dataclass(frozen=True, slots=True)
class Known:
    """All machines that can be switched, their hosts, and the sleeps under way, by the number of the resource."""

    machines: Mapping[int, Machine]
    hosts: Mapping[int, Host]
    sleeps: Mapping[int, Sleep]


def known(service: Service, connection: Connection) -> Known:
    """Read the machines of classes that are configured, and whose hosts are enrolled."""
    settings = service.settings.of(PowerSettings)
    types = [(type_, driver) for type_, driver in service.types.movable() if isinstance(driver, Resting)]
    hosts = {
        each.number: Host(each, type_, driver)
        for type_, driver in types
        for each in list_resources(connection, type_.name)
    }
    machines = {
        number: each
        for number, each in read_machines(connection).items()
        if number in hosts and settings.named(each.power_class) is not None
    }
    return Known(machines, hosts, open_sleeps(connection))


def margins(connection: Connection, settings: PowerSettings) -> dict[str, timedelta]:
    """Return how long a wake of each class takes at most: it is seen a round later, so that is part of it."""
    return {
        each.name: margin(wakes_of(connection, each.name), settings.wake_floor, settings.wake_default) + settings.every
        for each in settings.classes
    }


@dataclass(slots=True)
class Rounds:
    """The rounds of one manager; what switches the machines of a class is made once."""

    service: Service
    _powers: dict[str, Power] = field(default_factory=dict)

    def run(self, _stopping: Event | None = None) -> None:
        """Do one round."""
        with self.service.db.reading() as connection:
            found, times = known(self.service, connection), margins(connection, self._settings)
        self._go_on(found, times)
        self._decide()

    @property
    def _settings(self) -> PowerSettings:
        return self.service.settings.of(PowerSettings)

    def power_of(self, machine_class: MachineClass) -> Power:
        """Return what switches the machines of a class."""
        if machine_class.name not in self._powers:
            self._powers[machine_class.name] = load_power(machine_class, self.service.cloud)
        return self._powers[machine_class.name]

    def _go_on(self, found: Known, times: Mapping[str, timedelta]) -> None:
        """Go on with each sleep under way, with some at the same time; what fails is logged and done again."""
        under_way = [number for number, sleep in found.sleeps.items() if sleep.stage is not Stage.ASLEEP]
        steps = [self._step(found, number, times) for number in under_way]
        with ThreadPoolExecutor(self._settings.at_once, thread_name_prefix="power") as threads:
            list(threads.map(_attempt, filter(None, steps)))

    def _step(self, found: Known, number: int, times: Mapping[str, timedelta]) -> _Step | None:
        machine, host = found.machines.get(number), found.hosts.get(number)
        machine_class = None if machine is None else self._settings.named(machine.power_class)
        if machine is None or host is None or machine_class is None:
            log.error("Resource %s sleeps, and its machine cannot be switched: is its class still configured?", number)
            return None
        takes, power = times[machine_class.name], self.power_of(machine_class)
        return _Step(self.service, machine, machine_class, host, found.sleeps[number], power, takes)

    def _decide(self) -> None:
        """Let those wake up that are needed soon, and those sleep that nobody needs."""
        service, settings, now = self.service, self._settings, self.service.now()
        with service.db.reading() as connection:
            found, times = known(service, connection), margins(connection, settings)
            uses, awake = use_of(connection, list(found.machines), now), awake_since(connection)
        candidates = [
            self._candidate(found, number, times, uses.get(number, Use()), awake.get(number))
            for number in found.machines
        ]
        show_margins(times)
        _keep_margins(service, found, times)
        planned = plan(candidates, _conditions(settings), now, may_sleep=settings.may_sleep(now))
        for number in planned.wake:
            if wake(service, found.hosts[number]):
                log.info("%s wakes up.", found.hosts[number].resource.label)
        for number in planned.sleep:
            machine_class = settings.named(found.machines[number].power_class)
            if machine_class is not None:
                takes = times[machine_class.name] + machine_class.shut_down + settings.every
                if put_to_sleep(service, found.hosts[number], machine_class.name, takes, settings.least_off):
                    log.info("%s is to sleep.", found.hosts[number].resource.label)

    def _candidate(
        self, found: Known, number: int, times: Mapping[str, timedelta], use: Use, on_since: datetime | None
    ) -> Candidate:
        machine, host, sleep = found.machines[number], found.hosts[number], found.sleeps.get(number)
        settings, each = self._settings, host.resource
        kept = machine.kept_on or machine.failure is not None
        kept = kept or (settings.keep_on is not None and matches(settings.keep_on, each.values.get))
        return Candidate(
            number=number,
            stage=Stage.ON if sleep is None else sleep.stage,
            takes=times[machine.power_class] if sleep is None else max(sleep.takes, times[machine.power_class]),
            group=tuple(str(each.values.get(name, "")) for name in settings.spares_by),
            able=host.able and not kept,
            next_start=use.next_start,
            idle_since=None if use.used else use.idle_since or each.created_at,
            on_since=on_since,
            trouble=sleep is not None and sleep.stage is Stage.WAKING and sleep.cycled_at is not None,
        )


def _keep_margins(service: Service, found: Known, times: Mapping[str, timedelta]) -> None:
    """Let those that are off promise what their class takes now, if that has become longer."""
    for number, sleep in found.sleeps.items():
        takes = times.get(sleep.power_class, sleep.takes)
        if sleep.stage is Stage.ASLEEP and sleep.takes < takes and number in found.hosts:
            expect(service, found.hosts[number], sleep, takes)


def _conditions(settings: PowerSettings) -> Conditions:
    return Conditions(
        settings.idle, settings.least_on, settings.least_off, settings.spares, settings.at_once, settings.every
    )


def _attempt(step: _Step) -> None:
    """Do what a sleep needs next; what fails is done again in the next round."""
    try:
        step.go_on()
    except (CloudError, PowerError) as error:
        log.warning("%s does not go on yet (%s): %s", step.label, step.sleep.stage, error)
    except Exception:
        log.exception("A bug: %s does not go on (%s)", step.label, step.sleep.stage)


@dataclass(frozen=True, slots=True)
class _Step:
    """One sleep under way, and all that it takes to go on with it; a machine that is off `takes` so long to wake up."""

    service: Service
    machine: Machine
    machine_class: MachineClass
    host: Host
    sleep: Sleep
    power: Power
    takes: timedelta

    @property
    def label(self) -> str:
        """The name that people know the host by."""
        return self.host.resource.label

    def go_on(self) -> None:
        """Do what the sleep needs next; raises CloudError and PowerError."""
        if self.sleep.stage is Stage.CLOSING or (self.sleep.stage is Stage.WAKING and self.sleep.stopped_at is None):
            self._close()
        elif self.sleep.off_at is None:
            self._stop()
        else:
            self._wake()

    def _close(self) -> None:
        """Close the host and shut its machine down; it stays on if anything is on it, or somebody needs it."""
        since = self.service.now() - self.sleep.decided_at
        if self.sleep.woken_at is not None:
            self._call_off("somebody needs it")
            return
        try:
            users = self.host.driver.close(self.service.cloud, self.host.resource.attributes)
        except CloudError as error:
            if since < CLOSED_WITHIN:
                raise
            users = f"an error, so that it cannot be closed: {error}"
        if users is not None:
            self._call_off(f"there is {users}")
            return
        watts = self.power.watts(self.machine.address)
        self._note(stopped_at=self.service.now(), watts=watts)
        self.power.shut_down(self.machine.address)
        SWITCHED.labels(self.machine_class.name, "off").inc()

    def _call_off(self, why: str) -> None:
        self._open()
        ready(self.service, self.host, self.sleep, Outcome.CALLED_OFF)
        log.info("%s stays on: %s.", self.label, why)

    def _stop(self) -> None:
        """Wait until the machine is off; it is switched off when its time to shut down is over."""
        now, stopped_at = self.service.now(), self.sleep.stopped_at or self.sleep.decided_at
        late = now - stopped_at - self.machine_class.shut_down
        try:
            if not self.power.is_on(self.machine.address):
                self._is_off(now)
            elif late >= timedelta(0):
                self.power.switch_off(self.machine.address)
        except PowerError as error:
            if late < OFF_WITHIN:
                raise
            self._give_up(str(error))
        else:
            if late >= OFF_WITHIN and self.sleep.off_at is None:
                self._give_up("It stays on, whatever it is told.")

    def _is_off(self, now: datetime) -> None:
        """Record that the machine is off: from now on it takes less time to wake it up."""
        report = self.host.driver.report(self.service.cloud, self.host.resource.attributes)
        expect(self.service, self.host, self.sleep, self.takes, off_at=now, reported_at=report.at)

    def _give_up(self, why: str) -> None:
        """Let a machine be that cannot be switched off: it is on, and its host is opened again."""
        reason = f"It could not be switched off: {why}"
        self.service.db.transact(partial(distrust, number=self.host.number, reason=reason, now=self.service.now()))
        FAILED.labels(self.machine_class.name).inc()
        self._call_off(reason)

    def _wake(self) -> None:
        """Switch the machine on, and open its host when that has reported anew."""
        attributes = self.host.resource.attributes
        report = self.host.driver.report(self.service.cloud, attributes)
        anew = report.at is not None and (self.sleep.reported_at is None or report.at > self.sleep.reported_at)
        if report.up and anew:
            self._open()
            self._is_ready()
            return
        now, woken_at = self.service.now(), self.sleep.woken_at or self.sleep.decided_at
        tried = now - (self.sleep.cycled_at or woken_at)
        if self.sleep.stage is Stage.FAILED:
            return
        if tried > self.sleep.takes:
            self._again(now)
        elif not self.power.is_on(self.machine.address):
            self.power.switch_on(self.machine.address)
            SWITCHED.labels(self.machine_class.name, "on").inc()

    def _again(self, now: datetime) -> None:
        """Take the power from a machine that has not come up, once; after that it has failed."""
        if self.sleep.cycled_at is None:
            self._note(cycled_at=now)
            log.warning("%s has not come up in time: it is switched off and on again.", self.label)
            self.power.switch_off(self.machine.address)
            return
        seconds = int((now - (self.sleep.woken_at or now)).total_seconds())
        reason = f"It has not come up within {seconds} seconds, although it was switched off and on again."
        log.error("%s is not trusted any more, and its leases get other hosts. %s", self.label, reason)
        fail(self.service, self.host, self.sleep, reason)
        heal_leases(self.service)
        FAILED.labels(self.machine_class.name).inc()

    def _is_ready(self) -> None:
        late = ready(self.service, self.host, self.sleep, Outcome.READY)
        if late:
            LATE.inc(late)
            log.error("%s was not ready in time: %s leases started late.", self.label, late)
        else:
            log.info("%s is awake.", self.label)

    def _open(self) -> None:
        self.host.driver.reopen(self.service.cloud, self.host.resource.attributes)

    def _note(self, **values: object) -> None:
        self.service.db.transact(partial(_change, self.sleep.id, values))


def _change(ident: int, values: Mapping[str, object], connection: Connection) -> None:
    change_sleep(connection, ident, **values)
