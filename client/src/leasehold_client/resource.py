"""Resources of any type, those of plugins among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as
from leasehold_client.calls.collection import Collection
from leasehold_client.calls.part import ALL
from leasehold_client.calls.transport import Calls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold_client.calls.part import ListPart
    from leasehold_client.calls.transport import Transport


@dataclass(frozen=True, slots=True)
class ResourceType(AnswerModel):
    """A type that can be leased; of an `enrolled` one, administrators say which resources there are."""

    name: str
    noun: str
    enrolled: bool

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> ResourceType:
        return read_as(cls, values, name=values["resource_type"])


@dataclass(frozen=True, slots=True)
class Resource(AnswerModel):
    """Something that can be leased; `capacity` is by resource class."""

    id: str
    name: str
    reservable: bool
    health: str
    pool: str
    capacity: Mapping[str, int]
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Candidate(AnswerModel):
    """Something that could be enrolled for a pool; `refused` says why it would be refused."""

    id: str
    name: str
    up: bool
    enabled: bool
    pool: str
    refused: str | None
    values: Mapping[str, Any]


class ResourcesOfType(Collection[Resource]):
    """The resources of one type."""

    ONE, MANY, NOUN = "resource", "resources", "resource"
    THING = Resource

    def __init__(self, transport: Transport, resource_type: str) -> None:
        super().__init__(transport)
        self.PATH = f"/resources/{resource_type}"

    def create(self, values: Mapping[str, Any], properties: Mapping[str, str]) -> Resource:
        """Enrol a resource; `values` are what its type needs to find it."""
        return self._create({**values, "properties": dict(properties)})

    def change(self, ident: str, values: Mapping[str, Any]) -> Resource:
        """Set `properties`, None for those to remove, or other keys that the API lets change."""
        return self._change(ident, values)

    def _is_id(self, name: str) -> bool:
        return name.isdigit() or super()._is_id(name)


class Resources(Calls):
    """The resources of every type; by default only administrators see and change them."""

    def of(self, resource_type: str) -> ResourcesOfType:
        """Return the resources of one type."""
        return ResourcesOfType(self._transport, resource_type)

    def types(self) -> list[ResourceType]:
        """Return the resource types that are switched on."""
        return [ResourceType.read(each) for each in self._transport.get("/resources")["resource_types"]]

    def candidates(self, resource_type: str) -> list[Candidate]:
        """Return what the cloud has and could be enrolled."""
        answer = self._transport.get(f"/resources/{resource_type}/candidates")
        return [Candidate.read(each) for each in answer["candidates"]]

    def list(self, resource_type: str, part: ListPart = ALL) -> list[Resource]:
        return self.of(resource_type).list(part)

    def get(self, resource_type: str, ident: str) -> Resource:
        return self.of(resource_type).get(ident)

    def find(self, resource_type: str, name: str) -> Resource:
        """Return the resource with this id, or the only one with this name; raises NotFoundError."""
        return self.of(resource_type).find(name)

    def create(self, resource_type: str, values: Mapping[str, Any], properties: Mapping[str, str]) -> Resource:
        """Enrol a resource; `values` are what its type needs to find it."""
        return self.of(resource_type).create(values, properties)

    def change(self, resource_type: str, ident: str, values: Mapping[str, Any]) -> Resource:
        """Set `properties`, None for those to remove, or other keys that the API lets change."""
        return self.of(resource_type).change(ident, values)

    def delete(self, resource_type: str, ident: str) -> None:
        self.of(resource_type).delete(ident)
