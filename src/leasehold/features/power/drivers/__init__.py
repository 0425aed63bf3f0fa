"""What switches machines: each a class of the entry points `leasehold.power_drivers`, made with a class of machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from stevedore import DriverManager
from stevedore.exception import NoMatches

from leasehold.conf.errors import unusable
from leasehold.features.power.port import PowerError

if TYPE_CHECKING:
    from leasehold.cloud.ports import Cloud
    from leasehold.features.power.options import MachineClass
    from leasehold.features.power.port import Power

NAMESPACE = "leasehold.power_drivers"


def load_power(machine_class: MachineClass, cloud: Cloud) -> Power:
    """Return what switches the machines of a class, without a call yet; raises ConfigurationError."""
    group = f"[power:{machine_class.name}]"
    try:
        made: Power = DriverManager(NAMESPACE, machine_class.driver).driver(machine_class, cloud)
    except NoMatches as error:
        message = f"{group} driver: no installed package has a driver {machine_class.driver!r}: {error}"
        raise unusable(message) from error
    return made


class NoPower:
    """Implements `Power` for machines that nothing switches: every verb raises PowerError, and says why."""

    def __init__(self, why: str) -> None:
        self._why = why

    def _refuse(self, _address: str) -> NoReturn:
        raise PowerError(self._why)

    is_on = switch_on = shut_down = switch_off = watts = _refuse
