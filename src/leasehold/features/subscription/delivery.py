"""Delivery: what a subscription waits for is sent in order, and recorded when the receiver has acknowledged it.

A process that dies between the two leaves the event to be sent again, with the same id (decision 0040).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING

from prometheus_client import Counter

from leasehold.db import event_log
from leasehold.features.subscription import store as rows
from leasehold.features.subscription.channel import DeliveryError
from leasehold.features.subscription.channels import CHANNELS
from leasehold.features.subscription.model import SLOW_FOR, DeadLetter, DeliveryProgress
from leasehold.features.subscription.settings import DeliverySettings
from leasehold.model.backoff import pause_after

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from sqlalchemy import Connection

    from leasehold.features.subscription.channel import Channel, Sender
    from leasehold.features.subscription.model import ChannelName, DueSubscription, Subscription
    from leasehold.leasing.service import Service
    from leasehold.model.event_log import LogEvent

DELIVERED = "delivered"
FAILED = "failed"
DEAD = "dead"
SUSPENDED = "suspended"

DELIVERIES = Counter(
    "leasehold_deliveries",
    "Tries to deliver an event. `failed`: tried again; `dead`: refused so often that it became a dead letter; "
    "`suspended`: failed for so long that its subscription was suspended.",
    ["channel", "outcome"],
)

log = logging.getLogger(__name__)

PAGE = 50
"""Events that are read at a time."""
TURN_SECONDS = 2.0
"""After so long a subscription gives its thread back, so that others that wait get one."""
SAVE_SECONDS = 1.0
"""Acknowledged events are recorded at least this often: so much is sent again after a crash."""
SLOW_SECONDS = 1.0
"""An acknowledgement that takes longer makes a subscription slow, as a failure does."""


@dataclass(frozen=True, slots=True)
class DeliveryClaim:
    """A subscription that belongs to one deliverer until the claim expires; `candidate` is whose share it counts to."""

    candidate: DueSubscription
    subscription: Subscription
    claimer: str


def claim_length(service: Service) -> timedelta:
    """Return how long a claim lasts: a try and what is written after it, several times over."""
    return timedelta(seconds=3 * (service.settings.of(DeliverySettings).answer_seconds + SAVE_SECONDS))


def claim_deliveries(service: Service, chosen: Sequence[DueSubscription], claimer: str) -> Sequence[DeliveryClaim]:
    """Claim those of the chosen subscriptions that no other manager has claimed meanwhile."""
    by_id = {each.id: each for each in chosen}

    def claim(connection: Connection) -> Sequence[Subscription]:
        now = service.now()
        return rows.claim_subscriptions(connection, list(by_id), claimer, now, now + claim_length(service))

    return [DeliveryClaim(by_id[won.id], won, claimer) for won in service.db.transact(claim)]


def deliver(
    service: Service,
    claim: DeliveryClaim,
    stopping: Callable[[], bool],
    channels: Mapping[ChannelName, Channel] = CHANNELS,
) -> None:
    """Send what a claimed subscription waits for, until its turn is over or a delivery fails, and release the claim."""
    _Turn(service, claim, stopping, channels[claim.subscription.channel]).run()


class _Turn:
    """One turn of a subscription: how far it has come, and what of that is recorded."""

    def __init__(self, service: Service, claim: DeliveryClaim, stopping: Callable[[], bool], channel: Channel) -> None:
        self._service = service
        self._channel = channel
        self._claim = claim
        self._stopping = stopping
        self._settings = service.settings.of(DeliverySettings)
        mine = self._mine = claim.subscription
        self._progress = DeliveryProgress(
            mine.position,
            mine.failures,
            mine.refusals,
            mine.failing_since,
            last_error=mine.last_error,
            slow_until=mine.slow_until,
        )
        self._end = monotonic() + TURN_SECONDS
        self._saved = monotonic()
        self._pause = channel.pause(self._settings)

    def run(self) -> None:
        with self._channel.opened(self._mine, self._settings) as sender:
            while True:
                events, end = self._read()
                if not all(self._sent(sender, event) for event in events):
                    return
                if len(events) < PAGE:
                    # Nothing more up to the end of the log is for this subscription.
                    self._progress = replace(self._progress, position=max(end, self._progress.position))
                    break
                if self._is_over():
                    break
        self._save(release=True)

    def _read(self) -> tuple[Sequence[LogEvent], int]:
        """Return the next events, and the end of the log."""
        with self._service.db.reading() as connection:
            state = event_log.log_state(connection)
            found = list(event_log.each_event(connection, self._progress.position, self._mine.wanted, PAGE))
        return found, state.end.position

    def _is_over(self) -> bool:
        return self._stopping() or monotonic() >= self._end

    def _sent(self, sender: Sender, event: LogEvent) -> bool:
        """Send one event; say whether to go on. If not, the claim is lost, or released with all that was reached."""
        begun = monotonic()
        try:
            sender.send(event, self._service.now())
        except DeliveryError as error:
            self._record_failure(event, error)
            return False
        DELIVERIES.labels(self._mine.channel, DELIVERED).inc()
        slow_until = self._progress.slow_until
        if monotonic() - begun > SLOW_SECONDS:
            slow_until = self._service.now() + SLOW_FOR
        due_at = self._service.now() + self._pause if self._pause else None
        self._progress = DeliveryProgress(event.cursor.position, due_at=due_at, slow_until=slow_until)
        if due_at or self._is_over():
            self._save(release=True)
            return False
        return monotonic() < self._saved + SAVE_SECONDS or self._save()

    def _record_failure(self, event: LogEvent, error: DeliveryError) -> None:
        now, settings, done = self._service.now(), self._settings, self._progress
        failures, refusals, since = done.failures + 1, done.refusals + error.refused, done.failing_since or now
        failed = replace(
            done,
            failures=failures,
            refusals=refusals,
            failing_since=since,
            last_error=str(error),
            slow_until=now + SLOW_FOR,
        )
        if refusals >= settings.refused_tries:
            outcome, dead = DEAD, _dead_letter(event, now, error)
            # `failing_since` stays: a receiver that refuses everything is suspended in the end.
            failed = replace(failed, position=event.cursor.position, failures=0, refusals=0)
        elif now - since >= settings.give_up:
            outcome, dead = SUSPENDED, None
            failed = replace(failed, suspended_at=now)
        else:
            outcome, dead = FAILED, None
            pause = pause_after(failures, first=settings.retry_first_seconds, most=settings.retry_most_seconds)
            failed = replace(failed, due_at=now + pause)
        self._progress = failed
        if self._save(release=True, dead=dead):
            DELIVERIES.labels(self._mine.channel, outcome).inc()

    def _save(self, *, release: bool = False, dead: DeadLetter | None = None) -> bool:
        """Record how far the subscription has come; say whether the claim still holds."""
        until = None if release else self._service.now() + claim_length(self._service)

        def write(connection: Connection) -> bool:
            return rows.save_progress(connection, self._mine.id, self._claim.claimer, self._progress, until, dead)

        self._saved = monotonic()
        if self._service.db.transact(write):
            return True
        log.info("Subscription %s was changed, or another manager took it, while it was served", self._mine.id)
        return False


def _dead_letter(event: LogEvent, now: datetime, error: DeliveryError) -> DeadLetter:
    cursor = event.cursor
    return DeadLetter(str(cursor), cursor.position, event.type, event.lease_id, now, str(error))
