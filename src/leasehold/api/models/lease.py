"""Formats of leases (contract http-api §5)."""

from __future__ import annotations

from typing import Annotated, Any, NotRequired

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainValidator, WithJsonSchema, with_config
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer, one_of
from leasehold.api.models.from_template import OF_LEASE, Template
from leasehold.api.models.holding import HeldThen, HolderAnswer  # noqa: TC001 - read at run time, for the description
from leasehold.api.models.name import Name, Purpose  # noqa: TC001 - read at run time
from leasehold.api.versions import (
    DRY_RUNS,
    HEAL_POLICY,
    LEASE_TYPES,
    ON_BEHALF,
    OPEN_ENDS,
    PURPOSES,
    READY_WITHIN,
    REMINDERS,
    SHARING,
    SPANS,
    TEMPLATES,
)
from leasehold.model.terms.heal_policy import DEFAULT, HealPolicy
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import FIRST_YEAR, LAST_YEAR

MOST_RESERVATIONS = 1000
MOST_EVENTS = 1000
MOST_SERVERS = 1000
LONGEST_IDENT = 255

DATE_FORM = (
    r"^(now|\d{4}-\d{1,2}-\d{1,2} \d{1,2}:\d{1,2}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.0{6}"
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.0{1,6})?)?(Z|[+-]\d\d:\d\d))$"
)
"""For the OpenAPI description only: `leasehold.api.dates` parses dates, with the errors that v1 clients expect."""

Date = Annotated[
    str,
    Field(
        json_schema_extra={"pattern": DATE_FORM},
        description="`now` or `YYYY-MM-DD HH:MM` in UTC; from 1.1 on also ISO 8601 with a zone, or as answers write it",
    ),
]
LONGEST_SPAN = (LAST_YEAR - FIRST_YEAR + 1) * 366 * 24 * 3600
"""No two dates of leases are further apart."""
Span = Annotated[int, Field(ge=1, le=LONGEST_SPAN)]
"""A time in seconds."""
Duration = Annotated[
    Span | None, Field(description="From 1.3 on, in place of `end_date`: how many seconds after its start it ends")
]


def _without_end(schema: dict[str, Any]) -> None:
    schema["required"].remove("end_date")


LASTING = ConfigDict(json_schema_extra=_without_end)
INSTEAD_OF_END = {"end_date": ("duration_seconds",)}
SINCE_OF_WINDOW = {"duration_seconds": SPANS}
SINCE_OF_PURPOSE = {"purpose": PURPOSES}
SINCE_OF_TEMPLATE = {**SINCE_OF_WINDOW, **SINCE_OF_PURPOSE, "template": TEMPLATES}
"""What a model says of itself if a duration may take the place of its end."""
_POLICIES = [*(each.value for each in HealPolicy), DEFAULT]


HealPolicyWord = Annotated[
    str,
    AfterValidator(one_of(_POLICIES)),
    WithJsonSchema(
        {"type": "string", "enum": _POLICIES, "description": "From 1.2 on: what happens when a resource fails"}
    ),
]
LONGEST_REMINDER = 366 * 24 * 3600
MOST_REMINDERS = 20


def _reminders(value: object) -> list[int] | str:
    if value == DEFAULT:
        return DEFAULT
    if isinstance(value, list) and len(value) <= MOST_REMINDERS and all(map(_is_reminder, value)):
        return sorted(set(value), reverse=True)
    message = (
        f"it has to be a list of at most {MOST_REMINDERS} whole numbers from 1 to {LONGEST_REMINDER}, or {DEFAULT!r}"
    )
    raise ValueError(message)


def _is_reminder(value: object) -> bool:
    return type(value) is int and 1 <= value <= LONGEST_REMINDER


ReminderSeconds = Annotated[
    list[int] | str,
    PlainValidator(_reminders),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "array",
                    "maxItems": MOST_REMINDERS,
                    "items": {"type": "integer", "minimum": 1, "maximum": LONGEST_REMINDER},
                },
                {"const": DEFAULT, "type": "string"},
            ],
            "description": "From 1.2 on: how many seconds before its end the lease's project is reminded of it",
        }
    ),
]
_TYPES = [each.value for each in LeaseType]


TypeWord = Annotated[
    str,
    AfterValidator(one_of(_TYPES)),
    WithJsonSchema(
        {"type": "string", "enum": _TYPES, "description": "From 1.2 on: what happens if it cannot be granted at once"}
    ),
]
MOST_SECONDS = 24 * 3600
MOST_RETRIES = 10_000
OptionalDate = Annotated[str | None, Field(description="A date; null or empty means the configured default")]


