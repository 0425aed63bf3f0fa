"""Options of the delivery of events to those who subscribed to them (decision 0040)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_network
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from leasehold.conf.errors import ConfigurationError
from leasehold.conf.options import Options, read_fields
from leasehold.features.subscription import email_options
from leasehold.features.subscription.settings import DeliverySettings

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leasehold.features.subscription.addresses import Network

DEFAULTS = DeliverySettings()
DAY = 86_400

_OPTIONS = [
    cfg.IntOpt(
        "threads",
        default=DEFAULTS.threads,
        min=2,
        max=1000,
        help="Deliveries that one manager makes at the same time. A project has at most a quarter of them, and the "
        "receivers that are new or failed last have at most half of them together, those of a project an eighth.",
    ),
    cfg.IntOpt(
        "subscriptions",
        default=DEFAULTS.subscriptions,
        min=0,
        help="How many subscriptions a project may have; 0 means that nobody can subscribe.",
    ),
    cfg.FloatOpt(
        "connect_seconds",
        default=DEFAULTS.connect_seconds,
        min=0.1,
        max=60.0,
        help="Seconds in which a receiver has to accept a connection.",
    ),
    cfg.FloatOpt(
        "answer_seconds",
        default=DEFAULTS.answer_seconds,
        min=0.1,
        max=300.0,
        help="Seconds for one delivery, from the connection to the receiver's answer.",
    ),
    cfg.FloatOpt(
        "retry_first_seconds",
        default=DEFAULTS.retry_first_seconds,
        min=0.01,
        help="Seconds before a delivery that failed is tried again. Each further failure doubles the pause.",
    ),
    cfg.FloatOpt(
        "retry_most_seconds",
        default=DEFAULTS.retry_most_seconds,
        min=0.01,
        max=3600.0,
        help="Longest pause, in seconds, between two tries of a delivery.",
    ),
    cfg.IntOpt(
        "refused_tries",
        default=DEFAULTS.refused_tries,
        min=1,
        max=100,
        help="Tries after which an event that the receiver refuses (a status of 4xx other than 408, 409, 425 and 429) "
        "becomes a dead letter, so that those after it are sent.",
    ),
    cfg.IntOpt(
        "give_up_seconds",
        default=int(DEFAULTS.give_up.total_seconds()),
        min=1,
        max=DAY,
        help="Seconds without a successful delivery after which a subscription is suspended, until somebody replays "
        "it. At most a day, because a purge keeps events at least that long.",
    ),
    cfg.BoolOpt(
        "http",
        default=DEFAULTS.http,
        help="Also accept webhooks without TLS (http://). Events can then be read on their way.",
    ),
    cfg.ListOpt(
        "allowed_networks",
        default=[],
        help="Networks, such as 10.1.0.0/16, in which webhooks may be although their addresses are not public. Any "
        "member of any project can then have the manager send requests there.",
    ),
    cfg.ListOpt(
        "refused_networks",
        default=[],
        help="Networks in which webhooks may not be although their addresses are public, such as those of the control "
        "plane. They go before `allowed_networks`.",
    ),
    cfg.StrOpt(
        "cafile",
        help="File with the certificates of the authorities that receivers' certificates are checked with; without it "
        "those of the system.",
    ),
]


class _Delivery(Options[DeliverySettings]):
    """The options of `[delivery]`, and those of `[email]`."""

    def register(self, conf: cfg.ConfigOpts) -> None:
        Options.register(self, conf)
        email_options.register(conf)

    def read_from(self, conf: cfg.ConfigOpts) -> DeliverySettings:
        return replace(Options.read_from(self, conf), email=email_options.read(conf))


def _read(group: Any) -> DeliverySettings:
    return read_fields(
        DeliverySettings,
        group,
        give_up=timedelta(seconds=group.give_up_seconds),
        allowed_networks=tuple(_networks("allowed_networks", group.allowed_networks)),
        refused_networks=tuple(_networks("refused_networks", group.refused_networks)),
        email=DEFAULTS.email,
    )


def _networks(name: str, texts: Iterable[str]) -> Iterable[Network]:
    for text in texts:
        try:
            yield ip_network(text)
        except ValueError as error:
            message = f"[delivery] {name} has {text!r}, which is no network: write one such as 10.1.0.0/16."
            raise ConfigurationError(f"The configuration cannot be used: {message}") from error


OPTIONS = _Delivery("delivery", _OPTIONS, DeliverySettings, _read)
