"""Formats of capacity alarms, from 1.2 on."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from leasehold.api.models.base import TEN_YEARS, RequestModel, answer
from leasehold.api.models.lease import OpenObject
from leasehold.api.models.name import OptionalName  # noqa: TC001 - read at run time
from leasehold.resource_types.fields import MOST

HOUR = 3_600


class WatchedReservation(OpenObject):
    """A reservation as in POST /v1/leases: its resource type reads the other keys.

    The keys that say how many are asked for (`min` and `max`, or `amount`) may be left out, and have no effect.
    """

    resource_type: Annotated[str, Field(min_length=1, max_length=66)]


class AlarmCreation(RequestModel):
    """The body of POST /v1/alarms: of what there has to be enough, and how much that is."""

    reservation: WatchedReservation
    below: Annotated[int, Field(ge=1, le=MOST, description="Low while fewer than these could be leased")]
    duration: Annotated[
        int, Field(ge=1, le=TEN_YEARS, description="Seconds for which they could be leased from now on")
    ] = HOUR
    name: OptionalName = ""


@with_config(ConfigDict(extra="allow"))
class WatchedAnswer(TypedDict):
    """What is counted: the reservation as it was sent, without the keys that say how many."""

    resource_type: str


class AlarmAnswer(TypedDict):
    """A capacity alarm, and what its last check has found.

    `available` is null while it is `unknown`; `reason` says why it is that, or why nothing at all could be leased.
    """

    id: str
    name: str
    project_id: str
    user_id: str
    reservation: WatchedAnswer
    below: int
    duration: int
    state: str
    available: int | None
    reason: str | None
    created_at: str
    changed_at: str | None
    checked_at: str | None


OneAlarm = answer("OneAlarm", "The answer about one alarm.", alarm=AlarmAnswer)
AlarmList = answer("AlarmList", "The answer about alarms.", alarms=list[AlarmAnswer])
