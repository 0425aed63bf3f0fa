"""The parts of the bridge, put together and run."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import timedelta
from time import monotonic
from typing import TYPE_CHECKING

from leasehold.bridge.listener import Listener
from leasehold.bridge.sender import BusChannel
from leasehold.bridge.transport import open_bus
from leasehold.bridge.watcher import Watcher
from leasehold.conf.errors import ConfigurationError
from leasehold.features.subscription.job import Deliverer
from leasehold.features.subscription.model import ChannelName
from leasehold.features.subscription.settings import DeliverySettings
from leasehold.features.subscription.use import follow_bus
from leasehold.manager.metrics import metrics_served

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oslo_config import cfg

    from leasehold.bridge.transport import Bus
    from leasehold.leasing.service import Service
    from leasehold.resource_types.registry import ResourceType

NOTHING_TO_DO = (
    "There is nothing to do. Set [oslo_messaging_notifications] driver = messagingv2 to send notifications, or "
    "[physical:host] enable_notification_monitor = true to listen to Nova's, or name types in "
    "[notifications] pushed_types to listen to theirs."
)


@contextmanager
def bridging(service: Service, conf: cfg.ConfigOpts) -> Iterator[None]:
    """Send and listen for the length of the block; raises ConfigurationError if there is nothing to do.

    Also if a type is pushed whose driver names no notifications.
    """
    bus, settings = open_bus(conf), service.settings
    if not bus.formats and not settings.bridge.pushed:
        raise ConfigurationError(NOTHING_TO_DO)
    pushed = pushed_types(service)
    with ExitStack() as stack:
        end = _End(settings.manager.shutdown_seconds)
        if bus.formats:
            follow_bus(service)
            deliverer = sending(service, bus)
            deliverer.start()
            stack.callback(lambda: deliverer.stop(end.left()))
        if pushed:
            watcher = Watcher(service)
            listener = Listener(bus, settings.bridge.topics, pushed, watcher.tell)
            watcher.start()
            stack.callback(lambda: watcher.stop(end.left()))
            listener.start()
            stack.callback(lambda: listener.stop(end.left()))
        with metrics_served(service, settings.bridge.metrics, "notifications"):
            yield


def pushed_types(service: Service) -> Sequence[ResourceType]:
    """Return the types that are pushed; raises ConfigurationError for one whose driver names no notifications."""
    known = {each.name: each for each in service.types.notified()}
    wanted = service.settings.bridge.pushed
    unknown = ", ".join(sorted(wanted - known.keys()))
    if unknown:
        message = (
            f"[notifications] pushed_types has {unknown}, of which no installed plugin names notifications. Types that "
            f"can be pushed: {', '.join(sorted(known))}."
        )
        raise ConfigurationError(message)
    return [known[name] for name in sorted(wanted)]


def sending(service: Service, bus: Bus) -> Deliverer:
    """Return what delivers the events of the bus: one after the other, each until the bus has accepted it."""
    settings = service.settings
    most = settings.bridge.retry_most_seconds
    patient = replace(settings.of(DeliverySettings), threads=1, give_up=timedelta.max, retry_most_seconds=most)
    channel = BusChannel(bus, service.types, settings.bridge.publisher_id)
    return Deliverer(replace(service, settings=settings.having(patient)), {ChannelName.BUS: channel})


class _End:
    """How many seconds are left for the stop, counted from the first question."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end: float | None = None

    def left(self) -> float:
        if self._end is None:
            self._end = monotonic() + self._seconds
        return max(0.0, self._end - monotonic())
