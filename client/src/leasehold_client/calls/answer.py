"""Things as the API's answers describe them."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from leasehold_client.calls.wire import read_time

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")
_DATES = {"start": "start_date", "end": "end_date", "time": "time"}


class AnswerModel:
    """A dataclass whose fields are keys of an answer, read as `read_as` says."""

    __slots__ = ()

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Self:
        """Return the thing of an answer."""
        return read_as(cls, values)


def read_as(kind: type[T], values: Mapping[str, Any], **other: Any) -> T:
    """Return a dataclass of an answer: `other`, and each other field as the key of its name says.

    Times are aware and in UTC, `start` and `end` are the dates of the answer, lists are tuples, and `values` is the
    answer.
    """
    names = [each.name for each in fields(cast("Any", kind))]
    return kind(**{name: _value(values, name) for name in names if name not in other}, **other)


def _value(values: Mapping[str, Any], name: str) -> Any:
    if name == "values":
        return values
    value = values[_DATES.get(name, name)]
    if value is not None and (name in _DATES or name.endswith("_at")):
        return read_time(value)
    return tuple(value) if isinstance(value, list) else value
