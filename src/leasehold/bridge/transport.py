"""Opens the message bus that `transport_url` names, and imports oslo.messaging for the package.

oslo.messaging loads eventlet. It patches nothing here: our threads and those of oslo.messaging are native.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from leasehold.conf.errors import ConfigurationError

with warnings.catch_warnings():
    # eventlet warns of itself when it is imported, which nothing that operators can do prevents.
    warnings.simplefilter("ignore")
    import oslo_messaging

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

GROUP = "oslo_messaging_notifications"
FORMATS: Mapping[str, float] = {"messaging": 1.0, "messagingv2": 2.0}
"""The notification drivers that send to the bus, with the version of the message's format."""
SILENT = frozenset({"noop"})
CANNOT_BE_USED = (
    "transport_url, in [DEFAULT] or [oslo_messaging_notifications], cannot be used. Write one such as "
    "rabbit://USER:PASSWORD@HOST:5672/. In a password write @ : / % as %40 %3A %2F %25, and $ as $$."
)


@dataclass(frozen=True, slots=True)
class Bus:
    """The message bus: the transport of oslo.messaging, and where and in which formats notifications are sent.

    No formats mean that none are sent.
    """

    transport: Any
    topics: tuple[str, ...]
    formats: tuple[float, ...]

    def send(self, topic: str, context: Mapping[str, Any], message: Mapping[str, Any], version: float) -> None:
        """Return when the bus has confirmed the message; raises whatever the libraries raise.

        Not by oslo.messaging's Notifier: that logs what the bus does not accept, and returns as if it were sent.
        """
        target = oslo_messaging.Target(topic=topic)
        # The driver writes into both, so it gets copies.
        self.transport._send_notification(  # noqa: SLF001 - what the Notifier's own drivers call.
            target, dict(context), dict(message), version=version, retry=0
        )

    def listener(self, topics: Sequence[str], endpoint: object) -> Any:
        """Return a server of oslo.messaging that hands notifications to an endpoint, and acknowledges each."""
        targets = [oslo_messaging.Target(topic=topic) for topic in topics]
        return oslo_messaging.get_notification_listener(self.transport, targets, [endpoint])


def open_bus(conf: cfg.ConfigOpts) -> Bus:
    """Return the bus of the configuration, without connecting; raises ConfigurationError without any secret."""
    try:
        transport = oslo_messaging.get_notification_transport(conf)
        group = conf[GROUP]
        drivers, topics = tuple(group.driver), tuple(group.topics)
    except (oslo_messaging.MessagingException, cfg.Error, ValueError):
        # Their messages hold the URL with its password, or parts of it.
        raise ConfigurationError(CANNOT_BE_USED) from None
    unknown = sorted(set(drivers) - set(FORMATS) - SILENT)
    if unknown:
        message = f"[{GROUP}] driver has {', '.join(unknown)}, which leasehold-bridge does not have: use messagingv2."
        raise ConfigurationError(message)
    return Bus(transport, topics, tuple(dict.fromkeys(FORMATS[each] for each in drivers if each in FORMATS)))
