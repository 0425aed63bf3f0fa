"""Another service decides about leases: Blazar's HTTP protocol (contract lifecycle §10.2, feature H5).

No transaction is open while it is asked (`leasing/approval.py`).
"""

from __future__ import annotations

import json
import logging
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import requests

from leasehold.conf.errors import ConfigurationError
from leasehold.http.bounded import cause, requested
from leasehold.model.errors import ExternallyDeniedError, NoDecisionError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractContextManager

    from leasehold.conf.settings import ExternalSettings
    from leasehold.http.bounded import BoundedAnswer

log = logging.getLogger(__name__)

NAME = "ExternalServiceFilter"
"""Blazar's name of this filter, by which the configuration switches it on."""
LONGEST_ANSWER = 64 * 1024
"""In bytes; a longer refusal is shown with the generic text."""
LONGEST_MESSAGE = 1_000
"""In characters."""
GENERIC = "The service that approves leases denies this lease. Ask an operator for the reason."


class ExternalCall(StrEnum):
    """A call of the protocol: the last part of its URL below the base."""

    CREATE = "check-create"
    UPDATE = "check-update"
    END = "on-end"


class UndeliveredError(Exception):
    """The service has not acknowledged the end of a lease; the text says why, for the log."""


class ExternalService:
    """The service that approves leases. Calls may run in any number of threads."""

    def __init__(self, settings: ExternalSettings) -> None:
        """Read the URLs; raises ConfigurationError for one that cannot work, or if there is none."""
        own = {
            ExternalCall.CREATE: settings.check_create,
            ExternalCall.UPDATE: settings.check_update,
            ExternalCall.END: settings.on_end,
        }
        self._urls = {call: url or _below(settings.base, call) for call, url in own.items()}
        self._settings = settings
        if not any(self._urls.values()):
            message = f"{NAME} is enabled and has no URL. Set [enforcement] external_service_base_endpoint."
            raise ConfigurationError(message)
        for call, url in self._urls.items():
            if url is not None:
                _check_url(call, url)
        if not (settings.token.isascii() and settings.token.isprintable()):
            message = "[enforcement] external_service_token has to be printable ASCII, as a header of HTTP is."
            raise ConfigurationError(message)

    @property
    def cloud(self) -> dict[str, Any]:
        """What the context of each call says about the cloud."""
        return {"auth_url": self._settings.auth_url, "region_name": self._settings.region}

    @property
    def seconds(self) -> float:
        """The longest time that a call takes: to try two addresses of the host, and to answer."""
        return 3 * self._settings.seconds

    def takes(self, call: ExternalCall) -> bool:
        """Say whether a URL is configured for this call."""
        return self._urls[call] is not None

    def check(self, call: ExternalCall, body: Mapping[str, Any]) -> None:
        """Ask for approval, and return if it is given.

        Raises ExternallyDeniedError with the service's message. Raises NoDecisionError where the service neither
        approves nor denies, unless the configuration allows the request then.
        """
        try:
            with self._post(call, body) as answer:
                if answer.status_code == HTTPStatus.NO_CONTENT:
                    return
                if answer.status_code == HTTPStatus.FORBIDDEN:
                    raise ExternallyDeniedError(self._message(answer))
                why = f"it answered {answer.status_code}"
        except requests.RequestException as error:
            why = cause(error)
        if self._settings.allows_on_failure:
            log.warning("The external service did not decide about %s, which is allowed therefore: %s", call, why)
            return
        log.warning("The external service did not decide about %s, which is refused therefore: %s", call, why)
        raise NoDecisionError

    def tell_end(self, body: Mapping[str, Any]) -> None:
        """Tell the service of the end of a lease; raises UndeliveredError unless it acknowledges with a 2xx."""
        try:
            with self._post(ExternalCall.END, body) as answer:
                status = answer.status_code
        except requests.RequestException as error:
            raise UndeliveredError(cause(error)) from error
        if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            message = f"it answered {status}"
            raise UndeliveredError(message)

    def _post(self, call: ExternalCall, body: Mapping[str, Any]) -> AbstractContextManager[BoundedAnswer]:
        # A redirect is not followed: it would carry the token to another place, and turn the POST into a GET.
        token = self._settings.token
        headers = {"Content-Type": "application/json", **({"X-Auth-Token": token} if token else {})}
        url, settings = self._urls[call] or "", self._settings
        return requested("POST", url, json.dumps(body), headers, settings.seconds, settings.cafile)

    def _message(self, answer: BoundedAnswer) -> str:
        """Return the `message` of a denial as one bounded line, or the generic text if it has none."""
        try:
            content = json.loads(answer.read(LONGEST_ANSWER))
        except (requests.RequestException, ValueError, RecursionError):
            return GENERIC
        message = content.get("message") if isinstance(content, dict) else None
        if not isinstance(message, str):
            return GENERIC
        printable = "".join(each if each.isprintable() else " " for each in message)
        return printable.strip()[:LONGEST_MESSAGE] or GENERIC


def _below(base: str | None, call: ExternalCall) -> str | None:
    """Return the URL of a call below the base; as in Blazar, the last part of the base's path is replaced."""
    if not base:
        return None
    _check_url(call, base)
    return urljoin(base, call)


def _check_url(call: ExternalCall, url: str) -> None:
    try:
        parts = urlsplit(url)
        fine = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fine = False
    if not fine:
        message = f"The URL of {NAME} for {call} cannot be used; it has to be like http://approval.example.org/v1/."
        raise ConfigurationError(message)
