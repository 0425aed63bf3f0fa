"""How the machines of hosts are switched: what an administrator says of each, and where each is now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.conf.errors import ConfigurationError
from leasehold.db.resources.resource import find_resource
from leasehold.db.resources.use import Use, use_of
from leasehold.features.power.managed import Managed, taken
from leasehold.features.power.model import Machine, Sleep, Stage
from leasehold.features.power.options import PowerSettings
from leasehold.features.power.port import PowerError
from leasehold.features.power.rounds import known, margins, resting
from leasehold.features.power.store import find_machine, forget_machine, open_sleeps, put_machine
from leasehold.features.power.use import Host, adopt, wake
from leasehold.leasing.locks import lock
from leasehold.model.errors import CloudUnavailableError, ConflictError, InUseError, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from sqlalchemy import Connection

    from leasehold.features.power.options import MachineClass
    from leasehold.leasing.service import Service
    from leasehold.model.resource import Resource


@dataclass(frozen=True, slots=True)
class MachineNow:
    """A machine, the resource on it, and where it is: `ready_at` is when it can be used at the soonest.

    `failure` is why it is not switched, None if it is.
    """

    machine: Machine
    resource: Resource
    sleep: Sleep | None
    next_start: datetime | None
    ready_at: datetime | None
    failure: str | None

    @property
    def stage(self) -> Stage:
        """Where it is between on and off."""
        return Stage.ON if self.sleep is None else self.sleep.stage

    @property
    def since(self) -> datetime | None:
        """When that stage began; None for one that never slept, or is on."""
        each = self.sleep
        if each is None:
            return None
        began = {
            Stage.CLOSING: each.decided_at,
            Stage.STOPPING: each.stopped_at,
            Stage.ASLEEP: each.off_at,
            Stage.WAKING: each.woken_at,
            Stage.FAILED: each.cycled_at,
        }
        return began.get(each.stage)


def list_machines(service: Service, number: int | None = None) -> Sequence[MachineNow]:
    """Return the machines of enrolled hosts, in the order of these; with `number` that of one alone."""
    now, settings = service.now(), service.settings.of(PowerSettings)
    with service.db.reading() as connection:
        found = known(service, connection)
        numbers = [each for each in found.machines if number in (None, each)]
        uses = use_of(connection, numbers, now)
    return [
        MachineNow(
            found.machines[each],
            resource := found.hosts[each].resource,
            sleep := found.sleeps.get(each),
            uses.get(each, Use()).next_start,
            None if resource.readiness is None or sleep is None else sleep.ready_again(now),
            found.machines[each].failure or settings.missing(found.machines[each].power_class),
        )
        for each in numbers
    ]


def get_machine(service: Service, ident: str) -> MachineNow:
    """Return the machine of the host with this id; raises NotFoundError where the host, or its machine, is unknown."""
    found = list_machines(service, _host(service, ident).number)
    if not found:
        raise NotFoundError("host_id", ident)
    return found[0]


def set_machine(service: Service, ident: str, power_class: str, address: str, *, kept_on: bool) -> MachineNow:
    """Say how the machine of a host is switched; what it failed with is forgotten, because a person says that it works.

    Raises NotFoundError, InvalidInputError for a class that is not configured, ConflictError for the address of another
    machine of the class or of one that another program manages, CloudUnavailableError if such a program does not tell
    what it manages, and InUseError while it sleeps and is to be switched by something else, unless it has failed.
    """
    settings = service.settings.of(PowerSettings)
    machine_class = settings.named(power_class)
    if machine_class is None:
        classes = [each.name for each in settings.classes]
        known_ones = f"it has to be {' or '.join(map(repr, classes))}" if classes else "no class is configured"
        raise InvalidInputError(f"There is no class of machines {power_class!r}; {known_ones}.", field="power_class")
    host = _host(service, ident)
    _refuse_managed(service, machine_class, address)
    new = Machine(host.number, power_class, address, kept_on)

    def work(connection: Connection) -> None:
        # All of them: no two hosts get one address, of whatever type they are.
        lock(connection, {type_.kind.pool for type_, _ in resting(service).values()}, service.now)
        before = find_machine(connection, host.number)
        moved = before is not None and (before.power_class, before.address) != (power_class, address)
        sleep = open_sleeps(connection, host.number).get(host.number)
        if moved and sleep is not None and sleep.stage is not Stage.FAILED:
            raise InUseError(f"The machine of {host.resource.label} is not on; wake it first.", field="address")
        others = known(service, connection)
        for number, each in others.machines.items():
            if number != host.number and (each.power_class, each.address) == (power_class, address):
                message = f"{others.hosts[number].resource.label} is switched by this address already; send another."
                raise ConflictError(message, field="address")
        put_machine(connection, new)

    service.db.transact(work)
    return get_machine(service, ident)


def _refuse_managed(service: Service, machine_class: MachineClass, address: str) -> None:
    """Raise ConflictError for the address of a machine that another program manages."""
    try:
        managed = Managed(service.settings.of(PowerSettings).classes, service.cloud)
        manager = managed.manager_of(machine_class, address)
    except ConfigurationError as error:
        raise InvalidInputError(str(error), field="power_class") from error
    except PowerError as error:
        message = f"Whether another program manages the machine is not known now; try again. {error}"
        raise CloudUnavailableError(message) from error
    if manager is not None:
        raise ConflictError(taken(address, manager), field="address")


def unset_machine(service: Service, ident: str) -> None:
    """Forget how the machine of a host is switched; raises NotFoundError, and InUseError while it is not on."""
    host = _host(service, ident)

    def work(connection: Connection) -> None:
        lock(connection, {host.type_.kind.pool}, service.now)
        if find_machine(connection, host.number) is None:
            raise NotFoundError("host_id", ident)
        if open_sleeps(connection, host.number):
            raise InUseError(f"The machine of {host.resource.label} is not on; wake it first.")
        forget_machine(connection, host.number)

    service.db.transact(work)


def wake_machine(service: Service, ident: str) -> MachineNow:
    """Wake a host now, or try again to switch on one that has failed, and return its machine."""
    host, found = _host(service, ident), get_machine(service, ident)
    takes = wake_times(service).get(found.machine.power_class)
    if not wake(service, host) and found.stage is Stage.FAILED and takes is not None:
        adopt(service, host, found.machine.power_class, takes)
    return get_machine(service, ident)


def wake_times(service: Service) -> dict[str, timedelta]:
    """Return how long the machines of each class take to wake up at most, as far as that is known."""
    with service.db.reading() as connection:
        return margins(connection, service.settings.of(PowerSettings))


def _host(service: Service, ident: str) -> Host:
    """Return the host with this id, of whichever type can rest; raises NotFoundError."""
    with service.db.reading() as connection:
        for name, parts in resting(service).items():
            found = find_resource(connection, name, ident)
            if found is not None:
                return Host(found, *parts)
    raise NotFoundError("host_id", ident)
