"""Switches machines by a program of the operator's: `command... WORD ADDRESS`, as Slurm calls its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold.conf.errors import unusable
from leasehold.features.power.drivers.program import LONGEST, run
from leasehold.features.power.port import PowerError

if TYPE_CHECKING:
    from leasehold.cloud.ports import Cloud
    from leasehold.features.power.options import MachineClass


class HookPower:
    """Implements `Power`. A program that fails says why on its standard error, which must hold no secrets."""

    def __init__(self, machine_class: MachineClass, _cloud: Cloud) -> None:
        if not machine_class.command:
            raise unusable(f"[power:{machine_class.name}] command: name the program that switches the machines.")
        self._command = machine_class.command
        self._seconds = machine_class.timeout.total_seconds()

    def is_on(self, address: str) -> bool:
        """Return what `status` prints: `on` or `off`."""
        said = self._run("status", address).strip().lower()
        if said not in ("on", "off"):
            raise PowerError(f"The program said {said[:LONGEST]!r} of {address}; status has to print on or off.")
        return said == "on"

    def switch_on(self, address: str) -> None:
        """Run `on`."""
        self._run("on", address)

    def shut_down(self, address: str) -> None:
        """Run `shutdown`."""
        self._run("shutdown", address)

    def switch_off(self, address: str) -> None:
        """Run `off`."""
        self._run("off", address)

    def watts(self, address: str) -> float | None:
        """Return the number that `watts` prints; None where it prints nothing."""
        said = self._run("watts", address).strip()
        try:
            return float(said) if said else None
        except ValueError:
            message = f"The program said {said[:LONGEST]!r} of {address}; watts has to print a number, or nothing."
            raise PowerError(message) from None

    def _run(self, word: str, address: str) -> str:
        return run([*self._command, word, address], f"{word} {address}", self._seconds)
