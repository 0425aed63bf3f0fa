"""What a manager does in each round: it goes on with every sleep under way, and decides who wakes up and who sleeps.

Each step may be repeated, so whoever takes over after a crash finds what was done.
"""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.db.resources.resource import resources_by_number
from leasehold.db.resources.use import Use, use_of
from leasehold.features.power.drivers import NoPower, load_power
from leasehold.features.power.looks import Looks
from leasehold.features.power.managed import Managed
from leasehold.features.power.metrics import show_margins
from leasehold.features.power.model import Stage, margin
from leasehold.features.power.options import MachineClass, PowerSettings
from leasehold.features.power.plan import Candidate, Conditions, plan
from leasehold.features.power.port import PowerError
from leasehold.features.power.step import QUIET_WITHIN, Step
from leasehold.features.power.store import awake_since, change_sleep, open_sleeps, read_machines, wakes_of
from leasehold.features.power.use import Host, adopt, expect, put_to_sleep, readiness_of, wake
from leasehold.leasing.waiting.wanted import wanted_by_waiting
from leasehold.model.errors import some_of
from leasehold.model.properties import matches
from leasehold.model.resource import Health
from leasehold.resource_types.capabilities import StillClosingError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from datetime import datetime
    from threading import Event

    from sqlalchemy import Connection

    from leasehold.features.power.model import Machine, Sleep
    from leasehold.features.power.port import Power
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource
    from leasehold.resource_types.capabilities import Resting
    from leasehold.resource_types.registry import ResourceType

log = logging.getLogger(__name__)

UNNOTICED = timedelta(minutes=1)
"""For so long Nova says of a compute service that has ended that it is up, by default (`service_down_time`)."""


@dataclass(frozen=True, slots=True)
class Known:
    """All machines that can be switched, their hosts, and the sleeps under way, by the number of the resource.

    Those that are `gone` are no longer enrolled, although their sleep has not ended.
    """

    machines: Mapping[int, Machine]
    hosts: Mapping[int, Host]
    sleeps: Mapping[int, Sleep]
    gone: Mapping[int, Host]


def known(service: Service, connection: Connection) -> Known:
    """Read the machines whose hosts are enrolled."""
    found, types, sleeps = read_machines(connection), resting(service), open_sleeps(connection)
    ever = {
        number: Host(each, *types[each.type])
        for number, each in sorted(resources_by_number(connection, found).items())
        if each.type in types
    }
    hosts = {number: each for number, each in ever.items() if each.resource.deleted_at is None}
    gone = {number: each for number, each in ever.items() if number in sleeps and number not in hosts}
    return Known({each: found[each] for each in hosts}, hosts, sleeps, gone)


