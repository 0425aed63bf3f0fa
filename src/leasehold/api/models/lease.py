"""Leases on the wire (contract http-api §5)."""

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
"""For the description alone: `leasehold.api.dates` reads dates, and knows the sentence that v1 clients expect."""

Date = Annotated[
    str,
    Field(
        json_schema_extra={"pattern": DATE_FORM},
        description="`now` or `YYYY-MM-DD HH:MM` in UTC; from 1.1 on also ISO 8601 with a zone",
    ),
]
OptionalDate = Annotated[str | None, Field(description="As a date; null or empty means the configured default")]


class OpenObject(BaseModel):
    """An object of which only some keys are looked at here; the rest is kept for whoever reads it."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class ReservationRequest(OpenObject):
    """A wanted reservation: its resource type reads the other keys."""

    resource_type: Annotated[str, Field(min_length=1, max_length=66)]


class ReservationChange(OpenObject):
    """A changed reservation: its resource type reads the other keys. The id is asked for by the handler."""

    id: str | None = None


class EventRequest(OpenObject):
    """An event that a client passes along. It is kept for show and never runs."""

    event_type: Annotated[str, Field(max_length=66)] | None = None


class LeaseCreation(RequestModel):
    """What POST /v1/leases takes."""

    name: Name
    start_date: Date
    end_date: Date
    before_end_date: OptionalDate = None
    reservations: Annotated[list[ReservationRequest] | None, Field(max_length=MOST_RESERVATIONS)] = None
    events: Annotated[list[EventRequest] | None, Field(max_length=MOST_EVENTS)] = None


class LeaseAmendment(RequestModel):
    """What PUT /v1/leases/{id} takes; an absent key leaves things as they are. `events` are ignored (§5.4)."""

    name: Name | None = None
    start_date: Date | None = None
    end_date: Date | None = None
    before_end_date: OptionalDate = None
    reservations: Annotated[list[ReservationChange] | None, Field(max_length=MOST_RESERVATIONS)] = None


class EventAnswer(TypedDict):
    """A moment of a lease."""

    id: str
    lease_id: str
    event_type: str
    time: str | None
    status: str | None
    created_at: str | None
    updated_at: str | None


@with_config(ConfigDict(extra="allow"))
class ReservationAnswer(TypedDict):
    """What every reservation shows; beside it stand the fields of its resource type."""

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
