"""Switches machines by Ironic, which manages them; the address is the name or the UUID of the node.

Ironic switches later what it is told to, one change at a time, and shows meanwhile what it is changing to.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import tenacity

from leasehold.cloud.deadline import deadline, time_left
from leasehold.cloud.openstack.baremetal import OFF, ON, SOFT_OFF, Nodes
from leasehold.cloud.ports import CloudConflictError, CloudError, CloudPermanentError
from leasehold.features.power.managed import IPMI, REDFISH, Controller, controller_of
from leasehold.features.power.port import PowerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from leasehold.cloud.openstack.baremetal import NodePower
    from leasehold.cloud.ports import Cloud
    from leasehold.features.power.options import MachineClass

_PAUSE: Final = 1.0
"""Seconds between two tries while a node is locked."""
_ADDRESS: Final = "_address"
_NONSENSE = (TypeError, LookupError, AttributeError)
"""What an answer raises that is JSON, but not Ironic's."""


def _no_time(_state: tenacity.RetryCallState) -> bool:
    return (time_left() or 0.0) <= _PAUSE


_until_unlocked = tenacity.retry(
    retry=tenacity.retry_if_exception_type(CloudConflictError),
    stop=_no_time,
    wait=tenacity.wait_fixed(_PAUSE),
    reraise=True,
)


class IronicPower:
    """Implements `Power` and `Managing`."""

    def __init__(self, machine_class: MachineClass, _cloud: Cloud) -> None:
        self._nodes = Nodes(machine_class.conf, machine_class.section)
        self._seconds = machine_class.timeout.total_seconds()
        self._shut_down = max(1, int(machine_class.shut_down.total_seconds()))

    def is_on(self, address: str) -> bool:
        """Return the power state; a node that is being switched has its old one until that is done."""
        with self._bounded():
            state = self._power(address).state
        if state not in (ON, OFF):
            raise PowerError(f"Ironic does not know whether the node {address} is on.")
        return state == ON

    def switch_on(self, address: str) -> None:
        """Ask for `power on`."""
        with self._bounded():
            self._change(address, ON, ON)

    def shut_down(self, address: str) -> None:
        """Ask for `soft power off`, within our own time for that; for `power off` where the node cannot do that."""
        with self._bounded():
            try:
                self._change(address, OFF, SOFT_OFF, self._shut_down)
            except CloudPermanentError:
                self._change(address, OFF, OFF)

    def switch_off(self, address: str) -> None:
        """Ask for `power off`."""
        with self._bounded():
            self._change(address, OFF, OFF)

    def watts(self, address: str) -> None:
        """Return nothing: Ironic does not tell."""

    def managed(self) -> Mapping[Controller, str]:
        """Return the controllers of all nodes that the account sees."""
        with self._bounded():
            return {
                controller: f"Ironic's node {name}"
                for name, options in self._nodes.driver_infos()
                for controller in _controllers(options)
            }

    @_until_unlocked
    def _change(self, address: str, wanted: str, target: str, seconds: int | None = None) -> None:
        """Ask for a state, unless the node is in it, or on its way; while another change is made, wait for that."""
        present = self._power(address)
        under_way = present.target if present.reservation is not None else None
        if wanted != (under_way or present.state):
            self._nodes.change_power(address, target, seconds)

    def _power(self, address: str) -> NodePower:
        found = self._nodes.power(address)
        if found is None:
            raise PowerError(f"Ironic has no node {address}: say with `leasehold power set` which one it is.")
        if found.maintenance is not None:
            message = f"The node {address} is in maintenance ({found.maintenance}), so Ironic lets it be."
            raise PowerError(message)
        return found

    @contextmanager
    def _bounded(self) -> Iterator[None]:
        """Let all calls take as long as a command may; what they raise is a PowerError."""
        left = time_left()
        try:
            with deadline(self._seconds if left is None else min(left, self._seconds)):
                yield
        except CloudError as error:
            raise PowerError(str(error)) from error
        except _NONSENSE as error:
            raise PowerError(f"What answers as Ironic is none: {error!r}.") from error


def _controllers(options: Mapping[str, Any]) -> Iterator[Controller]:
    """Yield the controllers that the options of a node's driver name, such as `ipmi_address`."""
    for name, value in options.items():
        if not name.endswith(_ADDRESS) or not isinstance(value, str):
            continue
        url = (value if "://" in value else f"https://{value}").rstrip("/")
        vendor = name.removesuffix(_ADDRESS)
        if vendor == REDFISH:
            found = controller_of(f"{url}{options.get('redfish_system_id') or ''}")
        elif vendor == IPMI:
            host = f"[{value}]" if ":" in value else value
            found = controller_of(f"{host}:{options['ipmi_port']}" if options.get("ipmi_port") else host)
        else:
            # Nobody else speaks the protocol, but controllers that have one of their own speak the others as well.
            at = controller_of(url)
            found = None if at is None else Controller(at.host)
        if found is not None:
            yield found
