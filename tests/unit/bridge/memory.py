"""Message buses in this process: oslo.messaging's real driver of RabbitMQ on kombu's transport in memory."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from queue import Queue
from typing import TYPE_CHECKING, Any

from leasehold import conf
from leasehold.bridge.transport import open_bus
from tests.processes import as_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.bridge.transport import Bus
    from leasehold.conf import Config
    from tests.processes import Options

MEMORY = "kombu+memory:///"
TOPIC = "notifications"
WITHIN = 120


def options(url: str = MEMORY, **notifications: object) -> Options:
    """Return the options of a bridge whose bus has this URL; queues outlive a restart of the broker."""
    return {
        "DEFAULT": {"transport_url": url},
        "oslo_messaging_notifications": {"driver": "messagingv2", **notifications},
        "oslo_messaging_rabbit": {"amqp_durable_queues": True},
    }


def configured(folder: Path, url: str = MEMORY, **notifications: object) -> Config:
    """Return the configuration of such a bridge."""
    path = folder / "bridge.conf"
    path.write_text(as_text(options(url, **notifications)))
    return conf.load(["--config-file", str(path)])


@dataclass
class Reader:
    """Someone who reads notifications: what has arrived, in order."""

    arrived: Queue[dict[str, Any]] = field(default_factory=Queue)

    def info(self, context: Any, publisher: str, kind: str, payload: Any, metadata: Any) -> None:
        self.arrived.put(
            {"context": context, "publisher_id": publisher, "event_type": kind, "payload": payload, **metadata}
        )

    def take(self, number: int) -> list[dict[str, Any]]:
        """Return the next notifications; waits for them."""
        return [self.arrived.get(timeout=WITHIN) for _ in range(number)]

    def rest(self) -> list[dict[str, Any]]:
        """Return what has arrived and was not taken, after the end of the reading."""
        return [self.arrived.get_nowait() for _ in range(self.arrived.qsize())]


@contextmanager
def reading(bus: Bus, topic: str = TOPIC) -> Iterator[Reader]:
    """Read the notifications of a topic for the length of the block."""
    reader = Reader()
    server = bus.listener([topic], reader)
    server.start(override_pool_size=1)
    try:
        yield reader
    finally:
        server.stop()
        server.wait()


def memory_bus(folder: Path, **notifications: object) -> Bus:
    return open_bus(configured(folder, MEMORY, **notifications).raw)
