"""Hosts that can be leased."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import Collection

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Host(AnswerModel):
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
        sizes = {key: values[key] or 0 for key in ("vcpus", "memory_mb", "local_gb")}
        return read_as(cls, values, id=str(values["id"]), name=values["hypervisor_hostname"] or "", **sizes)


class Hosts(Collection[Host]):
    """The enrolled hosts; by default only administrators see and change them."""

    PATH, ONE, MANY, NOUN = "/os-hosts", "host", "hosts", "host"
    THING = Host

    def create(self, name: str, properties: Mapping[str, Any]) -> Host:
        """Enrol a hypervisor by its name, with these properties, or other keys that the API lets set."""
        return self._create({**properties, "name": name})

    def change(self, ident: str, values: Mapping[str, Any]) -> Host:
        """Set properties, or other keys that the API lets change; None removes a property."""
        return self._change(ident, values)

    def _is_id(self, name: str) -> bool:
        return name.isdigit()
