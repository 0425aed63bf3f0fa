"""Subscriptions: who is sent which events of the log, and how far that has come (feature D5, decision 0040)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from leasehold.model.errors import TooManyError
from leasehold.model.event_log import EventFilter

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from datetime import datetime

SLOW_FOR = timedelta(minutes=10)
"""How long a subscription counts as slow after it was made, failed, or took long."""


class TooManySubscriptionsError(TooManyError):
    """The project has as many subscriptions as it may have."""

    code = "leasehold.subscriptions.too_many"
    things = "subscriptions"
    advice = "Delete one that is not used, or ask an operator for more."


class ChannelName(StrEnum):
    """How events are sent."""

    WEBHOOK = "webhook"
    EMAIL = "email"
    BUS = "bus"
    """The message bus of the cloud, which `leasehold-bridge` alone serves; nobody subscribes to it by the API."""


SUBSCRIBABLE = (ChannelName.WEBHOOK, ChannelName.EMAIL)
"""The channels of subscriptions that users make, see and delete."""


class SubscriptionStatus(StrEnum):
    """Whether deliveries succeed, fail and are tried again, or are no longer tried."""

    ACTIVE = "active"
    FAILING = "failing"
    SUSPENDED = "suspended"


@dataclass(frozen=True, slots=True)
class DeliveryProgress:
    """How far a subscription has come, and how its last try went."""

    position: int
    failures: int = 0
    refusals: int = 0
    failing_since: datetime | None = None
    suspended_at: datetime | None = None
    due_at: datetime | None = None
    last_error: str | None = None
    slow_until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription(DeliveryProgress):
    """Events that are sent to a target, in the order of the log.

    All events up to `position` are delivered, or dead letters. `event_types` empty means all types, `all_projects` also
    the events of resources, `own` only those of the leases and alarms of `user_id`. `failures` counts the failed tries
    of the next event, `refusals` those that the receiver refused; `failing_since` is the first failure since a success,
    and `due_at` the time of the next try. Until `slow_until` it counts as slow (`fair_share`).
    """

    id: str
    project_id: str
    user_id: str
    all_projects: bool
    channel: ChannelName
    target: str
    secret: str = field(repr=False)
    event_types: tuple[str, ...]
    lease_id: str | None
    created_at: datetime
    own: bool = False

    @property
    def status(self) -> SubscriptionStatus:
        """How its deliveries go."""
        if self.suspended_at is not None:
            return SubscriptionStatus.SUSPENDED
        return SubscriptionStatus.ACTIVE if self.failing_since is None else SubscriptionStatus.FAILING

    @property
    def wanted(self) -> EventFilter:
        """Which events it is sent."""
        project, user = None if self.all_projects else self.project_id, self.user_id if self.own else None
        return EventFilter(project, self.lease_id, self.event_types, user)


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """An event that the receiver of a subscription refused, and that is not sent again unless it is replayed."""

    event_id: str
    position: int
    event_type: str
    lease_id: str | None
    died_at: datetime
    error: str


@dataclass(frozen=True, slots=True)
class DueSubscription:
    """A subscription that has something to send: its id, the project whose share it counts to, whether it is slow."""

    id: str
    project_id: str
    slow: bool


def fair_share(
    waiting: Sequence[DueSubscription], busy: Collection[DueSubscription], threads: int
) -> list[DueSubscription]:
    """Return which of the waiting subscriptions get a free thread: those of the projects that have fewest go first.

    A project gets at most a quarter of the threads, and the slow subscriptions get at most half of them, those of one
    project an eighth, but each at least one. Slow are those that failed or took long within the last minutes, and those
    that are new: a receiver that hangs now and then would else get a thread of the others each time.
    """
    chosen: list[DueSubscription] = []
    running = list(busy)
    of_project = Counter(each.project_id for each in running)
    slow_of_project = Counter(each.project_id for each in running if each.slow)
    for each in _in_turn(waiting, busy):
        if len(running) >= threads:
            break
        no_more = of_project[each.project_id] >= max(1, threads // 4)
        none_of_its_slow = slow_of_project[each.project_id] >= max(1, threads // 8)
        no_more_slow = none_of_its_slow or slow_of_project.total() >= max(1, threads // 2)
        if no_more or (each.slow and no_more_slow):
            continue
        chosen.append(each)
        running.append(each)
        of_project[each.project_id] += 1
        slow_of_project[each.project_id] += each.slow
    return chosen


def _in_turn(waiting: Sequence[DueSubscription], busy: Collection[DueSubscription]) -> list[DueSubscription]:
    """Sort by how many of the same project, slow ones or others, have a thread or come before; else keep the order.

    Without this, many slow receivers of a few projects would take each thread that the slow ones leave.
    """
    before = Counter((each.project_id, each.slow) for each in busy)

    def place(each: DueSubscription) -> int:
        before[each.project_id, each.slow] += 1
        return before[each.project_id, each.slow]

    return sorted(waiting, key=place)
