"""Formats of series of leases, from 1.2 on."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer
from leasehold.api.models.from_template import OF_SERIES, Template
from leasehold.api.models.lease import (
    INSTEAD_OF_END,
    LASTING,
    MOST_RESERVATIONS,
    SINCE_OF_PURPOSE,
    SINCE_OF_TEMPLATE,
    Date,
    Duration,
    HealPolicyWord,
    OpenObject,
    ReminderSeconds,
    ReservationRequest,
)
from leasehold.api.models.name import NameOfSeries, Purpose  # noqa: TC001 - read at run time

Rule = Annotated[
    str, Field(min_length=1, max_length=500, description="A recurrence rule of RFC 5545, with either COUNT or UNTIL")
]
Zone = Annotated[str, Field(min_length=1, max_length=64, description="The time zone in which the rule counts")]


class SeriesCreation(RequestModel):
    """The body of POST /v1/series; the dates are those of the first occurrence."""

    model_config = LASTING
    name: NameOfSeries
    start_date: Date
    end_date: Date
    duration_seconds: Duration = None
    rule: Rule
    time_zone: Zone = "UTC"
    reservations: Annotated[list[ReservationRequest] | None, Field(max_length=MOST_RESERVATIONS)] = None
    heal_policy: HealPolicyWord | None = None
    reminder_seconds: ReminderSeconds | None = None
    purpose: Purpose | None = None
    template: Template = None

    since = SINCE_OF_TEMPLATE
    filled = OF_SERIES
    instead = INSTEAD_OF_END


class ReservationOfEach(OpenObject):
    """What changes about a reservation of every occurrence: its resource type reads the keys."""


class SeriesAmendment(RequestModel):
    """The body of PUT /v1/series/{id}; an absent key changes nothing. The dates are those of the first occurrence."""

    name: NameOfSeries | None = None
    start_date: Date | None = None
    end_date: Date | None = None
    reservations: Annotated[list[ReservationOfEach] | None, Field(max_length=MOST_RESERVATIONS)] = None
    purpose: Purpose | None = None

    since = SINCE_OF_PURPOSE


class RefusalAnswer(TypedDict):
    """What the request about an occurrence was refused with."""

    code: str
    error_message: str
    details: dict[str, Any]


class PlannedAnswer(TypedDict):
    """The dates of an occurrence by the rule."""

    start_date: str
    end_date: str


class OccurrenceAnswer(TypedDict):
    """An occurrence: the dates, the id and the status of its lease, or what it was refused with.

    `planned` is null if it is as the rule has it; a lease may have been amended alone, or the last amendment of it was
    refused. Without a lease, or if that is deleted, the dates are those of the rule, and the status is null.
    """

    start_date: str
    end_date: str
    planned: PlannedAnswer | None
    lease_id: str | None
    status: str | None
    refused: RefusalAnswer | None


class SeriesAnswer(TypedDict):
    """A series of leases; `purpose` if it has one, from 1.3 on.

    `together` in the answer about one series, from 1.3 on: what there is to say of all its leases at once, such as the
    `cost`.
    """

    id: str
    name: str
    project_id: str
    user_id: str
    rule: str
    time_zone: str
    created_at: str
    updated_at: str | None
    purpose: NotRequired[str]
    together: NotRequired[dict[str, Any]]
    occurrences: list[OccurrenceAnswer]


OneSeries = answer("OneSeries", "The answer about one series.", series=SeriesAnswer)
SeriesList = answer("SeriesList", "The answer about series.", series=list[SeriesAnswer])
