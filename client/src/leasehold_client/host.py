"""Hosts that can be leased."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.named import one_named
from leasehold_client.part import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold_client.part import Part
    from leasehold_client.transport import Transport


@dataclass(frozen=True, slots=True)
class Host:
    """An enrolled host; `values` is all that the service says about it, its properties included."""

    id: str
    name: str
    vcpus: int
    memory_mb: int
    local_gb: int
    reservable: bool
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Host:
        """Return the host of an answer."""
        return cls(
            id=str(values["id"]),
            name=values["hypervisor_hostname"] or "",
            vcpus=values["vcpus"] or 0,
            memory_mb=values["memory_mb"] or 0,
            local_gb=values["local_gb"] or 0,
            reservable=values["reservable"],
            values=values,
        )


class Hosts:
    """The enrolled hosts; by default only administrators see and change them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, part: Part = ALL) -> list[Host]:
        return [Host.read(each) for each in self._transport.get("/os-hosts", part.query())["hosts"]]

    def get(self, ident: str) -> Host:
        return Host.read(self._transport.get(f"/os-hosts/{ident}")["host"])

    def find(self, name: str) -> Host:
        """Return the host with this id or hostname; raises NotFoundError."""
        if name.isdigit():
            return self.get(name)
        hosts = {each.id: each for each in self.list()}
        return hosts[one_named("host", name, ((each.id, each.name) for each in hosts.values()))]

    def create(self, name: str, properties: Mapping[str, Any]) -> Host:
        """Enrol a hypervisor by its name, with these properties, or other keys that the API lets set."""
        return Host.read(self._transport.post("/os-hosts", {**properties, "name": name})["host"])

    def change(self, ident: str, values: Mapping[str, Any]) -> Host:
        """Set properties, or other keys that the API lets change; None removes a property."""
        return Host.read(self._transport.put(f"/os-hosts/{ident}", values)["host"])

    def delete(self, ident: str) -> None:
        self._transport.delete(f"/os-hosts/{ident}")
