"""Capacity alarms: a project is told when less can be leased than it wants to rely on (feature D6, decision 0048)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from leasehold.model.errors import TooManyError
from leasehold.model.event_log import AlarmNews

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


class TooManyAlarmsError(TooManyError):
    """The project has as many capacity alarms as it may have."""

    code = "leasehold.alarms.too_many"
    things = "capacity alarms"
    advice = "Delete one that is not used, or ask an operator for more."


class AlarmState(StrEnum):
    """Whether enough could be leased at the last check; unknown if that is not known, as before the first one."""

    OK = "ok"
    LOW = "low"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class AlarmDraft:
    """A requested alarm; `reservation` is a raw object with a `resource_type`, and `duration` in seconds."""

    reservation: Mapping[str, Any]
    below: int
    duration: int
    name: str = ""


LONGEST_REASON = 1_000
"""In characters."""


@dataclass(frozen=True, slots=True)
class Count:
    """How much could be leased, in the noun of the resource type; None if that is not known, for the `reason`.

    A reason with a count of 0 says why no amount at all would be granted.
    """

    available: int | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Alarm:
    """Low while fewer than `below` of what the reservation describes could be leased from now for `duration` seconds.

    `reservation` is what the client asked for, with the `resource_type` and without an amount; `request` is the typed
    request as JSON. `low` is the side on which the last count was, None before the first, and `changed_at` the moment
    of the check that found it there first. `available` and `reason` are of the last check, which was at `checked_at`.
    `sees_private` says that whoever made it may use private properties.
    """

    id: str
    project_id: str
    user_id: str
    name: str
    reservation: Mapping[str, Any]
    request: Mapping[str, Any]
    below: int
    duration: int
    created_at: datetime
    generation: int = 0
    low: bool | None = None
    available: int | None = None
    reason: str | None = None
    changed_at: datetime | None = None
    checked_at: datetime | None = None
    sees_private: bool = False

    @property
    def resource_type(self) -> str:
        """The resource type that it counts."""
        return str(self.reservation["resource_type"])

    @property
    def state(self) -> AlarmState:
        """How it stood at the last check."""
        if self.available is None:
            return AlarmState.UNKNOWN
        return AlarmState.LOW if self.low else AlarmState.OK

    def checked(self, count: Count, now: datetime) -> Alarm:
        """Return the alarm after a check; without a count it stays on its side, so that no crossing is told twice."""
        low = self.low if count.available is None else count.available < self.below
        reason = None if count.reason is None else count.reason[:LONGEST_REASON]
        changed_at = self.changed_at if low == self.low else now
        return replace(self, low=low, available=count.available, reason=reason, changed_at=changed_at, checked_at=now)


def crossing(before: Alarm, after: Alarm) -> AlarmNews | None:
    """Return what a check has to tell: that the alarm became low, also at its first check, or is no longer low."""
    if bool(before.low) == bool(after.low):
        return None
    return AlarmNews.LOW if after.low else AlarmNews.RESTORED
