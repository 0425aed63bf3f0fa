"""Machines that sleep: how each is switched, where it is between on and off, and how long it takes to wake up."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime, timedelta

    from leasehold.model.resource import Resource

SEEN: Final = 50
"""How many of the last wakes of a class count."""
ENOUGH: Final = 10
"""From so many wakes on they say more than the default."""
LARGER: Final = 1.25
"""If the last n durations say as much as the next one, that exceeds the largest with a probability of 1 in n + 1."""
LONGEST_REASON: Final = 500
"""In characters."""


class Stage(StrEnum):
    """Where a machine is between on and off."""

    ON = "on"
    CLOSING = "closing"
    """Its host is being closed; nothing was switched yet."""
    STOPPING = "stopping"
    ASLEEP = "asleep"
    WAKING = "waking"
    FAILED = "failed"
    """It has not come up. Its host stays closed until it does."""


class Outcome(StrEnum):
    """How a sleep has ended."""

    READY = "ready"
    CALLED_OFF = "called_off"
    """Its host was not empty, or could not be closed, so nothing was switched."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Machine:
    """How the machine of a host is switched: by the driver of its `power_class`, which knows it by its `address`.

    One that is `kept_on` is never switched off by itself. `failure` is why it could not be switched, from `failed_at`
    on: it stays on until a person says that it works.
    """

    resource_number: int
    power_class: str
    address: str
    kept_on: bool = False
    failure: str | None = None
    failed_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Sleep:
    """One sleep of a machine, from the decision on until its host is ready again.

    It `takes` so long to wake up at most. `stopped_at` is when it was asked to shut down, `off_at` when it was found
    off, `woken_at` when somebody needed it; `reported_at` is what its host had reported last before it was switched on,
    by the cloud's clock; `cycled_at` is when it was switched off and on again because it had not come up.
    """

    id: int
    resource_number: int
    power_class: str
    takes: timedelta
    decided_at: datetime
    stopped_at: datetime | None = None
    off_at: datetime | None = None
    woken_at: datetime | None = None
    reported_at: datetime | None = None
    cycled_at: datetime | None = None
    ready_at: datetime | None = None
    outcome: Outcome | None = None
    late: int = 0

    @property
    def boots_since(self) -> datetime | None:
        """When it could begin to boot: one that somebody needs while it shuts down has to be off before."""
        known = [each for each in (self.off_at, self.woken_at) if each is not None]
        return max(known) if self.woken_at is not None else None

    def ready_again(self, now: datetime) -> datetime:
        """Return when its host is ready at the latest, if somebody needs it now or did before."""
        return max((self.woken_at or now) + self.takes, now)

    @property
    def stage(self) -> Stage:
        """Where the machine is."""
        if self.ready_at is not None or self.outcome in (Outcome.READY, Outcome.CALLED_OFF):
            return Stage.ON
        if self.outcome is Outcome.FAILED:
            return Stage.FAILED
        if self.woken_at is not None:
            return Stage.WAKING
        if self.stopped_at is None:
            return Stage.CLOSING
        return Stage.STOPPING if self.off_at is None else Stage.ASLEEP


def zone_of(host: Resource) -> str:
    """Return the availability zone of a host, by which reports count it; empty if it is in none."""
    return str(host.attributes.get("availability_zone", ""))


def margin(durations: Sequence[timedelta], floor: timedelta, default: timedelta) -> timedelta:
    """Return how long the next wake takes at most by the last ones, oldest first; the default if those are few."""
    seen = durations[-SEEN:]
    return max(floor, LARGER * max(seen)) if len(seen) >= ENOUGH else default
