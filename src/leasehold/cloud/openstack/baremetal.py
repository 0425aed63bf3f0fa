"""Ironic: the machines that it manages, and their power."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from leasehold.cloud.openstack.connections import connect_apart
from leasehold.cloud.openstack.rest import ServiceClient
from leasehold.conf.keystone import BAREMETAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from oslo_config import cfg

VERSION = "1.27"
"""Since then machines are asked to shut down, within a time that the caller says."""
ON, OFF, SOFT_OFF = "power on", "power off", "soft power off"
_POWER = ("power_state", "target_power_state", "maintenance", "maintenance_reason", "reservation")
_ADDRESSES = ("uuid", "name", "driver_info")


@dataclass(frozen=True, slots=True)
class NodePower:
    """The power of a machine: `state` is what Ironic has seen last, `target` what it is changing to.

    `reservation` names the conductor that works on it. One in maintenance, with the reason for that, is let be.
    """

    state: str | None
    target: str | None
    reservation: str | None
    maintenance: str | None


class Nodes:
    """The machines of one Ironic; raises CloudError as the ports do, and CloudConflictError while one is locked."""

    def __init__(self, conf: cfg.ConfigOpts, section: str) -> None:
        """Prepare to call the Ironic of a section; raises ConfigurationError."""
        self._ironic = ServiceClient(connect_apart(conf, section, BAREMETAL), section)

    def power(self, node: str) -> NodePower | None:
        """Return the power of a machine, named by its name or UUID; None if Ironic has none of that name."""
        call = "nodes.power"
        found = self._ironic.get(
            call, self._path(call, node), VERSION, {"fields": ",".join(_POWER)}, none_on=(HTTPStatus.NOT_FOUND,)
        )
        if found is None:
            return None
        state, target, maintenance, why, reservation = (found[name] for name in _POWER)
        return NodePower(state, target, reservation, (why or "nobody said why") if maintenance else None)

    def change_power(self, node: str, target: str, seconds: int | None = None) -> None:
        """Let Ironic change the power of a machine, and give up after so many seconds; it does that later."""
        call = "nodes.change_power"
        body: dict[str, Any] = {"target": target, **({} if seconds is None else {"timeout": seconds})}
        self._ironic.call(call, "PUT", f"{self._path(call, node)}/states/power", VERSION, json=body)

    def driver_infos(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the name and the driver's options of each machine that the account may see; passwords are masked."""
        call = "nodes.driver_infos"
        query = {"fields": ",".join(_ADDRESSES)}
        for row in self._ironic.pages(call, self._path(call), "nodes", VERSION, query, ident="uuid"):
            yield row["name"] or row["uuid"], row["driver_info"]

    def _path(self, call: str, node: str | None = None) -> str:
        """Return a path below the endpoint, which may name the version of the API."""
        root = "" if self._ironic.root(call).rstrip("/").endswith("/v1") else "/v1"
        return f"{root}/nodes" if node is None else f"{root}/nodes/{quote(node, safe='')}"
