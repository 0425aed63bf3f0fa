"""Options of events that are sent as e-mails (decision 0042)."""

from __future__ import annotations

from datetime import timedelta
from email.utils import parseaddr
from pathlib import Path

from oslo_config import cfg

from leasehold.conf.errors import ConfigurationError
from leasehold.conf.options import read_fields
from leasehold.features.subscription.settings import EmailSettings, MailSecurity

DEFAULTS = EmailSettings()

OPTIONS = [
    cfg.HostAddressOpt("host", help="The mail server that takes the e-mails; without it there are none."),
    cfg.PortOpt("port", default=DEFAULTS.port, min=1, help="Its port."),
    cfg.StrOpt(
        "security",
        default=DEFAULTS.security.value,
        choices=[each.value for each in MailSecurity],
        help="`starttls`: the connection is encrypted after its beginning, or nothing is sent; `tls`: from the "
        "beginning, usually on port 465; `none`: never, for a server on the same machine.",
    ),
    cfg.StrOpt("username", help="Account at the mail server; without it there is no login."),
    cfg.StrOpt("password", secret=True, help="Its password."),
    cfg.StrOpt("sender", help="From whom the e-mails are, such as Leases <leases@example.org>; required with `host`."),
    cfg.ListOpt(
        "allowed_domains",
        default=[],
        help="Domains, such as example.org, to whose addresses members may have e-mails sent; without any there are no "
        "e-mails. A subdomain has to be named by itself.",
    ),
    cfg.FloatOpt(
        "apart_seconds",
        default=DEFAULTS.apart.total_seconds(),
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


def register(conf: cfg.ConfigOpts) -> None:
    """Add the options of this group to `conf`."""
    conf.register_opts(OPTIONS, group="email")


def read(conf: cfg.ConfigOpts) -> EmailSettings:
    """Return how e-mails are sent; raises ConfigurationError for a sender or a folder that cannot be used."""
    group = conf.email
    sender = group.sender or ""
    if group.host and not _is_address(sender):
        _refuse("sender has to be an address, such as Leases <leases@example.org>, where host is set.")
    if group.templates and not Path(group.templates).is_dir():
        _refuse(f"templates is {group.templates!r}, which is no folder.")
    if (group.username is None) != (group.password is None):
        _refuse("username and password belong together: set both, or neither.")
    return read_fields(
        EmailSettings,
        group,
        security=MailSecurity(group.security),
        sender=sender,
        allowed_domains=tuple(each.lower() for each in group.allowed_domains),
        apart=timedelta(seconds=group.apart_seconds),
    )


def _is_address(sender: str) -> bool:
    address = parseaddr(sender)[1]
    return sender.isprintable() and all(address.partition("@")) and " " not in address


def _refuse(what: str) -> None:
    raise ConfigurationError(f"The configuration cannot be used: [email] {what}")
