"""Formats of lease templates, from 1.3 on."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer
from leasehold.api.models.from_template import Template  # noqa: TC001 - read at run time
from leasehold.api.models.lease import (
    MOST_EVENTS,
    MOST_RESERVATIONS,
    MOST_RETRIES,
    MOST_SECONDS,
    EventRequest,
    HealPolicyWord,
    ReminderSeconds,
    ReservationRequest,
    Span,
    TypeWord,
)
from leasehold.api.models.name import Name, Purpose  # noqa: TC001 - read at run time

LONGEST_DESCRIPTION = 1000

Description = Annotated[str, Field(max_length=LONGEST_DESCRIPTION)]
Public = Annotated[bool, Field(description="Whether every project sees and uses it; for administrators")]


class TemplateName(RequestModel):
    """The key that names a template."""

    template: Template = None


class _KeptRequest(RequestModel):
    """What a template keeps of the body of POST /v1/leases; null means that it says nothing about a key."""

    duration_seconds: Span | None = None
    open_ended: bool | None = None
    reservations: Annotated[list[ReservationRequest] | None, Field(max_length=MOST_RESERVATIONS)] = None
    events: Annotated[list[EventRequest] | None, Field(max_length=MOST_EVENTS)] = None
    heal_policy: HealPolicyWord | None = None
    reminder_seconds: ReminderSeconds | None = None
    type: TypeWord | None = None
    retries: Annotated[int | None, Field(ge=1, le=MOST_RETRIES)] = None
    retry_seconds: Annotated[int | None, Field(ge=1, le=MOST_SECONDS)] = None
    purpose: Purpose | None = None


class TemplateCreation(_KeptRequest):
    """The body of POST /v1/lease-templates: a name, and what is kept of the body of POST /v1/leases."""

    name: Name
    description: Description = ""
    public: Public = False


class TemplateAmendment(_KeptRequest):
    """The body of PUT /v1/lease-templates/{id}: an absent key changes nothing.

    Null removes what is kept; a name, a description and `public` cannot be removed.
    """

    name: Name | None = None
    description: Description | None = None
    public: Public | None = None


class EventOfTemplate(TypedDict):
    """An event that leases from the template show."""

    event_type: str | None
    event_date: NotRequired[str | None]


class TemplateAnswer(TypedDict):
    """A template: its name, and what it has of the body of POST /v1/leases; the other keys are null.

    The project and the user of a public one are null for other projects.
    """

    id: str
    name: str
    description: str
    public: bool
    project_id: str | None
    user_id: str | None
    created_at: str
    updated_at: str | None
    duration_seconds: int | None
    open_ended: bool | None
    reservations: list[dict[str, Any]] | None
    events: list[EventOfTemplate] | None
    heal_policy: str | None
    reminder_seconds: list[int] | str | None
    type: str | None
    retries: int | None
    retry_seconds: int | None
    purpose: str | None


OneTemplate = answer("OneTemplate", "The answer about one template.", template=TemplateAnswer)
TemplateList = answer("TemplateList", "The answer about templates.", templates=list[TemplateAnswer])
