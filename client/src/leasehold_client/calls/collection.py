"""Things of one kind that the API lists, shows and deletes in the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar, cast

from leasehold_client.calls.named import is_id, one_named
from leasehold_client.calls.part import ALL
from leasehold_client.calls.transport import Calls

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from leasehold_client.calls.part import ListPart


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


class Collection(Calls, Generic[T]):
    """The things of one kind, `THING`. `PATH` begins after `/v1`, `ONE` and `MANY` are the keys of the answers."""

    THING: ClassVar[type[Thing]]
    PATH: str
    ONE: ClassVar[str]
    MANY: ClassVar[str]
    NOUN: ClassVar[str]

    def _list(self, query: Mapping[str, Any]) -> list[T]:
        return [self._read(each) for each in self._transport.get(self.PATH, query)[self.MANY]]

    def _named(self) -> list[T]:
        """Return those that a name can mean."""
        return self._list({})

    def list(self, part: ListPart = ALL) -> list[T]:
        """Return all that the caller may see, or a part of it."""
        return self._list(part.query())

    def get(self, ident: str) -> T:
        """Return the one with this id."""
        return self._one(self._transport.get(f"{self.PATH}/{ident}"))

    def find(self, name: str) -> T:
        """Return the one with this id, or the only one with this name; raises NotFoundError."""
        return self.get(name) if self._is_id(name) else self._only(name, self._named())

    def delete(self, ident: str) -> None:
        """Delete the one with this id."""
        self._transport.delete(f"{self.PATH}/{ident}")

    def _create(self, body: Mapping[str, Any], key: str | None = None) -> T:
        return self._one(self._transport.post(self.PATH, body, key=key))

    def _change(self, ident: str, body: Mapping[str, Any], key: str | None = None) -> T:
        return self._one(self._transport.put(f"{self.PATH}/{ident}", body, key=key))

    def _only(self, name: str, among: Iterable[T]) -> T:
        """Return the only one of these with this name; raises NotFoundError."""
        found = {each.id: each for each in among}
        return found[one_named(self.NOUN, name, ((each.id, each.name) for each in found.values()))]

    def _is_id(self, name: str) -> bool:
        """Say whether this is an id, so that no list is needed to find what it names."""
        return is_id(name)

    def _one(self, answer: Mapping[str, Any]) -> T:
        return self._read(answer[self.ONE])

    def _read(self, values: Mapping[str, Any]) -> T:
        return cast("T", self.THING.read(values))


class OwnCollection(Collection[T]):
    """Things that projects have; only administrators ask for those of all projects."""

    def list(self, part: ListPart = ALL, *, all_projects: bool = False) -> list[T]:
        """Return those of the caller's project, or of all projects, or a part of them."""
        return self._list(part.query() | ({"all_projects": "true"} if all_projects else {}))
