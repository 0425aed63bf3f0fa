"""Formats of availability, here and in other regions, from 1.3 on."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired, TypeVar

from pydantic import ConfigDict, FailFast, Field
from typing_extensions import TypedDict

from leasehold.api.models.base import TEN_YEARS, RequestModel, answer
from leasehold.api.models.from_template import OF_SEARCH, Template
from leasehold.api.models.lease import MOST_RESERVATIONS, Date, OptionalDate, ProjectId, ReservationRequest

T = TypeVar("T")
Listed = Annotated[list[T], FailFast()]
"""Of the answer of another region one error is enough: to collect millions of them took gigabytes and minutes."""

StepsAnswer = TypedDict("StepsAnswer", {"from": Listed[str], "free": Listed[int], "reserved": Listed[int]})
StepsAnswer.__doc__ = """A step function in columns of equal length: each step lasts from its `from` to the next one's.

`reserved` is what leases and maintenance windows have, with the cleaning time around them, and what is not there yet.
"""

AvailabilityAnswer = TypedDict(
    "AvailabilityAnswer",
    {
        "resource_type": str,
        "unit": str,
        "from": str,
        "to": str,
        "total": int,
        "held_back": int,
        "throughout": int | None,
        "steps": StepsAnswer,
    },
)
AvailabilityAnswer.__doc__ = """How many units are free in a window; `total` is the sum of the others at each step.

`held_back` is on resources that nobody gets now, such as failed and disabled ones. `throughout` is the largest amount
that a lease of the whole window would get; null if that takes too long to say.
"""


class OneAvailability(TypedDict):
    """The answer about availability."""

    availability: AvailabilityAnswer


MOST_ALTERNATIVES = 10
MOST_WINDOWS = 20
Seconds = Annotated[int, Field(ge=1, le=TEN_YEARS)]
Reservations = Annotated[list[ReservationRequest], Field(min_length=1, max_length=MOST_RESERVATIONS)]


def _without_duration(schema: dict[str, Any]) -> None:
    schema["required"].remove("duration_seconds")


class WindowSearch(RequestModel):
    """The body of POST /v1/availability/search: which lease, and when.

    Either `reservations`, or `alternatives`, of which one is enough: both as in POST /v1/leases. It starts from
    `start_date` to `latest_start_date`, and ends at `end_date` or before. It lasts `duration_seconds`; if it cannot,
    as long as possible, but at least `shortest_seconds`. A `template` may give the reservations and the duration.
    """

    model_config = ConfigDict(json_schema_extra=_without_duration)
    reservations: Reservations | None = None
    alternatives: Annotated[list[Reservations] | None, Field(min_length=1, max_length=MOST_ALTERNATIVES)] = None
    duration_seconds: Seconds
    shortest_seconds: Seconds | None = None
    start_date: Date = "now"
    latest_start_date: OptionalDate = None
    end_date: OptionalDate = None
    limit: Annotated[int, Field(ge=1, le=MOST_WINDOWS, description="At most so many windows")] = 3
    project_id: Annotated[ProjectId | None, Field(description="The project of the lease, by default the caller's")] = (
        None
    )
    template: Template = None

    filled = OF_SEARCH


class FoundReservation(TypedDict):
    """What a reservation would get."""

    resource_type: str
    amount: int


class FoundWindow(TypedDict):
    """A window in which a lease would be granted; `alternative` is the place of what it has in the request.

    `estimates` say more of it, such as its `cost` where something has a price.
    """

    alternative: int
    start_date: str
    end_date: str
    reservations: Listed[FoundReservation]
    estimates: NotRequired[dict[str, Any]]


class RefusedAlternative(TypedDict):
    """An alternative without a window, and why: as POST /v1/leases would say."""

    alternative: int
    error_message: str
    code: str
    details: dict[str, Any]


class WindowList(TypedDict):
    """The first windows, earliest first; those of one alternative do not overlap."""

    windows: Listed[FoundWindow]
    refused: Listed[RefusedAlternative]


class AskableAnswer(TypedDict):
    """A property that expressions may name, with the values it has now; `left_out` says how many are not shown."""

    property: str
    values: list[str]
    left_out: int


AskableList = answer("AskableList", "By what leases can choose resources of a type.", properties=list[AskableAnswer])


# ---------------------------------------------------------------- regions

MOST_REGIONS = 100


class RegionAnswer(TypedDict):
    """A region, and the URL at which its service takes requests for leases; `here` is true of the one that answers."""

    name: str
    endpoint: str
    here: bool


RegionList = answer("RegionList", "The regions that this service knows: its own first.", regions=list[RegionAnswer])


class RegionAvailability(TypedDict):
    """How much is free in a region, or the reason why that is not known."""

    region: str
    endpoint: str
    availability: AvailabilityAnswer | None
    error_message: str | None


RegionAvailabilityList = answer(
    "RegionAvailabilityList", "How much is free in each region that was asked for.", regions=list[RegionAvailability]
)


class RegionSearch(WindowSearch):
    """The body of POST /v1/regions/availability/search: as that of one region, and in which `regions`; null for all."""

    regions: Annotated[list[str] | None, Field(min_length=1, max_length=MOST_REGIONS)] = None


class RegionWindows(TypedDict):
    """The first windows in a region, or the reason why they are not known."""

    region: str
    endpoint: str
    windows: list[FoundWindow]
    refused: list[RefusedAlternative]
    error_message: str | None


RegionWindowsList = answer(
    "RegionWindowsList", "The first windows in each region that was asked for.", regions=list[RegionWindows]
)
