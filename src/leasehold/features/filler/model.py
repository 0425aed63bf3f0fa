"""Fillers: whole hosts that a project uses until a promise needs them, and when each has to go (feature K2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from leasehold.model.errors import TooManyError
from leasehold.model.resource import Health

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from leasehold.db.resources.use import Use
    from leasehold.features.filler.options import FillerSettings
    from leasehold.model.resource import Resource

LONGEST_REASON: Final = 500
"""In characters."""
MARK: Final = "leasehold:filler"
"""The metadata key of an aggregate that names the filler whose host it has."""
LATER: Final = timedelta(seconds=1)
"""A guarantee that ends later by less is the same: promises are in whole seconds."""


class TooManyFilledHostsError(TooManyError):
    """The project has as many hosts in fillers as it may have."""

    code = "leasehold.fillers.too_many"
    things = "hosts in fillers"
    advice = "Ask for fewer, or end a filler that is not used."
    instead = "Ask for a lease with POST /v1/leases, or ask an operator for them."


class Stage(StrEnum):
    """Where a host of a filler is between the grant and its end."""

    COMING = "coming"
    """It is granted, and a manager gives it to the project within seconds."""
    ACTIVE = "active"
    LEAVING = "leaving"
    """Its project was told when its servers end."""
    ENDING = "ending"
    OVERDUE = "overdue"
    """Its servers do not end. What was promised on the host has another one, if there is one."""
    ENDED = "ended"


@dataclass(frozen=True, slots=True)
class FillerDraft:
    """A requested filler: one reservation of whole hosts, as in a lease, each guaranteed for `at_least`.

    It ends at `ends_at` at the latest, None: when its hosts are needed.
    """

    reservation: Mapping[str, Any]
    at_least: timedelta
    ends_at: datetime | None = None
    name: str = ""


@dataclass(frozen=True, slots=True)
class Filler:
    """What a project was granted; `reservation` is what it asked for, `request` that as the resource type stores it."""

    id: str
    project_id: str
    user_id: str
    name: str
    reservation: Mapping[str, Any]
    request: Mapping[str, Any]
    at_least_seconds: int
    ends_at: datetime | None
    created_at: datetime
    ended_at: datetime | None = None

    @property
    def state(self) -> str:
        """Whether it has a host or will have one: `active`, or `ended`."""
        return "active" if self.ended_at is None else "ended"

    @property
    def resource_type(self) -> str:
        """The type of its resources."""
        return str(self.reservation["resource_type"])


@dataclass(frozen=True, slots=True)
class FilledHost:
    """One host of a filler, which is in the cloud what a reservation is: its `id` names its aggregate.

    `told_until` is the end of the guarantee as its project knows it, None: nothing is promised on the host.
    `told_at` is when its project was told that its servers end at `leaves_at`, for a `reason`; `overdue_at` when it was
    given up because they did not. `facts` are those of the reservation in the cloud, as its driver has stored them.
    `claimer` is the manager at work on it, until `claim_until`.
    """

    id: str
    filler_id: str
    project_id: str
    resource_number: int
    granted_at: datetime
    told_until: datetime | None = None
    arrived_at: datetime | None = None
    told_at: datetime | None = None
    leaves_at: datetime | None = None
    reason: str | None = None
    overdue_at: datetime | None = None
    ended_at: datetime | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    claimer: str | None = None
    claim_until: datetime | None = None

    def stage(self, now: datetime) -> Stage:
        """Return where it is."""
        if self.ended_at is not None:
            return Stage.ENDED
        if self.leaves_at is not None:
            ending = Stage.ENDING if self.overdue_at is None else Stage.OVERDUE
            return ending if self.leaves_at <= now else Stage.LEAVING
        return Stage.COMING if self.arrived_at is None else Stage.ACTIVE


@dataclass(frozen=True, slots=True)
class Leave:
    """That a host has to go: its servers end `at` a moment, for a `reason` that its project is told."""

    at: datetime
    reason: str


NEEDED: Final = "A lease needs its host."
WAITED_FOR: Final = "A lease waits for a host."
OVER: Final = "Its time is over."
ASKED: Final = "Its project has ended it."
FAILED: Final = "Its host has failed."
CLOSED: Final = "Its host is taken out of service."
NOT_GIVEN: Final = "Its host could not be given to it in time."


@dataclass(frozen=True, slots=True)
class Standing:
    """A host of a filler with all that decides when it has to go, and the settings for this host.

    `margin` is the cleaning time of its pool.
    """

    host: FilledHost
    filler: Filler
    resource: Resource
    use: Use
    margin: timedelta
    settings: FillerSettings

    def guaranteed_until(self, now: datetime) -> datetime | None:
        """Return until when its servers are let be in any case, as the calendar says now; None: nothing is promised.

        That is what its project was told once it has to go, and never less than the notice before.
        """
        if self.host.leaves_at is not None:
            return self.host.leaves_at
        noticed, over = now + self.settings.notice, self.filler.ends_at
        ends = [each for each in (self._needed_at(), over) if each is not None]
        return max(min(ends), noticed if over is None else min(noticed, over)) if ends else None

    def _needed_at(self) -> datetime | None:
        """Return when its servers have to end for what is promised next, or had to, for what has begun."""
        start = self.host.granted_at if self.use.used else self.use.next_start
        return None if start is None else start - self.margin - self.settings.leaving

    def leave(self, now: datetime, *, wanted: bool) -> Leave | None:
        """Return that it has to go, None if it may stay; one that was told stays told.

        It is `wanted` if a lease that waits would get it. The notice is kept as long as a manager looks in time. If
        none did, the promise comes before the notice.
        """
        if self.host.told_at is not None:
            return None
        failed = self.resource.health is Health.FAILED
        if failed or (self.host.arrived_at is None and now - self.host.granted_at >= self.settings.evict):
            return Leave(now, FAILED if failed else NOT_GIVEN)
        noticed = self._noticed(now)
        return Leave(now + self.settings.notice, WAITED_FOR) if noticed is None and wanted else noticed

    def _noticed(self, now: datetime) -> Leave | None:
        """Return that it has to go after a notice; None if it may stay."""
        noticed = now + self.settings.notice
        needed = self._needed_at()
        if needed is not None and needed <= noticed:
            return Leave(max(now, min(noticed, needed + self.settings.every)), NEEDED)
        if self.filler.ends_at is not None and self.filler.ends_at <= noticed:
            return Leave(max(now, self.filler.ends_at), OVER)
        each = self.resource
        if each.disabled or each.held_for is not None or not each.open_to(self.host.project_id):
            return Leave(noticed, CLOSED)
        return None
