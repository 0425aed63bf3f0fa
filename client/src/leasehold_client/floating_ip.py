"""Floating IPs that can be leased."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.collection import said
from leasehold_client.part import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold_client.part import Part
    from leasehold_client.transport import Transport


@dataclass(frozen=True, slots=True)
class FloatingIp:
    """An enrolled address; `values` is all that the service says about it."""

    id: str
    address: str
    network_id: str
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> FloatingIp:
        """Return the address of an answer."""
        return cls(values["id"], values["floating_ip_address"], values["floating_network_id"], values)


class FloatingIps:
    """The enrolled addresses."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, part: Part = ALL) -> list[FloatingIp]:
        return [FloatingIp.read(each) for each in self._transport.get("/floatingips", part.query())["floatingips"]]

    def get(self, ident: str) -> FloatingIp:
        return FloatingIp.read(self._transport.get(f"/floatingips/{ident}")["floatingip"])

    def create(
        self, network_id: str, address: str, projects: Sequence[str] = (), owner: str | None = None
    ) -> FloatingIp:
        """Enrol an address of an external network; `projects` and its `owner` alone may use it, or all if none are."""
        body = {"floating_network_id": network_id, "floating_ip_address": address}
        body |= said(projects=list(projects), owner=owner)
        return FloatingIp.read(self._transport.post("/floatingips", body)["floatingip"])

    def delete(self, ident: str) -> None:
        self._transport.delete(f"/floatingips/{ident}")
