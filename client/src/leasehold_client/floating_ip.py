"""Floating IPs that can be leased."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import Collection
from leasehold_client.calls.wire import said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True, slots=True)
class FloatingIp(AnswerModel):
    """An enrolled address; `values` is all that the service says about it."""

    id: str
    address: str
    network_id: str
    values: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The address, by which a person may name it."""
        return self.address

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> FloatingIp:
        where = {"address": values["floating_ip_address"], "network_id": values["floating_network_id"]}
        return read_as(cls, values, **where)


class FloatingIps(Collection[FloatingIp]):
    """The enrolled addresses."""

    PATH, ONE, MANY, NOUN = "/floatingips", "floatingip", "floatingips", "floating IP"
    THING = FloatingIp

    def create(
        self, network_id: str, address: str, projects: Sequence[str] = (), owner: str | None = None
    ) -> FloatingIp:
        """Enrol an address of an external network; `projects` and its `owner` alone may use it, or all if none are."""
        body = {"floating_network_id": network_id, "floating_ip_address": address}
        return self._create(body | said(projects=list(projects), owner=owner))
