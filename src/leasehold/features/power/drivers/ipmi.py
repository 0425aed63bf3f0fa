"""Switches machines by IPMI 2.0 over the network, with ipmitool; the address is a name or an IP address, and a port.

Such as `10.1.0.7`, or `10.1.0.7:9623`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from leasehold.features.power.drivers.program import LONGEST, run
from leasehold.features.power.port import PowerError

if TYPE_CHECKING:
    from leasehold.cloud.ports import Cloud
    from leasehold.features.power.options import MachineClass

PORT = "623"
_ADDRESS = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:\[\]]+))(?::([0-9]{1,5}))?")
_STATE = re.compile(r"Chassis Power is (on|off)")
_WATTS = re.compile(r"Instantaneous power reading:\s*([0-9]+) Watts")


class IpmiPower:
    """Implements `Power`; ipmitool gets the password by its environment, which other users do not see."""

    def __init__(self, machine_class: MachineClass, _cloud: Cloud) -> None:
        self._user, self._password = machine_class.username, machine_class.password
        self._suite = ("-C", machine_class.cipher_suite) if machine_class.cipher_suite else ()
        self._seconds = machine_class.timeout.total_seconds()

    def is_on(self, address: str) -> bool:
        """Return what `chassis power status` says."""
        said = self._run(address, "chassis", "power", "status")
        found = _STATE.search(said)
        if found is None:
            raise PowerError(f"ipmi {address}: ipmitool said {said.strip()[:LONGEST]!r}, which is no power state.")
        return found[1] == "on"

    def switch_on(self, address: str) -> None:
        """Run `chassis power on`, which does nothing to a machine that is on."""
        self._run(address, "chassis", "power", "on")

    def shut_down(self, address: str) -> None:
        """Run `chassis power soft`, which asks the system to shut down, unless it is off: some controllers mind."""
        if self.is_on(address):
            self._run(address, "chassis", "power", "soft")

    def switch_off(self, address: str) -> None:
        """Run `chassis power off`, unless it is off."""
        if self.is_on(address):
            self._run(address, "chassis", "power", "off")

    def watts(self, address: str) -> float | None:
        """Return what DCMI says; None where the controller does not know it."""
        try:
            found = _WATTS.search(self._run(address, "dcmi", "power", "reading"))
        except PowerError:
            # A controller without DCMI refuses the command.
            return None
        return None if found is None else float(found[1])

    def _run(self, address: str, *words: str) -> str:
        found = _ADDRESS.fullmatch(address)
        if found is None:
            raise PowerError(f"ipmi: {address!r} is no address like 10.1.0.7, or 10.1.0.7:{PORT}.")
        at = ("-H", found[1] or found[2], "-p", found[3] or PORT)
        command = ("ipmitool", "-I", "lanplus", *self._suite, *at, "-U", self._user, "-E", *words)
        return run(command, f"ipmi {address}: {' '.join(words)}", self._seconds, {"IPMI_PASSWORD": self._password})
