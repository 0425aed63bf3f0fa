"""How events are sent: the settings of deliveries and of the mail server."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leasehold.features.subscription.addresses import Network


class MailSecurity(StrEnum):
    """How the connection to the mail server is secured."""

    STARTTLS = "starttls"
    TLS = "tls"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class EmailSettings:
    """The mail server, and which addresses may be written to (decision 0042); without either there is no e-mail.

    `allowed_domains` are in lower case. `apart` is the least time between two mails of one subscription.
    """

    host: str | None = None
    port: int = 587
    security: MailSecurity = MailSecurity.STARTTLS
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    sender: str = ""
    allowed_domains: tuple[str, ...] = ()
    apart: timedelta = timedelta(seconds=10)
    templates: str | None = None
    cafile: str | None = None


@dataclass(frozen=True, slots=True)
class DeliverySettings:
    """How events are sent to those who subscribed to them (decision 0040).

    `answer_seconds` is for a whole request, its connection included. `allowed_networks` may be reached although they
    are private, `refused_networks` never. `subscriptions` is how many a project may have.
    """

    threads: int = 16
    subscriptions: int = 20
    connect_seconds: float = 5.0
    answer_seconds: float = 10.0
    retry_first_seconds: float = 1.0
    retry_most_seconds: float = 300.0
    refused_tries: int = 5
    give_up: timedelta = timedelta(hours=12)
    http: bool = False
    allowed_networks: tuple[Network, ...] = ()
    refused_networks: tuple[Network, ...] = ()
    cafile: str | None = None
    email: EmailSettings = field(default_factory=EmailSettings)
