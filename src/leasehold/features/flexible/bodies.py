"""Formats of flexible leases, from 1.3 on."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema
from typing_extensions import TypedDict

from leasehold.api.models.base import RequestModel, answer, one_of
from leasehold.api.models.lease import (
    MOST_RESERVATIONS,
    SINCE_OF_PURPOSE,
    Date,
    HealPolicyWord,
    LeaseAnswer,
    ReminderSeconds,
    ReservationRequest,
)
from leasehold.api.models.name import Name, Purpose  # noqa: TC001 - read at run time
from leasehold.features.flexible.model import Strategy

LONGEST = 366 * 24 * 3600
"""In seconds: from the earliest start to the latest end."""
MOST_HOURS = 20
_STRATEGIES = [each.value for each in Strategy]
_Span = Annotated[int, Field(ge=60, le=LONGEST, description="How long it lasts")]
_Piece = Annotated[int, Field(ge=60, le=LONGEST, description="It may be cut into leases that last at least so long")]
_Frozen = Annotated[int, Field(ge=0, le=LONGEST, description="So many seconds before its start it is moved no more")]
_Strategy = Annotated[
    str,
    AfterValidator(one_of(_STRATEGIES)),
    WithJsonSchema({"type": "string", "enum": _STRATEGIES, "description": "Which of the places that fit it gets"}),
]
_Hours = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=32)]],
    Field(max_length=MOST_HOURS, description="nights, weekends, or hours such as mon-fri 22:00-06:00; none: any time"),
]
_Zone = Annotated[str, Field(min_length=1, max_length=64, description="The time zone of the hours")]


class FlexibleCreation(RequestModel):
    """The body of POST /v1/flexible-leases: so much time from `earliest`, by default now, to `latest`."""

    name: Name
    earliest: Date | None = None
    latest: Date
    duration_seconds: _Span
    piece_seconds: _Piece | None = None
    frozen_seconds: _Frozen | None = None
    strategy: _Strategy = Strategy.SOONEST.value
    hours: _Hours | None = None
    time_zone: _Zone = "UTC"
    reservations: Annotated[list[ReservationRequest] | None, Field(max_length=MOST_RESERVATIONS)] = None
    heal_policy: HealPolicyWord | None = None
    reminder_seconds: ReminderSeconds | None = None
    purpose: Purpose | None = None

    since = SINCE_OF_PURPOSE


class FlexibleAmendment(RequestModel):
    """The body of PUT /v1/flexible-leases/{id}; an absent key changes nothing."""

    earliest: Date | None = None
    latest: Date | None = None
    duration_seconds: _Span | None = None
    frozen_seconds: _Frozen | None = None
    strategy: _Strategy | None = None
    hours: _Hours | None = None
    time_zone: _Zone | None = None


class PieceAnswer(TypedDict):
    """A lease of a request, as it is now."""

    id: str
    start_date: str
    end_date: str
    status: str


class FlexibleAnswer(TypedDict):
    """A flexible lease: its terms, and the lease where it is now, with the same id.

    `pieces` are all leases of its request that are not deleted, by their starts; it is the only one if it was not cut.

    `state` is `flexible` while it may be moved, `frozen` from `frozen_at` on, and `fixed` after an amendment has given
    the lease other dates. It was moved `moves` times, last at `moved_at`.
    """

    id: str
    state: str
    earliest: str
    latest: str
    duration_seconds: int
    frozen_seconds: int
    strategy: str
    hours: list[str]
    time_zone: str
    frozen_at: str
    moves: int
    moved_at: str | None
    pieces: list[PieceAnswer]
    lease: LeaseAnswer


OneFlexible = answer("OneFlexible", "The answer about one flexible lease.", flexible_lease=FlexibleAnswer)
FlexibleList = answer("FlexibleList", "The answer about flexible leases.", flexible_leases=list[FlexibleAnswer])
