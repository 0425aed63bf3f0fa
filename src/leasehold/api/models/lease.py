"""Formats of leases (contract http-api §5)."""

from __future__ import annotations

from typing import Annotated, NotRequired

from pydantic import BaseModel, ConfigDict, Field, with_config
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel

LONGEST_NAME = 80
MOST_RESERVATIONS = 1000
MOST_EVENTS = 1000

Name = Annotated[str, Field(max_length=LONGEST_NAME)]
DATE_FORM = (
    r"^(now|\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{1,2}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.0{1,6})?)?(Z|[+-]\d\d:\d\d))$"
)
"""For the OpenAPI description only: `leasehold.api.dates` parses dates, with the errors that v1 clients expect."""

Date = Annotated[
    str,
    Field(
        json_schema_extra={"pattern": DATE_FORM},
        description="`now` or `YYYY-MM-DD HH:MM` in UTC; from 1.1 on also ISO 8601 with a zone",
    ),
]
OptionalDate = Annotated[str | None, Field(description="A date; null or empty means the configured default")]


class OpenObject(BaseModel):
    """An object of which only some keys are validated here; it keeps the others for later code."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class ReservationRequest(OpenObject):
    """A requested reservation: its resource type reads the other keys."""

    resource_type: Annotated[str, Field(min_length=1, max_length=66)]


class ReservationChange(OpenObject):
    """A changed reservation: its resource type reads the other keys. The handler requires the id."""

    id: str | None = None


class EventRequest(OpenObject):
    """An event that a client adds. It is stored and shown, and never runs."""

    event_type: Annotated[str, Field(max_length=66)] | None = None


class LeaseCreation(RequestModel):
    """The body of POST /v1/leases."""

    name: Name
    start_date: Date
    end_date: Date
    before_end_date: OptionalDate = None
    reservations: Annotated[list[ReservationRequest] | None, Field(max_length=MOST_RESERVATIONS)] = None
    events: Annotated[list[EventRequest] | None, Field(max_length=MOST_EVENTS)] = None


class LeaseAmendment(RequestModel):
    """The body of PUT /v1/leases/{id}; an absent key changes nothing.

    `events` are ignored (contract http-api §5.4).
    """

    name: Name | None = None
    start_date: Date | None = None
    end_date: Date | None = None
    before_end_date: OptionalDate = None
    reservations: Annotated[list[ReservationChange] | None, Field(max_length=MOST_RESERVATIONS)] = None


class EventAnswer(TypedDict):
    """An event of a lease."""

    id: str
    lease_id: str
    event_type: str
    time: str | None
    status: str | None
    created_at: str | None
    updated_at: str | None


@with_config(ConfigDict(extra="allow"))
class ReservationAnswer(TypedDict):
    """The keys of every reservation; its resource type adds more."""

    id: str
    lease_id: str
    resource_id: str
    resource_type: str
    status: str
    missing_resources: bool
    resources_changed: bool
    created_at: str | None
    updated_at: str | None


class LeaseAnswer(TypedDict):
    """A lease; `status_reason` from 1.1 on."""

    id: str
    name: str
    user_id: str
    project_id: str
    trust_id: None
    start_date: str
    end_date: str
    status: str
    status_reason: NotRequired[str | None]
    degraded: bool
    created_at: str | None
    updated_at: str | None
    reservations: list[ReservationAnswer]
    events: list[EventAnswer]


class OneLease(TypedDict):
    """The answer about one lease."""

    lease: LeaseAnswer


class LeaseList(TypedDict):
    """The answer about leases."""

    leases: list[LeaseAnswer]
