"""Things of one kind that the API lists, shows and deletes in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast

from leasehold_client.named import is_id, one_named
from leasehold_client.part import ALL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold_client.part import Part
    from leasehold_client.transport import Transport


class Thing(Protocol):
    """Something with an id, a name that a person may give it, and all that the service says about it."""

    @property
    def id(self) -> str:
        """The id."""
        ...

    @property
    def name(self) -> str:
        """The name; it need not be the only one of its kind."""
        ...

    @property
    def values(self) -> Mapping[str, Any]:
        """The service's answer."""
        ...

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Thing:
        """Return the thing of an answer."""
        ...


T = TypeVar("T", bound=Thing)


class Collection(Generic[T]):
    """The things of one kind, `THING`. `PATH` begins after `/v1`, `ONE` and `MANY` are the keys of the answers."""

    THING: ClassVar[type[Thing]]
    PATH: ClassVar[str]
    ONE: ClassVar[str]
    MANY: ClassVar[str]
    NOUN: ClassVar[str]

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, part: Part = ALL) -> Sequence[T]:
        """Return all that the caller may see, or a part of it."""
        return self._list(part.query())

    def get(self, ident: str) -> T:
        """Return the one with this id."""
        return self._one(self._transport.get(f"{self.PATH}/{ident}"))

    def find(self, name: str) -> T:
        """Return the one with this id, or the only one with this name; raises NotFoundError."""
        if is_id(name):
            return self.get(name)
        found = {each.id: each for each in self.list()}
        return found[one_named(self.NOUN, name, ((each.id, each.name) for each in found.values()))]

    def delete(self, ident: str) -> None:
        """Delete the one with this id."""
        self._transport.delete(f"{self.PATH}/{ident}")

    def _list(self, query: Mapping[str, Any]) -> Sequence[T]:
        return [self._read(each) for each in self._transport.get(self.PATH, query)[self.MANY]]

    def _create(self, body: Mapping[str, Any], key: str | None = None) -> T:
        return self._one(self._transport.post(self.PATH, body, key=key))

    def _one(self, answer: Mapping[str, Any]) -> T:
        return self._read(answer[self.ONE])

    def _read(self, values: Mapping[str, Any]) -> T:
        return cast("T", self.THING.read(values))


class OwnCollection(Collection[T]):
    """Things that projects have; only administrators ask for those of all projects."""

    def list(self, part: Part = ALL, *, all_projects: bool = False) -> Sequence[T]:
        """Return those of the caller's project, or of all projects, or a part of them."""
        return self._list(part.query() | ({"all_projects": "true"} if all_projects else {}))


def said(**values: Any) -> dict[str, Any]:
    """Return the keys of a request without those that say nothing: None, and no members."""
    return {key: value for key, value in values.items() if value is not None and value not in ([], ())}
