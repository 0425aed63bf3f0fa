"""The past of a lease."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold_client.calls.answer import AnswerModel, read_as

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Difference:
    """A value that has changed: a key of the `lease`, or of the `reservation` or the `event` with this id."""

    part: str
    id: str
    key: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a lease; the first has no values before. `type` is None if nobody was told of it.

    `by` is `project`, `operator` or `service`, None if it is not known, and `user_id` who it was, as far as one may
    know it.
    """

    id: str
    time: datetime
    type: str | None
    by: str | None
    user_id: str | None
    differences: Sequence[Difference]
    first: bool


@dataclass(frozen=True, slots=True)
class Segment(AnswerModel):
    """What a reservation held over `[start, end)`, aware and in UTC; the name is None for who may not list hosts."""

    reservation_id: str
    resource_type: str
    name: str | None
    slots: int
    start: datetime
    end: datetime
    going_on: bool


@dataclass(frozen=True, slots=True)
class LeaseHistory:
    """All changes of a lease, oldest first, and what it held; None if one may not see that.

    `values` is all that the service says about it.
    """

    changes: Sequence[Change]
    held: Sequence[Segment] | None
    values: Mapping[str, Any]

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> LeaseHistory:
        held = values["held"]
        changes = [_change(each, first=number == 0) for number, each in enumerate(values["changes"])]
        return cls(changes, None if held is None else [Segment.read(each) for each in held], values)


def _change(values: Mapping[str, Any], *, first: bool) -> Change:
    return read_as(Change, values, differences=[Difference(**each) for each in values["changes"]], first=first)
