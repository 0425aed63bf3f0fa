"""The port: what switches a machine, whatever it is called by. One object switches all machines of a class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.cloud.ports import Cloud
    from leasehold.features.power.options import MachineClass

    MakePower = Callable[[MachineClass, Cloud], "Power"]
    """Returns what switches the machines of a class, without a call yet; raises ConfigurationError."""


class PowerError(Exception):
    """A machine could not be switched or asked; the message is a sentence that names no credentials."""


class Power(Protocol):
    """Switches machines, each named by its address. Every verb may be repeated, and may raise PowerError."""

    def is_on(self, address: str) -> bool:
        """Return whether a machine has power; one that is shutting down has it until it is off."""

    def switch_on(self, address: str) -> None:
        """Switch a machine on; nothing for one that is on."""

    def shut_down(self, address: str) -> None:
        """Ask the system of a machine to shut it down, which may take minutes, or never happen."""

    def switch_off(self, address: str) -> None:
        """Take the power from a machine at once."""

    def watts(self, address: str) -> float | None:
        """Return what a machine consumes now; None where it does not tell."""