def resting(service: Service) -> dict[str, tuple[ResourceType, Resting]]:
    """Return by name the types whose resources can sleep, with their drivers."""
    return {type_.name: (type_, driver) for type_, driver in service.types.resting()}


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
    _looks: Looks = field(init=False)
    _managed: Managed = field(init=False)

    def __post_init__(self) -> None:
        self._looks = Looks(self.service.cloud)
        self._managed = Managed(self._settings.classes, self.service.cloud)

    def run(self, _stopping: Event | None = None) -> None:
        """Do one round."""
        with self.service.db.reading() as connection:
            found, times = known(self.service, connection), margins(connection, self._settings)
        self._go_on(found, times)
        self._decide(found, times)

    @property
    def _settings(self) -> PowerSettings:
        return self.service.settings.of(PowerSettings)

    def _power_of(self, name: str) -> Power:
        """Return what switches the machines of a class, but for those that another program manages."""
        machine_class = self._settings.named(name)
        if machine_class is None:
            return NoPower(str(self._settings.missing(name)))
        if name not in self._powers:
            made = load_power(machine_class, self.service.cloud)
            self._powers[name] = self._managed.guarding(machine_class, made)
        return self._powers[name]

    def _go_on(self, found: Known, times: Mapping[str, timedelta]) -> None:
        """Go on with each sleep under way, with some at the same time; what fails is logged and done again."""
        sleeping = {number: sleep for number, sleep in found.sleeps.items() if number in found.hosts}
        self._complain(found, sleeping)
        under_way = [number for number, sleep in sleeping.items() if sleep.stage is not Stage.ASLEEP]
        steps = [self._step(found, number, times) for number in under_way]
        with ThreadPoolExecutor(self._settings.at_once, thread_name_prefix="power") as threads:
            list(threads.map(_attempt, steps))
        for number, host in found.gone.items():
            self._let_go(found, host, found.sleeps[number])

    def _step(self, found: Known, number: int, times: Mapping[str, timedelta]) -> Step:
        machine, sleep = found.machines[number], found.sleeps[number]
        machine_class = self._settings.named(machine.power_class) or MachineClass(machine.power_class)
        takes, power = times.get(machine_class.name, sleep.takes), self._power_of(machine_class.name)
        return Step(self.service, machine, machine_class, found.hosts[number], sleep, power, takes)

    def _complain(self, found: Known, sleeping: Collection[int]) -> None:
        """Name the hosts that sleep although nothing wakes them; when a lease needs one, it fails, and is replaced."""
        for name in sorted({found.machines[number].power_class for number in sleeping}):
            if self._settings.named(name) is None:
                those = [
                    found.hosts[each].resource.label for each in sleeping if found.machines[each].power_class == name
                ]
                log.error("Nothing wakes %s: name their class %r in [power] classes.", some_of(sorted(those)), name)

    def _let_go(self, found: Known, host: Host, sleep: Sleep) -> None:
        """Open a host that was removed while it was closed, unless it is enrolled anew, and end its sleep."""
        label = host.resource.label
        try:
            if all(each.resource.label != label for each in found.hosts.values()):
                host.driver.reopen(self.service.cloud, host.resource.attributes)
        except CloudError as error:
            log.warning("%s was removed, and is not open yet: %s", label, error)
        else:
            now = self.service.now()
            self.service.db.transact(lambda connection: change_sleep(connection, sleep.id, ready_at=now))

    def _decide(self, found: Known, times: Mapping[str, timedelta]) -> None:
        """Let those wake up that are needed soon, and those sleep that nobody needs.

        What has changed since the round began is seen by the next one; each decision looks again at its host.
        """
        service, settings, now = self.service, self._settings, self.service.now()
        with service.db.reading() as connection:
            uses = use_of(connection, list(found.machines), now)
            # Whoever has been on for longer may sleep, however long that is: all that ever slept is not read.
            awake = awake_since(connection, now - max(settings.idle, settings.least_on))
        self._looks.look(found.hosts, now)
        wanted = wanted_by_waiting(service, {each.type_.kind.pool for each in found.hosts.values()})
        candidates = [
            replace(
                self._candidate(found, number, times, uses.get(number, Use()), awake.get(number)),
                wanted=number in wanted,
            )
            for number in found.machines
        ]
        show_margins(times)
        _keep_margins(service, found, times)
        self._adopt(found, times)
        may_sleep = settings.may_sleep(now)
        planned = plan(candidates, _conditions(settings), now, may_sleep=may_sleep)
        for number in planned.wake:
            if wake(service, found.hosts[number]):
                log.info("%s wakes up.", found.hosts[number].resource.label)
        for number in planned.sleep:
            machine_class = settings.named(found.machines[number].power_class)
            if machine_class is not None and not self._looks.is_used(found.hosts[number], now):
                takes = times[machine_class.name] + machine_class.shut_down + UNNOTICED + settings.every
                if put_to_sleep(service, found.hosts[number], machine_class.name, takes, settings.least_off):
                    log.info("%s is to sleep.", found.hosts[number].resource.label)

    def _adopt(self, found: Known, times: Mapping[str, timedelta]) -> None:
        """Wake those that are closed because they sleep, although the database, which went back, does not know that."""
        for number, machine in found.machines.items():
            host = found.hosts[number]
            machine_class = self._settings.named(machine.power_class)
            if machine_class is None or machine.failure or number in found.sleeps:
                continue
            if not _may_be_closed(host.resource, machine_class, self.service.now()):
                continue
            try:
                closed = host.driver.is_closed(self.service.cloud, host.resource.attributes)
            except CloudError as error:
                log.warning("Whether %s sleeps is not known: %s", host.resource.label, error)
            else:
                takes = times[machine_class.name]
                if closed and adopt(self.service, host, machine_class.name, takes):
                    log.warning("%s is asleep, and the database did not know it: it wakes up.", host.resource.label)

    def _candidate(
        self, found: Known, number: int, times: Mapping[str, timedelta], use: Use, on_since: datetime | None
    ) -> Candidate:
        machine, host, sleep = found.machines[number], found.hosts[number], found.sleeps.get(number)
        settings, each = self._settings, host.resource
        takes, switchable = times.get(machine.power_class, timedelta(0)), machine.power_class in times
        kept = machine.kept_on or machine.failure is not None or not switchable
        kept = kept or (settings.keep_on is not None and matches(settings.keep_on, each.values.get))
        seen = (use.idle_since, each.created_at, self._looks.used_at.get(number))
        used = use.used or self._looks.in_use.get(number, not (host.type_.kind.leased or sleep))
        return Candidate(
            number=number,
            stage=Stage.ON if sleep is None else sleep.stage,
            takes=takes if sleep is None else max(sleep.takes, takes),
            group=(each.pool, *(str(each.values.get(name, "")) for name in settings.spares_by)),
            able=host.able and not kept,
            next_start=use.next_start,
            idle_since=None if used else max((moment for moment in seen if moment is not None), default=None),
            on_since=on_since,
            trouble=sleep is not None
            and sleep.stage is Stage.WAKING
            and (sleep.cycled_at is not None or not switchable),
            switchable=switchable,
        )


