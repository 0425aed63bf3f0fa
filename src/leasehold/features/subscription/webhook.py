"""Webhooks: an event is a POST of a CloudEvent, signed as Standard Webhooks says (idea 14, decision 0040)."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import secrets
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from leasehold.features.subscription.addresses import may_be_reached
from leasehold.features.subscription.channel import Channel, DeliveryError, Sender
from leasehold.features.subscription.connection import Connection
from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime

    from leasehold.features.subscription.model import Subscription
    from leasehold.features.subscription.settings import DeliverySettings
    from leasehold.model.event_log import LogEvent

CONTENT_TYPE = "application/cloudevents+json"
SOURCE = "/v1/events"
LONGEST_URL = 2_000
SECRET_BYTES = 24
SECRET_PREFIX = "whsec_"  # noqa: S105 - what Standard Webhooks puts before each secret.
PRINTABLE = re.compile(r"[\x21-\x7e]+", re.ASCII)
NAME = re.compile(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+", re.ASCII)
"""The name of a host, or an address."""
NO_HTTP = "Webhooks without TLS are not allowed any more. Subscribe with a URL that begins with https://."
LATER = frozenset({HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS})
"""Statuses of 4xx after which the same request may be accepted."""


@dataclass(frozen=True, slots=True)
class Url:
    """Where a webhook is: `path` is everything after the host and the port."""

    secure: bool
    host: str
    port: int
    path: str


def read_url(text: str) -> Url:
    """Return the parts of a URL; raises ValueError, with a sentence, for one that no webhook can have."""
    if len(text) > LONGEST_URL or not PRINTABLE.fullmatch(text):
        message = f"a URL has at most {LONGEST_URL} characters, all of them ASCII and none a blank"
        raise ValueError(message)
    parts = urlsplit(text)
    if parts.scheme not in ("https", "http") or not parts.hostname or not NAME.fullmatch(parts.hostname):
        message = "it has to be a URL such as https://hooks.example.org/leases"
        raise ValueError(message)
    if "@" in parts.netloc or "#" in text:
        message = "a URL of a webhook has no user, no password and no fragment"
        raise ValueError(message)
    secure = parts.scheme == "https"
    if parts.port == 0:
        message = "port 0 cannot be reached"
        raise ValueError(message)
    query = f"?{parts.query}" if parts.query else ""
    return Url(secure, parts.hostname, parts.port or (443 if secure else 80), f"{parts.path or '/'}{query}")


def new_secret() -> str:
    """Return a new secret for signatures."""
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode("ascii")


def sign(secret: str, ident: str, timestamp: int, content: bytes) -> str:
    """Return the signature of Standard Webhooks, version 1: HMAC-SHA256 over id, time in seconds, and body."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{ident}.{timestamp}.".encode("ascii") + content
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode("ascii")


class Webhooks(Channel):
    """Sends each event as a POST to the subscription's URL."""

    def check(self, target: str, settings: DeliverySettings) -> None:
        """Check the URL, and its host if that is an address; names are looked up for each connection."""
        try:
            url = read_url(target)
        except ValueError as error:
            message = f"target cannot be used: {error}."
            raise InvalidInputError(message, field="target") from error
        if not url.secure and not settings.http:
            message = "target has to begin with https://. Ask an operator if the receiver has no TLS."
            raise InvalidInputError(message, field="target")
        literal = ":" in url.host or re.fullmatch(r"[0-9.]+", url.host)
        if literal and not may_be_reached(url.host, settings.allowed_networks, settings.refused_networks):
            message = "target is an address that webhooks may not reach. Use one that is public."
            raise InvalidInputError(message, field="target")

    def secret(self) -> str:
        return new_secret()

    def opened(self, subscription: Subscription, settings: DeliverySettings) -> AbstractContextManager[WebhookSender]:
        """Return a sender, which connects when it sends its first event."""
        return closing(WebhookSender(subscription, settings))


class WebhookSender(Sender):
    """Sends events to one URL, over one connection as long as the receiver keeps it."""

    def __init__(self, subscription: Subscription, settings: DeliverySettings) -> None:
        self._url = read_url(subscription.target)
        self._secret = subscription.secret
        self._allowed = self._url.secure or settings.http
        self._connection = Connection(self._url.host, self._url.port, settings, secure=self._url.secure)

    def send(self, event: LogEvent, now: datetime) -> None:
        """Send one event; a status of 2xx acknowledges it, and the rest of the answer is not read."""
        if not self._allowed:
            # It was allowed when the subscription was made.
            raise DeliveryError(NO_HTTP)
        content, ident, timestamp = as_cloud_event(event), str(event.cursor), int(now.timestamp())
        headers = {
            "Content-Type": CONTENT_TYPE,
            "User-Agent": "Leasehold",
            "webhook-id": ident,
            "webhook-timestamp": str(timestamp),
            "webhook-signature": sign(self._secret, ident, timestamp, content),
        }
        status = self._connection.post(self._url.path, content, headers)
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return
        refused = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR and status not in LATER
        redirects = HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST
        advice = " Redirects are not followed: subscribe with the URL that it leads to." if redirects else ""
        raise DeliveryError(f"The receiver answered with status {status}.{advice}", refused=refused)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def as_cloud_event(event: LogEvent) -> bytes:
    """Return the event as a structured CloudEvent 1.0 in ASCII JSON; source and id together never mean another event.

    `projectid` and `sequence`, the position with leading zeros, are extensions; `projectid` is absent for resources.
    """
    content = {
        "specversion": "1.0",
        "id": str(event.cursor),
        "source": SOURCE,
        "type": event.type,
        "subject": _subject(event),
        "time": event.time.isoformat(),
        "datacontenttype": "application/json",
        "sequence": f"{event.cursor.position:018d}",
        **({} if event.project_id is None else {"projectid": event.project_id}),
        "data": dict(event.payload),
    }
    return json.dumps(content, separators=(",", ":")).encode("ascii")


def _subject(event: LogEvent) -> str:
    if event.lease_id is not None:
        return f"leases/{event.lease_id}"
    if event.alarm_id is not None:
        return f"alarms/{event.alarm_id}"
    if event.server_id is not None:
        return f"servers/{event.server_id}"
    if event.filler_id is not None:
        return f"fillers/{event.filler_id}"
    if event.budget_id is not None:
        return f"budgets/{event.budget_id}"
    return f"resources/{event.resource_type}/{event.resource_id}"
