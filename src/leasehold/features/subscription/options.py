"""Options of the delivery of events to those who subscribed to them (decision 0040)."""

from __future__ import annotations

from dataclasses import replace
from email.utils import parseaddr
from ipaddress import ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from leasehold.conf.errors import ConfigurationError
from leasehold.conf.options import Options, read_fields
from leasehold.features.subscription.settings import DeliverySettings, EmailSettings, MailSecurity

if TYPE_CHECKING:
    from collections.abc import Iterable

    from leasehold.features.subscription.addresses import Network

DAY = 86_400

_OPTIONS = [
    cfg.IntOpt(
        "threads",
        min=2,
        max=1000,
        help="Deliveries that one manager makes at the same time. A project has at most a quarter of them, and the "
        "receivers that are new or failed last have at most half of them together, those of a project an eighth.",
    ),
    cfg.IntOpt(
        "subscriptions", min=0, help="How many subscriptions a project may have; 0 means that nobody can subscribe."
    ),
    cfg.FloatOpt("connect_seconds", min=0.1, max=60.0, help="Seconds in which a receiver has to accept a connection."),
    cfg.FloatOpt(
        "answer_seconds",
        min=0.1,
        max=300.0,
        help="Seconds for one delivery, from the connection to the receiver's answer.",
    ),
    cfg.FloatOpt(
        "retry_first_seconds",
        min=0.01,
        help="Seconds before a delivery that failed is tried again. Each further failure doubles the pause.",
    ),
    cfg.FloatOpt(
        "retry_most_seconds", min=0.01, max=3600.0, help="Longest pause, in seconds, between two tries of a delivery."
    ),
    cfg.IntOpt(
        "refused_tries",
        min=1,
        max=100,
        help="Tries after which an event that the receiver refuses (a status of 4xx other than 408, 409, 425 and 429) "
        "becomes a dead letter, so that those after it are sent.",
    ),
    cfg.IntOpt(
        "give_up_seconds",
        min=1,
        max=DAY,
        help="Seconds without a successful delivery after which a subscription is suspended, until somebody replays "
        "it. At most a day, because a purge keeps events at least that long.",
    ),
    cfg.BoolOpt("http", help="Also accept webhooks without TLS (http://). Events can then be read on their way."),
    cfg.ListOpt(
        "allowed_networks",
        help="Networks, such as 10.1.0.0/16, in which webhooks may be although their addresses are not public. Any "
        "member of any project can then have the manager send requests there.",
    ),
    cfg.ListOpt(
        "refused_networks",
        help="Networks in which webhooks may not be although their addresses are public, such as those of the control "
        "plane. They go before `allowed_networks`.",
    ),
    cfg.StrOpt(
        "cafile",
        help="File with the certificates of the authorities that receivers' certificates are checked with; without it "
        "those of the system.",
    ),
]


_EMAIL_OPTIONS = [
    cfg.HostAddressOpt("host", help="The mail server that takes the e-mails; without it there are none."),
    cfg.PortOpt("port", min=1, help="Its port."),
    cfg.StrOpt(
        "security",
        choices=[each.value for each in MailSecurity],
        help="`starttls`: the connection is encrypted after its beginning, or nothing is sent; `tls`: from the "
        "beginning, usually on port 465; `none`: never, for a server on the same machine.",
    ),
    cfg.StrOpt("username", help="Account at the mail server; without it there is no login."),
    cfg.StrOpt("password", secret=True, help="Its password."),
    cfg.StrOpt("sender", help="From whom the e-mails are, such as Leases <leases@example.org>; required with `host`."),
    cfg.ListOpt(
        "allowed_domains",
        help="Domains, such as example.org, to whose addresses members may have e-mails sent; without any there are no "
        "e-mails. A subdomain has to be named by itself.",
    ),
    cfg.FloatOpt(
        "apart_seconds",
        min=0.0,
        max=3600.0,
        help="Least seconds between two e-mails of one subscription; what happens meanwhile is sent later.",
    ),
    cfg.StrOpt(
        "templates",
        help="Folder with templates (Jinja2) that replace those of the service: `event.txt` for all events, or one "
        "that is named as a type, such as `lease.event.end_lease.txt`.",
    ),
    cfg.StrOpt(
        "cafile",
        help="File with the certificates of the authorities that the mail server's is checked with; without it those "
        "of the system.",
    ),
]


class _Delivery(Options[DeliverySettings]):
    """The options of `[delivery]`, and those of `[email]`."""

    def register(self, conf: cfg.ConfigOpts) -> None:
        Options.register(self, conf)
        _EMAIL.register(conf)

    def read_from(self, conf: cfg.ConfigOpts) -> DeliverySettings:
        return replace(Options.read_from(self, conf), email=_EMAIL.read_from(conf))


def _read(group: Any) -> DeliverySettings:
    return read_fields(
        DeliverySettings,
        group,
        allowed_networks=tuple(_networks("allowed_networks", group.allowed_networks)),
        refused_networks=tuple(_networks("refused_networks", group.refused_networks)),
        email=EmailSettings(),
    )


def _networks(name: str, texts: Iterable[str]) -> Iterable[Network]:
    for text in texts:
        try:
            yield ip_network(text)
        except ValueError as error:
            message = f"[delivery] {name} has {text!r}, which is no network: write one such as 10.1.0.0/16."
            raise ConfigurationError(f"The configuration cannot be used: {message}") from error


def _read_email(group: Any) -> EmailSettings:
    """Return how e-mails are sent; raises ConfigurationError for a sender or a folder that cannot be used."""
    sender = group.sender or ""
    if group.host and not _is_address(sender):
        _refuse("sender has to be an address, such as Leases <leases@example.org>, where host is set.")
    if group.templates and not Path(group.templates).is_dir():
        _refuse(f"templates is {group.templates!r}, which is no folder.")
    if (group.username is None) != (group.password is None):
        _refuse("username and password belong together: set both, or neither.")
    domains = tuple(each.lower() for each in group.allowed_domains)
    return read_fields(EmailSettings, group, sender=sender, allowed_domains=domains)


def _is_address(sender: str) -> bool:
    address = parseaddr(sender)[1]
    return sender.isprintable() and all(address.partition("@")) and " " not in address


def _refuse(what: str) -> None:
    raise ConfigurationError(f"The configuration cannot be used: [email] {what}")


_EMAIL = Options("email", _EMAIL_OPTIONS, EmailSettings, _read_email)
OPTIONS = _Delivery("delivery", _OPTIONS, DeliverySettings, _read)