class OpenObject(BaseModel):
    """An object of which only some keys are validated here; it keeps the others for later code."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)


class ReservationRequest(OpenObject):
    """A requested reservation: its resource type reads the other keys, and from 1.2 on those of how it ends."""

    resource_type: Annotated[str, Field(min_length=1, max_length=66)]


class ReservationChange(OpenObject):
    """A changed reservation: its resource type reads the other keys. The handler requires the id.

    A resource type may be named again; another one is refused.
    """

    id: str | None = None
    resource_type: Any = None


class EventRequest(RequestModel):
    """An event that a client adds: the project is told of it at its date. Without one it is only shown."""

    event_type: Annotated[str, Field(max_length=66)] | None = None
    event_date: Date | None = None


ProjectId = Annotated[str, Field(min_length=1, max_length=LONGEST_IDENT, pattern="^[!-~]+$")]
DryRun = Annotated[bool | None, Field(description="Answer what would happen, and do nothing")]

OpenEnded = Annotated[bool | None, Field(description="From 1.3 on, in place of an end: it goes on until it is deleted")]

_SINCE = {
    **SINCE_OF_PURPOSE,
    "heal_policy": HEAL_POLICY,
    "reminder_seconds": REMINDERS,
    "dry_run": DRY_RUNS,
    "open_ended": OPEN_ENDS,
}
_WAYS = ("type", "retries", "retry_seconds", "deadline")
_SINCE_OF_CREATION = {
    **_SINCE,
    **dict.fromkeys(_WAYS, LEASE_TYPES),
    "duration_seconds": SPANS,
    "ready_within_seconds": READY_WITHIN,
    "project_id": ON_BEHALF,
    "template": TEMPLATES,
}
_SHIFTS = ("extend_seconds", "shorten_seconds", "start_later_seconds", "start_earlier_seconds")
_SINCE_OF_AMENDMENT = {**_SINCE, **dict.fromkeys(_SHIFTS, SPANS), "shared_with": SHARING}
MOST_SHARES = 6
"""Nova keeps the projects of an aggregate in a text of 255 characters, and their ids have 32, and seldom 36."""
OtherProject = Annotated[str, Field(min_length=1, max_length=36, pattern="^[0-9A-Za-z-]+$")]


class LeaseRequest(RequestModel):
    """What a lease is asked for with, also by an offer."""

    model_config = LASTING
    name: Name
    start_date: Date
    end_date: Date
    duration_seconds: Duration = None
    before_end_date: OptionalDate = None
    reservations: Annotated[list[ReservationRequest] | None, Field(max_length=MOST_RESERVATIONS)] = None
    events: Annotated[list[EventRequest] | None, Field(max_length=MOST_EVENTS)] = None
    heal_policy: HealPolicyWord | None = None
    reminder_seconds: ReminderSeconds | None = None
    purpose: Purpose | None = None
    template: Template = None


class LeaseCreation(LeaseRequest):
    """The body of POST /v1/leases."""

    open_ended: OpenEnded = None
    ready_within_seconds: Annotated[
        int | None,
        Field(ge=1, le=MOST_SECONDS, description="How much later than `start_date` it may start, with the same length"),
    ] = None
    type: TypeWord | None = None
    retries: Annotated[int | None, Field(ge=1, le=MOST_RETRIES)] = None
    retry_seconds: Annotated[int | None, Field(ge=1, le=MOST_SECONDS)] = None
    deadline: Date | None = None
    dry_run: DryRun = None
    project_id: Annotated[ProjectId | None, Field(description="The project that gets it, by default the caller's")] = (
        None
    )

    since = _SINCE_OF_CREATION
    filled = OF_LEASE
    instead = {"end_date": ("duration_seconds", "open_ended")}  # noqa: RUF012 - the base class says that it is constant


class LeaseAmendment(RequestModel):
    """The body of PUT /v1/leases/{id}; an absent key changes nothing.

    `events` are ignored (contract http-api §5.4).
    """

    name: Name | None = None
    start_date: Date | None = None
    end_date: Date | None = None
    open_ended: OpenEnded = None
    extend_seconds: Annotated[Span | None, Field(description="From 1.3 on: move the end so much later")] = None
    shorten_seconds: Annotated[Span | None, Field(description="From 1.3 on: move the end so much earlier")] = None
    start_later_seconds: Annotated[Span | None, Field(description="From 1.3 on: move the start so much later")] = None
    start_earlier_seconds: Annotated[Span | None, Field(description="From 1.3 on: move the start so much earlier")] = (
        None
    )
    before_end_date: OptionalDate = None
    reservations: Annotated[list[ReservationChange] | None, Field(max_length=MOST_RESERVATIONS)] = None
    heal_policy: HealPolicyWord | None = None
    reminder_seconds: ReminderSeconds | None = None
    purpose: Annotated[Purpose | None, Field(description="From 1.3 on: what it is for; empty takes that away")] = None
    dry_run: DryRun = None
    shared_with: Annotated[
        list[OtherProject] | None,
        Field(
            max_length=MOST_SHARES, description="From 1.3 on: the projects that may boot servers in it beside its own"
        ),
    ] = None

    since = _SINCE_OF_AMENDMENT


Ident = Annotated[str, Field(min_length=1, max_length=LONGEST_IDENT)]


class SwapRequest(RequestModel):
    """The body of POST /v1/leases/{id}/swap: `server` or `host` says which host, `servers` which servers are on it.

    The handler requires exactly one of the first two.
    """

    server: Annotated[Ident | None, Field(description="The id of a server on the host to swap")] = None
    host: Annotated[
        Ident | None, Field(description="For callers who may list hosts: the id or hostname of the host to swap")
    ] = None
    servers: Annotated[list[Ident] | None, Field(max_length=MOST_SERVERS)] = None


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
    """The keys of every reservation; from `on_end` to `recycle_seconds` where servers may outlive a lease.

    Those are there from 1.2 on, what follows them from 1.3 on. End actions add their results, and its resource type
    adds more.
    """

    id: str
    lease_id: str
    resource_id: str
    resource_type: str
    status: str
    missing_resources: bool
    resources_changed: bool
    created_at: str | None
    updated_at: str | None
    no_show_seconds: NotRequired[int]
    on_end: NotRequired[str]
    grace_seconds: NotRequired[int]
    recycle_seconds: NotRequired[int]
    default_properties: NotRequired[str | None]
    default_properties_applied: NotRequired[bool | None]


class NoticeAnswer(TypedDict):
    """How long ahead the holder of a lease is told that what it has is taken back, and since when it is."""

    notice_seconds: int
    taken_back_at: str | None


class LeaseAnswer(TypedDict):
    """A lease: `status_reason` from 1.1 on, `heal_policy` and the keys below it from 1.2 on.

    `open_ended`, `shared_with`, `published_offer` and `parent_id`, the lease that has lent its hosts, come with 1.3,
    and `deleted_at` with deleted leases alone. So does `notice_seconds`: if who lends what it has takes that back, it
    ends so much later, and `taken_back_at` says since when that is so. A `purpose` is there if the lease has one.
    """

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
    heal_policy: NotRequired[str]
    reminder_seconds: NotRequired[list[int] | str]
    at_risk: NotRequired[bool]
    open_ended: NotRequired[bool]
    shared_with: NotRequired[list[str]]
    published_offer: NotRequired[str | None]
    parent_id: NotRequired[str | None]
    notice_seconds: NotRequired[int]
    taken_back_at: NotRequired[str | None]
    deleted_at: NotRequired[str]
    purpose: NotRequired[str]
    type: NotRequired[str]
    retries: NotRequired[int | None]
    retry_seconds: NotRequired[int | None]
    deadline: NotRequired[str | None]
    tried: NotRequired[int | None]
    reservations: list[ReservationAnswer]
    events: list[EventAnswer]


class WarningAnswer(TypedDict):
    """What the owner of a lease should know of it, as an error says it."""

    code: str
    message: str
    details: dict[str, Any]


class OneLease(TypedDict):
    """The answer about one lease; `reservations` only after a dry run: what it would have.

    `warnings` are there, from 1.3 on, if it was made, changed or tried and there are any.
    `held` only with `as_of`: what it held then, null for callers who may not see what leases have.
    """

    lease: LeaseAnswer
    reservations: NotRequired[list[HolderAnswer]]
    warnings: NotRequired[list[WarningAnswer]]
    held: NotRequired[list[HeldThen] | None]


LeaseList = answer("LeaseList", "The answer about leases.", leases=list[LeaseAnswer])
