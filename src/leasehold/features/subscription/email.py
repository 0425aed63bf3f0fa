"""E-mails: an event is a message to one address, written by a template, given to the operator's mail server.

Members choose the addresses, and much of what a message says (decision 0042). Templates of Jinja2 are the operator's,
what they show is not: each text is one line and not long when a template gets it.
"""

from __future__ import annotations

import logging
import re
import smtplib
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import SMTP as POLICY
from email.utils import format_datetime, parseaddr
from functools import lru_cache
from time import monotonic
from typing import TYPE_CHECKING, Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined, TemplateError

from leasehold.features.subscription.channel import Channel, DeliveryError, Sender
from leasehold.features.subscription.settings import MailSecurity
from leasehold.features.subscription.sockets import cut_at, seconds_until, tls_context
from leasehold.model.errors import InvalidInputError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from datetime import datetime, timedelta
    from socket import socket

    from leasehold.features.subscription.model import Subscription
    from leasehold.features.subscription.settings import DeliverySettings, EmailSettings
    from leasehold.model.event_log import LogEvent

log = logging.getLogger(__name__)

MAILTO = re.compile(
    r"mailto:(?P<address>[a-z0-9_+-]+(\.[a-z0-9_+-]+)*@(?P<domain>[a-z0-9.-]+))", re.ASCII | re.IGNORECASE
)
"""One address, of letters that mean nothing else in a URL, a header or a dialogue of SMTP."""
LONGEST_ADDRESS = 254
LONGEST_LOCAL = 64
FORBIDDEN = "E-mails to this address are not allowed any more. Ask an operator which domains are."
PERMANENT = 500
"""Replies of SMTP from this one on will not change."""
LONGEST_SUBJECT = 200
LONGEST_TEXT = 200
"""Of one value, in characters: members of projects choose names."""
EVERY, OF_ALARM, OF_SERVER, OF_FILLER, OF_BUDGET = "event.txt", "alarm.txt", "server.txt", "filler.txt", "budget.txt"


def read_address(target: str, settings: EmailSettings) -> str | None:
    """Return the address of a target; None unless it is one that may be written to."""
    match = MAILTO.fullmatch(target)
    if match is None or len(match["address"]) > LONGEST_ADDRESS or match["address"].index("@") > LONGEST_LOCAL:
        return None
    return match["address"] if match["domain"].lower() in settings.allowed_domains else None


class Email(Channel):
    """Sends each event as a message to the subscription's address."""

    def check(self, target: str, settings: DeliverySettings) -> None:
        """Check the address; raises InvalidInputError also where operators have set up no e-mail."""
        email = settings.email
        if email.host is None or not email.allowed_domains:
            message = "This service sends no e-mails. Subscribe with a webhook, or ask an operator."
            raise InvalidInputError(message, field="channel")
        if read_address(target, email) is None:
            domains = ", ".join(email.allowed_domains)
            message = (
                f"target has to be one address in one of these domains: {domains}. Write it as mailto:name@domain."
            )
            raise InvalidInputError(message, field="target")

    def secret(self) -> str:
        """Nothing is signed."""
        return ""

    def pause(self, settings: DeliverySettings) -> timedelta:
        """Return how far apart two messages are: a member can have many sent to somebody else."""
        return settings.email.apart

    def opened(self, subscription: Subscription, settings: DeliverySettings) -> AbstractContextManager[EmailSender]:
        """Return a sender, which connects for each message: they are apart."""
        return nullcontext(EmailSender(subscription, settings))


class EmailSender(Sender):
    """Sends messages to one address."""

    def __init__(self, subscription: Subscription, settings: DeliverySettings) -> None:
        """Read the address again: what is allowed may have changed since the subscription was made."""
        self._subscription = subscription
        self._seconds = settings.answer_seconds
        self._connect_seconds = settings.connect_seconds
        self._email = settings.email
        self._address = read_address(subscription.target, settings.email)

    def send(self, event: LogEvent, now: datetime) -> None:
        """Give one message to the mail server; its reply to the message acknowledges the event."""
        if self._address is None or self._email.host is None:
            raise DeliveryError(FORBIDDEN)
        message = self._message(event, now, self._address)
        try:
            self._hand_over(self._email.host, message, self._address)
        except (OSError, smtplib.SMTPException, ValueError) as error:
            log.warning("The mail server %s did not take a message: %r", self._email.host, error)
            raise _told(error) from error

    def _message(self, event: LogEvent, now: datetime, address: str) -> EmailMessage:
        letter = write_letter(event, self._subscription, self._email.templates)
        # 7 bits: not every mail server takes more. This class refuses a header with a line break.
        message = EmailMessage(POLICY.clone(cte_type="7bit"))
        message["From"] = self._email.sender
        message["To"] = address
        message["Subject"] = letter.subject
        message["Date"] = format_datetime(now)
        # The same for each try, by which mail programs know a message that comes twice.
        domain = parseaddr(self._email.sender)[1].partition("@")[2]
        message["Message-ID"] = f"<{event.cursor}.{self._subscription.id}@{domain}>"
        message["Auto-Submitted"] = "auto-generated"
        message["Leasehold-Event"] = str(event.cursor)
        message.set_content(letter.text)
        return message

    def _hand_over(self, host: str, message: EmailMessage, address: str) -> None:
        email, end = self._email, monotonic() + self._seconds
        seconds = min(self._connect_seconds, self._seconds)
        if email.security is MailSecurity.TLS:
            smtp: smtplib.SMTP = smtplib.SMTP_SSL(host, email.port, timeout=seconds, context=tls_context(email.cafile))
        else:
            smtp = smtplib.SMTP(host, email.port, timeout=seconds)
        try:
            if email.security is MailSecurity.STARTTLS:
                _socket_of(smtp).settimeout(seconds_until(end))
                smtp.starttls(context=tls_context(email.cafile))
            with cut_at(end, _socket_of(smtp)):
                if email.username is not None and email.password is not None:
                    smtp.login(email.username, email.password)
                smtp.send_message(message, parseaddr(email.sender)[1], [address])
                # The server has the message, whatever becomes of the good-bye.
                with suppress(OSError, smtplib.SMTPException):
                    smtp.quit()
        finally:
            smtp.close()


