"""What other programs manage, such as Ironic: their machines are switched by them alone, or two undo each other's work.

A driver that switches by such a program is named in the entry points `leasehold.power_managers` as well, and implements
`Managing`: it tells which management controllers are taken.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from ipaddress import ip_address
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from stevedore import ExtensionManager

from leasehold.features.power.port import Power, PowerError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.cloud.ports import Cloud
    from leasehold.features.power.options import MachineClass

log = logging.getLogger(__name__)

NAMESPACE = "leasehold.power_managers"
REDFISH, IPMI = "redfish", "ipmi"
FRESH: Final = 60.0
"""For so many seconds what was told last holds, also that a program did not answer."""
_PORTS: Final = {"https": 443, "http": 80}
_IPMI_PORT: Final = "623"
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:/\[\]]+))(?::([0-9]{1,5}))?")


@dataclass(frozen=True, slots=True)
class Controller:
    """A management controller: its host, the protocol that is spoken to it, and where on the host; "" for any."""

    host: str
    protocol: str = ""
    place: str = ""

    def may_be(self, other: Controller) -> bool:
        """Say whether two may be the same: one that speaks several protocols has a place for each."""
        apart = self.protocol == other.protocol and self.place and other.place and self.place != other.place
        return self.host == other.host and not apart


def controller_of(address: str) -> Controller | None:
    """Return the controller at the URL of a Redfish system, or at a host and a port of IPMI; else None."""
    if "://" in address:
        try:
            parts = urlsplit(address)
            port = parts.port or _PORTS.get(parts.scheme)
        except ValueError:
            return None
        path = parts.path.rstrip("/")
        return None if parts.hostname is None else Controller(plain(parts.hostname), REDFISH, path and f"{port}{path}")
    found = _HOST.fullmatch(address)
    return None if found is None else Controller(plain(found[1] or found[2]), IPMI, found[3] or _IPMI_PORT)


def plain(host: str) -> str:
    """Return a host in the one way in which it is compared."""
    try:
        return str(ip_address(host))
    except ValueError:
        return host.lower().rstrip(".")


class Managing(Protocol):
    """What switches machines by a program that manages them."""

    def managed(self) -> Mapping[Controller, str]:
        """Return the controllers of all its machines, each with what people call it; raises PowerError."""


class Managed:
    """The machines of all programs that classes are switched by; threads may share it."""

    def __init__(self, classes: Sequence[MachineClass], cloud: Cloud, clock: Callable[[], float] = monotonic) -> None:
        """Make what asks these programs, without a call yet; raises ConfigurationError."""
        drivers: ExtensionManager[Any] = ExtensionManager(NAMESPACE)
        makers = {each.name: each.plugin for each in drivers}
        self._managers: dict[str, Managing] = {
            each.name: makers[each.driver](each, cloud) for each in classes if each.driver in makers
        }
        self._clock, self._guard = clock, Lock()
        self._told: Mapping[Controller, str] = {}
        self._trouble: str | None = None
        self._until = clock()

    def manager_of(self, machine_class: MachineClass, address: str, *, known: bool = False) -> str | None:
        """Return what else manages the machine of a class, or None; if `known`, what was told last holds.

        Raises PowerError if a program does not tell what it manages.
        """
        here = controller_of(address)
        if here is None or self._free(machine_class):
            return None
        return next((name for there, name in self._all(known=known).items() if here.may_be(there)), None)

    def guarding(self, machine_class: MachineClass, power: Power) -> Power:
        """Return what switches the machines of a class, unless another program manages them."""
        return power if self._free(machine_class) else _Guarded(power, machine_class, self)

    def _free(self, machine_class: MachineClass) -> bool:
        """Say whether nobody else can manage the machines of a class: its driver is told by what does."""
        return not self._managers or machine_class.name in self._managers

    def _all(self, *, known: bool) -> Mapping[Controller, str]:
        """Return all controllers; a program that does not answer is asked again after a while, for all threads once."""
        with self._guard:
            if self._clock() >= self._until:
                self._ask()
                self._until = self._clock() + FRESH
            if self._trouble is not None and not known:
                raise PowerError(self._trouble)
            return self._told

    def _ask(self) -> None:
        try:
            self._told = {
                controller: f"{name} (class {machine_class})"
                for machine_class, manager in self._managers.items()
                for controller, name in manager.managed().items()
            }
        except PowerError as error:
            self._trouble = str(error)
            log.warning("Which machines other programs manage is not known now: %s", error)
        else:
            self._trouble = None


@dataclass(frozen=True, slots=True)
class _Guarded:
    """Implements `Power`.

    A machine that another program manages is neither asked nor switched, so whoever waits for it learns why. While
    the program does not answer, none is switched off; one that sleeps is switched on, because it was not managed when
    it was switched off, and a lease may need it.
    """

    power: Power
    machine_class: MachineClass
    managed: Managed

    def is_on(self, address: str) -> bool:
        self._check(address, known=True)
        return self.power.is_on(address)

    def switch_on(self, address: str) -> None:
        self._check(address, known=True)
        self.power.switch_on(address)

    def shut_down(self, address: str) -> None:
        self._check(address)
        self.power.shut_down(address)

    def switch_off(self, address: str) -> None:
        self._check(address)
        self.power.switch_off(address)

    def watts(self, address: str) -> float | None:
        return self.power.watts(address)

    def _check(self, address: str, *, known: bool = False) -> None:
        manager = self.managed.manager_of(self.machine_class, address, known=known)
        if manager is not None:
            raise PowerError(taken(address, manager))


def taken(address: str, manager: str) -> str:
    """Return the sentence about a machine that something else manages."""
    return (
        f"{address} is the machine of {manager}, which alone may switch it: set that class and that node for the host."
    )
