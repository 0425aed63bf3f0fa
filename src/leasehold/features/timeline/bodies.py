"""Formats of the timeline, from 1.3 on: tables in columns of equal length, because there may be 50,000 bars."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

from leasehold.api.models.base import answer


@with_config(ConfigDict(extra="forbid"))
class RowTypeAnswer(TypedDict):
    """A type of the rows; `identified` says whether their ids and names are those of the resources.

    A lease needs `cleaning_seconds` free before and after it, and has its resources `lead_seconds` before its start.
    """

    resource_type: str
    identified: bool
    cleaning_seconds: int
    lead_seconds: int


@with_config(ConfigDict(extra="forbid"))
class CodedAnswer(TypedDict):
    """A column whose values repeat: `index` has for each row the position of its value, -1 for none."""

    values: list[Any]
    index: list[int]


@with_config(ConfigDict(extra="forbid"))
class RowsAnswer(TypedDict):
    """The resources: `type` is a position in the `types`, `state` one in the `states`, -1 for a former one.

    `capacity` is by resource class, null where a resource has none. An `id` that is not identified is a word that stays
    the same for the project. `reason` is why a resource is disabled or was not drawn, for operators.
    """

    id: list[str]
    name: list[str | None]
    type: list[int]
    state: list[int]
    capacity: dict[str, list[int | None]]
    properties: dict[str, CodedAnswer]
    reason: CodedAnswer


@with_config(ConfigDict(extra="forbid"))
class BarsAnswer(TypedDict):
    """What is taken of the rows over `[start, end)`, cut to the window, in the order of row and start.

    Moments are seconds after `from`; an `end` of -1 is not known yet. `kind` is a position in the `kinds`, `lease` one
    in the leases, -1 for what others have, and `amount` one in the amounts, -1 for the whole resource.
    """

    row: list[int]
    start: list[int]
    end: list[int]
    kind: list[int]
    lease: list[int]
    amount: list[int]


@with_config(ConfigDict(extra="forbid"))
class BarLeasesAnswer(TypedDict):
    """The leases of the bars. `name`, `start` and `end` are null if a lease was purged.

    `status` is null for a deleted or purged one; one that is OFFERED is an offer. `start` and `end` are not cut to the
    window, and `end` is null for one without an end. `whose`: mine, project or other. `project` is for operators.
    `movable` is until when another resource may take the place of one of it; null: none may. `degraded`: something of
    it is missing; `at_risk`: it has not started, and what it has may not be there then.
    """

    id: list[str]
    name: list[str | None]
    status: list[str | None]
    start: list[int | None]
    end: list[int | None]
    whose: list[str]
    project: list[str | None]
    movable: list[int | None]
    degraded: list[bool]
    at_risk: list[bool]


@with_config(ConfigDict(extra="forbid"))
class UnplacedAnswer(TypedDict):
    """What leases were to have that had not begun at `as_of`; of which resources is not recorded.

    `lease` is a position in the leases, `amount` at most how much of the type.
    """

    lease: list[int]
    resource_type: list[str]
    amount: list[int]


TimelineAnswer = TypedDict(
    "TimelineAnswer",
    {
        "from": str,
        "to": str,
        "now": str,
        "as_of": str | None,
        "cursor": str,
        "types": list[RowTypeAnswer],
        "states": list[str],
        "kinds": list[str],
        "rows": RowsAnswer,
        "bars": BarsAnswer,
        "substitutes": list[int],
        "amounts": dict[str, list[int]],
        "leases": BarLeasesAnswer,
        "unplaced": UnplacedAnswer,
        "next": str | None,
    },
)
TimelineAnswer.__doc__ = """What resources do in a window.

`cursor` is where GET /v1/events goes on after it. `substitutes` are the positions of bars that healing gave. `amounts`
are what bars take of a resource, by resource class. `next` is the `marker` of the next page of rows, null after the
last. With `as_of` it is the timeline as it was known at that moment.
"""


OneTimeline = answer("OneTimeline", "The answer about the timeline.", timeline=TimelineAnswer)