def _socket_of(smtp: smtplib.SMTP) -> socket:
    if smtp.sock is None:
        message = "the mail server has closed the connection"
        raise smtplib.SMTPServerDisconnected(message)
    return smtp.sock


def _told(error: Exception) -> DeliveryError:
    """Return what went wrong in words that say nothing about the operator's network."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        status = min((reply[0] for reply in error.recipients.values()), default=0)
        return DeliveryError(f"The mail server refused the address, with {status}.", refused=status >= PERMANENT)
    if isinstance(error, smtplib.SMTPSenderRefused):
        return DeliveryError("The mail server refused the service's own address. An operator has to mend that.")
    if isinstance(error, smtplib.SMTPDataError):
        status = error.smtp_code
        return DeliveryError(f"The mail server refused the message, with {status}.", refused=status >= PERMANENT)
    if isinstance(error, smtplib.SMTPNotSupportedError | smtplib.SMTPAuthenticationError):
        return DeliveryError("The mail server and the service do not agree how to talk. An operator has to mend that.")
    return DeliveryError("The mail server could not be reached, or did not answer in time.")


@dataclass(frozen=True, slots=True)
class Letter:
    """What is written: a subject of one line, and a text."""

    subject: str
    text: str


def write_letter(event: LogEvent, subscription: Subscription, templates: str | None) -> Letter:
    """Return the letter about an event: the first line that the template gives is the subject, the rest the text.

    The template is `TYPE.txt`, or else `alarm.txt` for a capacity alarm, `server.txt` for a server, `filler.txt` for a
    filler, `budget.txt` for a budget and `event.txt` for all others, from the operator's folder or else from the
    service. Raises DeliveryError if it cannot be used.
    """
    shown = {
        "event": {"id": str(event.cursor), "type": event.type, "time": event.time, "project_id": event.project_id},
        "lease": tidy(event.payload) if event.lease_id else None,
        "resource": tidy(event.payload) if event.resource_id else None,
        "alarm": tidy(event.payload) if event.alarm_id else None,
        "server": tidy(event.payload) if event.server_id else None,
        "filler": tidy(event.payload) if event.filler_id else None,
        "budget": tidy(event.payload) if event.budget_id else None,
        "subscription": {key: tidy(getattr(subscription, key)) for key in ("id", "user_id", "project_id")},
    }
    try:
        text = _environment(templates).select_template([f"{event.type}.txt", _usual(event)]).render(shown)
    except (TemplateError, OSError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        message = "The service's template for this event cannot be used. An operator has to mend that."
        raise DeliveryError(message) from error
    subject, _, rest = text.lstrip().partition("\n")
    return Letter(one_line(subject, LONGEST_SUBJECT), rest.strip() + "\n")


def _usual(event: LogEvent) -> str:
    """Return the template of an event for which there is none of its own."""
    kinds = (
        *((event.alarm_id, OF_ALARM), (event.server_id, OF_SERVER)),
        *((event.filler_id, OF_FILLER), (event.budget_id, OF_BUDGET)),
    )
    return next((name for ident, name in kinds if ident), EVERY)


def one_line(text: str, most: int = LONGEST_TEXT) -> str:
    """Return the text as one line of characters that can be seen, cut to a length."""
    seen = "".join(each if each.isprintable() else " " for each in text)
    line = " ".join(seen.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def tidy(value: Any) -> Any:
    """Return a JSON value with each of its texts as one line."""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, dict):
        return {one_line(key): tidy(each) for key, each in value.items()}
    return [tidy(each) for each in value] if isinstance(value, list) else value


@lru_cache(maxsize=2)
def _environment(templates: str | None) -> Environment:
    ours = PackageLoader("leasehold.features.subscription")
    loader = ours if templates is None else ChoiceLoader([FileSystemLoader(templates), ours])
    # Plain text, so nothing is escaped.
    # No cache, which would not notice a file that is new in the folder.
    return Environment(  # noqa: S701
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, cache_size=0
    )
