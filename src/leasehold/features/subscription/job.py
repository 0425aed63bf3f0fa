"""The deliverer: claims subscriptions that have events to send, and hands them to threads (decision 0040).

Every manager runs one. A subscription is served by one thread of one manager at a time, so that its events stay in
order. A receiver that hangs keeps a thread for `[delivery] answer_seconds`; `fair_share` leaves the others theirs.
"""

from __future__ import annotations

import logging
import os
import socket
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING
from uuid import uuid4

from leasehold.features.subscription.channels import CHANNELS
from leasehold.features.subscription.delivery import DeliveryClaim, claim_deliveries, deliver
from leasehold.features.subscription.model import fair_share
from leasehold.features.subscription.settings import DeliverySettings
from leasehold.features.subscription.store import candidates, release_claims
from leasehold.manager.periodic_thread import PeriodicThread
from leasehold.manager.worker_pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from leasehold.features.subscription.channel import Channel
    from leasehold.features.subscription.model import ChannelName
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)


class Deliverer(PeriodicThread):
    """Looks for events to send every `[manager] event_seconds`."""

    def __init__(self, service: Service, channels: Mapping[ChannelName, Channel] = CHANNELS) -> None:
        super().__init__("deliverer", service.settings.manager.event_seconds)
        self._service = service
        self._channels = channels
        self._threads = service.settings.of(DeliverySettings).threads
        self._name = f"{socket.gethostname()[:20]}:{os.getpid()}"
        self._ending = Event()
        self._pool: WorkerPool[DeliveryClaim] = WorkerPool(self._threads, self._work, _nothing, "delivery")

    def start(self) -> None:
        self._pool.start()
        super().start()

    def begin_to_stop(self) -> None:
        """Begin no other delivery."""
        super().begin_to_stop()
        self._ending.set()

    def stop(self, seconds: float) -> None:
        """Wait up to `seconds` for the deliveries that have begun; another manager takes over those that are left."""
        end = monotonic() + seconds
        super().stop(seconds)
        self._release(self._pool.close())
        self._release(self._pool.wait(max(0.0, end - monotonic())))

    def run_once(self) -> None:
        """Claim what there are threads for; errors are logged, and the next run tries again."""
        try:
            self._claim_some()
        except Exception:
            log.exception("Subscriptions could not be claimed; the next run tries again")

    def _claim_some(self) -> None:
        with self._service.db.reading() as connection:
            waiting = candidates(connection, self._service.now(), list(self._channels))
        busy = [each.candidate for each in self._pool.claims()]
        chosen = fair_share(waiting, busy, self._threads)
        if chosen:
            claimer = f"{self._name}:{uuid4().hex[:12]}"
            self._pool.add(claim_deliveries(self._service, chosen, claimer))

    def _work(self, claim: DeliveryClaim) -> None:
        try:
            deliver(self._service, claim, self._ending.is_set, self._channels)
        except Exception:
            log.exception("Subscription %s is served again when its claim expires", claim.candidate.id)

    def _release(self, claims: Collection[DeliveryClaim]) -> None:
        if not claims:
            return
        ids, claimers = [each.candidate.id for each in claims], {each.claimer for each in claims}
        try:
            self._service.db.transact(lambda connection: release_claims(connection, ids, claimers))
        except Exception:
            log.exception("Claims of subscriptions cannot be released; they are free when they expire")


def _nothing() -> None:
    """A subscription that has more to send waits for the next run, behind those that have waited longer."""


def jobs(service: Service) -> Sequence[Deliverer]:
    """Deliver events to those who subscribed to them."""
    return [Deliverer(service)]
