"""Answers that say of something what it has under the names of their keys."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, NotRequired, TypeVar, cast, get_origin, get_type_hints

Shape = TypeVar("Shape")


def shown(shape: type[Shape], found: object, **given: Any) -> Shape:
    """Return an answer of this shape: for each key what is given, or what is found under its name, as JSON has it.

    Moments are in ISO 8601 with the zone, and sets are sorted. A key that need not be there is there if it is given.
    """
    always = {key: given[key] if key in given else getattr(found, key) for key in _always(cast("Any", shape))}
    return cast("Shape", {key: _plain(value) for key, value in {**always, **given}.items()})


@cache
def _always(shape: Any) -> tuple[str, ...]:
    hints = get_type_hints(shape, include_extras=True)
    return tuple(key for key, hint in hints.items() if get_origin(hint) is not NotRequired)


def _plain(value: Any) -> Any:
    match value:
        case Enum():
            return value.value
        case datetime():
            return value.isoformat()
        case tuple():
            return list(value)
        case frozenset():
            return sorted(value)
        case Mapping():
            return dict(value)
    return value
