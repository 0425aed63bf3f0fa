"""Find the keys of a request that nothing reads, from the shape that reads it.

A shape is a pydantic model, or the annotation of a field with models inside. A model that allows extra keys has no
unknown ones, because other code reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from leasehold.model.errors import UnknownKeysError
from leasehold.resource_types.fields import path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet

Place = tuple[int | str, ...]

MOST_NAMED = 5
"""Unknown keys that one error names; a body may have many."""
LONGEST_NAMED = 64
"""Characters of a key that an error repeats."""


def refuse_unknown(
    shape: Any, value: object, place: Place = (), also: Iterable[str] = (), without: Iterable[str] = ()
) -> None:
    """Raise UnknownKeysError if a value from JSON has keys that its shape does not read, at any depth.

    `place` is where the value is in the request. `also` are further keys that the value itself may have, because other
    code reads them; `without` are keys of the shape that it may not have, because they are read for others only.
    """
    found = list(islice(_unknown(shape, value, place, frozenset(also), frozenset(without)), MOST_NAMED))
    if found:
        paths = [path((*where[:-1], str(where[-1])[:LONGEST_NAMED])) for where, _ in found]
        raise UnknownKeysError(paths, found[0][1])


def _unknown(
    shape: Any, value: object, place: Place, also: frozenset[str] = frozenset(), without: frozenset[str] = frozenset()
) -> Iterator[tuple[Place, Iterable[str]]]:
    """Yield each unknown key with its place, and the keys that are known there; what does not fit a shape has none."""
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        if isinstance(value, Mapping):
            yield from _unknown_of_model(shape, value, place, (shape.model_fields.keys() | also) - without)
        return
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is Annotated:
        yield from _unknown(arguments[0], value, place)
    elif origin in (Union, UnionType):
        # The value belongs to the member that knows most of its keys.
        members = [each for each in arguments if each is not NoneType and _fits(each, value)]
        yield from min((list(_unknown(each, value, place)) for each in members), key=len, default=[])
    elif isinstance(value, list) and arguments:
        for position, item in enumerate(value):
            yield from _unknown(arguments[0], item, (*place, position))
    elif isinstance(value, Mapping) and len(arguments) > 1:
        for key, item in value.items():
            yield from _unknown(arguments[1], item, (*place, str(key)))


def _unknown_of_model(
    shape: type[BaseModel], value: Mapping[str, Any], place: Place, known: AbstractSet[str]
) -> Iterator[tuple[Place, Iterable[str]]]:
    if shape.model_config.get("extra") != "allow":
        yield from (((*place, key), known) for key in value if key not in known)
    for name, field in shape.model_fields.items():
        if name in value:
            yield from _unknown(field.annotation, value[name], (*place, name))


def _fits(shape: Any, value: object) -> bool:
    """Say whether a member of a union may be what this value is read as."""
    if get_origin(shape) is Annotated:
        return _fits(get_args(shape)[0], value)
    if get_origin(shape) in (Union, UnionType):
        return any(_fits(each, value) for each in get_args(shape))
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        return isinstance(value, Mapping)
    return isinstance(value, get_origin(shape) or (shape if isinstance(shape, type) else object))
