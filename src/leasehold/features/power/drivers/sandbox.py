"""Switches the machines under the sandbox's hosts; the address is the name of the service host."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox.cloud import SandboxCloud
from leasehold.conf.errors import unusable
from leasehold.features.power.port import PowerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.cloud.ports import Cloud
    from leasehold.features.power.options import MachineClass


class SandboxPower:
    """Implements `Power`."""

    def __init__(self, machine_class: MachineClass, cloud: Cloud) -> None:
        if not isinstance(cloud, SandboxCloud):
            message = f"[power:{machine_class.name}] driver: only the sandbox has such machines; name another driver."
            raise unusable(message)
        self._machines = cloud.machines

    def is_on(self, address: str) -> bool:
        """Return whether the machine has power."""
        with _as_power_error():
            return self._machines.is_on(address)

    def switch_on(self, address: str) -> None:
        """Switch the machine on."""
        with _as_power_error():
            self._machines.switch_on(address)

    def shut_down(self, address: str) -> None:
        """Let the machine shut down, as long as was set."""
        with _as_power_error():
            self._machines.shut_down(address)

    def switch_off(self, address: str) -> None:
        """Take the power from the machine."""
        with _as_power_error():
            self._machines.switch_off(address)

    def watts(self, address: str) -> None:
        """Return nothing: these machines do not tell."""


@contextmanager
def _as_power_error() -> Iterator[None]:
    try:
        yield
    except CloudError as error:
        raise PowerError(str(error)) from error
