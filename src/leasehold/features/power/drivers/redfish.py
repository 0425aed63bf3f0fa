"""Switches machines by the Redfish service of their management controllers; the address is the URL of the system.

Such as `https://10.1.0.7/redfish/v1/Systems/1`. Sushy does the talking.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import sushy
from requests import RequestException
from sushy.auth import BasicAuth

from leasehold.features.power.port import PowerError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.cloud.ports import Cloud
    from leasehold.features.power.options import MachineClass

_NONSENSE = (TypeError, ValueError, LookupError, AttributeError)
"""What Sushy raises for an answer that is no Redfish."""
_VERIFY: Final = {"true": True, "false": False}
# It logs bodies of requests, and a session's token is in one.
logging.getLogger("sushy").setLevel(logging.WARNING)


class RedfishPower:
    """Implements `Power`; each management controller is greeted once, and again after an error."""

    def __init__(self, machine_class: MachineClass, _cloud: Cloud) -> None:
        self._class = machine_class
        self._known: dict[str, Any] = {}
        self._guard = Lock()

    def is_on(self, address: str) -> bool:
        """Return the power state; one that powers on or off counts as on until it is off."""
        with self._system(address) as system:
            return bool(system.power_state != sushy.PowerState.OFF)

    def switch_on(self, address: str) -> None:
        """Reset with `On`, unless it is on."""
        with self._system(address) as system:
            if system.power_state in (sushy.PowerState.OFF, sushy.PowerState.POWERING_OFF):
                system.reset_system(sushy.ResetType.ON)

    def shut_down(self, address: str) -> None:
        """Reset with `GracefulShutdown`; a machine that cannot do that is switched off."""
        with self._system(address) as system:
            if system.power_state != sushy.PowerState.OFF:
                able = system.get_allowed_reset_system_values()
                gentle = sushy.ResetType.GRACEFUL_SHUTDOWN
                system.reset_system(gentle if gentle in able else sushy.ResetType.FORCE_OFF)

    def switch_off(self, address: str) -> None:
        """Reset with `ForceOff`, unless it is off."""
        with self._system(address) as system:
            if system.power_state != sushy.PowerState.OFF:
                system.reset_system(sushy.ResetType.FORCE_OFF)

    def watts(self, address: str) -> float | None:
        """Return what the first power control of the system's chassis says; None where there is none."""
        with self._system(address) as system:
            for chassis in system.chassis:
                controls = chassis.power.json.get("PowerControl") if "Power" in chassis.json else None
                watts = controls[0].get("PowerConsumedWatts") if controls else None
                if watts is not None:
                    return float(watts)
        return None

    @contextmanager
    def _system(self, address: str) -> Iterator[Any]:
        """Yield the system as it is now; what Sushy or the network raises is a PowerError without credentials."""
        try:
            yield self._fresh(address)
        except (sushy.exceptions.SushyError, RequestException, *_NONSENSE) as error:
            with self._guard:
                self._known.pop(address, None)
            raise PowerError(f"redfish {address}: {type(error).__name__}: {error}") from error

    def _fresh(self, address: str) -> Any:
        with self._guard:
            system = self._known.get(address)
        if system is None:
            system = self._greet(address)
            with self._guard:
                self._known[address] = system
        else:
            system.refresh(force=True)
        return system

    def _greet(self, address: str) -> Any:
        parts, given = urlsplit(address), self._class
        root = parts.path.partition("/Systems/")[0]
        verify = _VERIFY.get(given.verify.lower(), given.verify)
        auth = BasicAuth(given.username, given.password) if given.username else None
        base = f"{parts.scheme}://{parts.netloc}"
        service = sushy.Sushy(
            base,
            auth=auth,
            verify=verify,
            root_prefix=f"{root}/",
            read_timeout=given.timeout.total_seconds(),
            server_side_retries=0,
        )
        return service.get_system(parts.path)