def _may_be_closed(host: Resource, machine_class: MachineClass, now: datetime) -> bool:
    """Say whether a host that does not sleep may be closed by us; if it is up, its machine may just shut down."""
    if host.health is Health.DISABLED:
        return host.updated_at is not None and now - host.updated_at >= machine_class.shut_down + QUIET_WITHIN
    return host.health in (Health.DOWN, Health.FAILED)


def mind_sleepers(service: Service) -> int:
    """Do a round if hosts sleep where no class of machines is configured, and return how many there are."""
    with service.db.reading() as connection:
        sleepers = open_sleeps(connection)
    if sleepers:
        Rounds(service).run()
    return len(sleepers)


def _keep_margins(service: Service, found: Known, times: Mapping[str, timedelta]) -> None:
    """Let those that are off promise what their class takes now, if that has become longer, or cleaning shorter."""
    for number, sleep in found.sleeps.items():
        host, takes = found.hosts.get(number), max(sleep.takes, times.get(sleep.power_class, sleep.takes))
        said = None if host is None else host.resource.readiness
        if host is None or said is None or sleep.stage is not Stage.ASLEEP:
            continue
        if sleep.takes < takes or said.takes < readiness_of(service, host, takes).takes:
            expect(service, host, sleep, takes)


def _conditions(settings: PowerSettings) -> Conditions:
    return Conditions(
        settings.idle, settings.least_on, settings.least_off, settings.spares, settings.at_once, settings.every
    )


def _attempt(step: Step) -> None:
    """Do what a sleep needs next; what fails is done again in the next round."""
    try:
        step.go_on()
    except StillClosingError as error:
        log.info("%s does not go on yet (%s): %s", step.label, step.sleep.stage, error)
    except (CloudError, PowerError) as error:
        log.warning("%s does not go on yet (%s): %s", step.label, step.sleep.stage, error)
    except Exception:
        log.exception("A bug: %s does not go on (%s)", step.label, step.sleep.stage)
