"""Resources of any type, those of plugins among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.named import is_id, one_named
from leasehold_client.part import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold_client.part import Part
    from leasehold_client.transport import Transport


@dataclass(frozen=True, slots=True)
class ResourceType:
    """A type that can be leased; of an `enrolled` one, administrators say which resources there are."""

    name: str
    noun: str
    enrolled: bool

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> ResourceType:
        """Return the type of an answer."""
        return cls(values["resource_type"], values["noun"], values["enrolled"])


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that can be leased; `capacity` is by resource class."""

    id: str
    name: str
    reservable: bool
    health: str
    pool: str
    capacity: Mapping[str, int]
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Resource:
        """Return the resource of an answer."""
        return cls(
            id=values["id"],
            name=values["name"],
            reservable=values["reservable"],
            health=values["health"],
            pool=values["pool"],
            capacity=values["capacity"],
            values=values,
        )


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that could be enrolled for a pool; `refused` says why it would be refused."""

    id: str
    name: str
    up: bool
    enabled: bool
    pool: str
    refused: str | None
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Candidate:
        """Return the candidate of an answer."""
        keys = ("id", "name", "up", "enabled", "pool", "refused")
        return cls(**{key: values[key] for key in keys}, values=values)


class Resources:
    """The resources of every type; by default only administrators see and change them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def types(self) -> list[ResourceType]:
        """Return the resource types that are switched on."""
        return [ResourceType.read(each) for each in self._transport.get("/resources")["resource_types"]]

    def candidates(self, resource_type: str) -> list[Candidate]:
        """Return what the cloud has and could be enrolled."""
        answer = self._transport.get(f"/resources/{resource_type}/candidates")
        return [Candidate.read(each) for each in answer["candidates"]]

    def list(self, resource_type: str, part: Part = ALL) -> list[Resource]:
        answer = self._transport.get(f"/resources/{resource_type}", part.query())
        return [Resource.read(each) for each in answer["resources"]]

    def get(self, resource_type: str, ident: str) -> Resource:
        return Resource.read(self._transport.get(f"/resources/{resource_type}/{ident}")["resource"])

    def find(self, resource_type: str, name: str) -> Resource:
        """Return the resource with this id, or the only one with this name; raises NotFoundError."""
        if name.isdigit() or is_id(name):
            return self.get(resource_type, name)
        found = {each.id: each for each in self.list(resource_type)}
        return found[one_named("resource", name, ((each.id, each.name) for each in found.values()))]

    def create(self, resource_type: str, values: Mapping[str, Any], properties: Mapping[str, str]) -> Resource:
        """Enrol a resource; `values` are what its type needs to find it."""
        body = {**values, "properties": dict(properties)}
        return Resource.read(self._transport.post(f"/resources/{resource_type}", body)["resource"])

    def change(self, resource_type: str, ident: str, values: Mapping[str, Any]) -> Resource:
        """Set `properties`, None for those to remove, or other keys that the API lets change."""
        return Resource.read(self._transport.put(f"/resources/{resource_type}/{ident}", values)["resource"])

    def delete(self, resource_type: str, ident: str) -> None:
        self._transport.delete(f"/resources/{resource_type}/{ident}")
