"""Calls to one OpenStack service: JSON over HTTP, an explicit microversion, and the port's two kinds of errors.

Transient are: unreachable, timed out, a failed login (401), 408, 409, 413, 425, 429, 5xx. Any other 4xx is permanent.
After a blip (no connection, 502 to 504), a call that may be repeated is retried a few times at once.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from json import loads
from time import perf_counter
from typing import TYPE_CHECKING, Any

import tenacity
from keystoneauth1 import exceptions as keystone
from oslo_context.context import get_current

from leasehold.cloud.ports import CloudConflictError, CloudPermanentError, CloudTransientError
from leasehold.metrics.cloud import OK, PERMANENT, TRANSIENT, count_call

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    import requests

    from leasehold.cloud.openstack.connections import Connections

LOG = logging.getLogger(__name__)

ATTEMPTS = 3
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 2.0
PAGE = 1000
"""The page size: the most items that services return in one answer by default."""
LONGEST_MESSAGE = 300
REQUEST_ID = "X-OpenStack-Request-ID"
"""The header with the client's global request id, or else our own request's id (contract http-api §2.2)."""

_REPEATABLE = frozenset({"GET", "PUT", "DELETE"})
_BLIPS = frozenset({502, 503, 504})
_TRANSIENT = frozenset({401, 408, 409, 413, 425, 429})


class _BlipError(CloudTransientError):
    """A failure that is retried at once."""


@dataclass(frozen=True, slots=True)
class ServiceClient:
    """A client of one service; messages call it `name`. With a `token`, it calls as the token's user.

    `media_type` is that of the bodies that it sends; JSON without one. A call may take `timeout` seconds, None: as long
    as is configured.
    """

    connections: Connections = field(repr=False)
    name: str
    token: str | None = field(default=None, repr=False)
    media_type: str | None = None
    timeout: float | None = None

    def as_user(self, token: str) -> ServiceClient:
        """Return a client of the same service that calls as the token's user."""
        return replace(self, token=token)

    def own_project(self, call: str) -> str:
        """Return the id of the project in which this client calls; raises CloudTransientError if it cannot log in."""
        try:
            return str(self.connections.client(self.name).get_project_id())
        except keystone.ClientException as error:
            raise CloudTransientError(f"{self.name} {call}: {_cause(error)}") from error

    def root(self, call: str) -> str:
        """Return the URL of the service, "" if the catalogue has none; raises CloudTransientError without a login."""
        try:
            return self.connections.client(self.name).get_endpoint() or ""
        except keystone.ClientException as error:
            raise CloudTransientError(f"{self.name} {call}: {_cause(error)}") from error

    def get(
        self,
        call: str,
        path: str,
        version: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        none_on: Collection[int] = (),
    ) -> Any:
        """Return the JSON at `path`, or None when the status is one of `none_on`."""
        response = self.call(call, "GET", path, version, params=params, fine=none_on)
        if response.status_code in none_on:
            return None
        try:
            return response.json()
        except ValueError as error:
            # For instance an HTML page of a proxy in front of the service.
            raise CloudTransientError(f"{self.name} {call}: {path} answered with a body that is not JSON") from error

    def pages(
        self,
        call: str,
        path: str,
        key: str,
        version: str | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        ident: str = "id",
    ) -> Iterator[Any]:
        """Yield the items of a paginated collection; a link `next` announces another page, which Glance names alone.

        `ident` is what the service calls the ids of the items.
        """
        query = dict(params or {}, limit=PAGE)
        while True:
            page = self.get(call, path, version, query)
            yield from page[key]
            if "next" not in page and not any(link["rel"] == "next" for link in page.get(f"{key}_links", ())):
                return
            query["marker"] = page[key][-1][ident]

    def call(
        self,
        call: str,
        method: str,
        path: str,
        version: str | None = None,
        *,
        json: Any = None,
        params: Mapping[str, Any] | None = None,
        fine: Collection[int] = (),
        later: Collection[int] = (),
    ) -> requests.Response:
        """Send a request and return the answer, whose status is below 400 or one of `fine`.

        `call` is the port's verb, for messages. A status in `later` is transient for this call. Raises
        CloudTransientError, for 409 CloudConflictError, or CloudPermanentError for any other status.
        """
        begun, outcome = perf_counter(), TRANSIENT
        try:
            response = self._insist(call, method, path, version, json, params)
            status = response.status_code
            if status < HTTPStatus.BAD_REQUEST or status in fine:
                outcome = OK
                return response
            text = f"{self.name} {call}: {path} answered {status}: {_message(response)}"
            if status == HTTPStatus.CONFLICT:
                raise CloudConflictError(text)
            if status in later or status in _TRANSIENT or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                raise CloudTransientError(text)
            outcome = PERMANENT
            raise CloudPermanentError(text)
        finally:
            count_call(self.name, outcome, perf_counter() - begun)

    def _insist(
        self, call: str, method: str, path: str, version: str | None, json: Any, params: Mapping[str, Any] | None
    ) -> requests.Response:
        """Send a request, with retries after a blip; logs the cause of a CloudTransientError that it raises."""
        once = tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(_BlipError),
            stop=tenacity.stop_after_attempt(ATTEMPTS if method in _REPEATABLE else 1),
            wait=tenacity.wait_random_exponential(FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS),
            reraise=True,
        )
        try:
            return once(self._send, call, method, path, version, json, params)
        except CloudTransientError as error:
            LOG.warning("%s%s", error, f": {error.__cause__}" if error.__cause__ else "")
            raise

    def _send(
        self, call: str, method: str, path: str, version: str | None, json: Any, params: Mapping[str, Any] | None
    ) -> requests.Response:
        try:
            who: dict[str, Any] = {"authenticated": False} if self.token else {}
            who["headers"] = {**({"X-Auth-Token": self.token} if self.token else {}), **_trace()}
            if self.timeout is not None:
                who["timeout"] = self.timeout
            if self.media_type:
                who["headers"]["Content-Type"] = self.media_type
            with self.connections.place(self.name, call):
                response: requests.Response = self.connections.client(self.name).request(
                    path, method, microversion=version, json=json, params=params or {}, raise_exc=False, **who
                )
        except keystone.ClientException as error:
            # The error's own text names internal hosts and ports: it goes to the log only, users read ours.
            blip = isinstance(error, keystone.ConnectFailure) and not isinstance(error, keystone.ConnectTimeout)
            kind = _BlipError if blip else CloudTransientError
            raise kind(f"{self.name} {call}: {_cause(error)}") from error
        if response.status_code in _BLIPS:
            raise _BlipError(f"{self.name} {call}: {path} answered {response.status_code}: {_message(response)}")
        return response


def _trace() -> dict[str, str]:
    """Return the header by which operators trace an action through all services; empty outside of a request."""
    context = get_current()
    return {} if context is None or context.global_id is None else {REQUEST_ID: context.global_id}


def _cause(error: Exception) -> str:
    if isinstance(error, keystone.Unauthorized):
        return "Keystone does not accept the service's own account"
    if isinstance(error, keystone.ConnectTimeout):
        return "the service did not answer in time"
    if isinstance(error, keystone.ConnectFailure):
        return "the service cannot be reached"
    return f"no endpoint could be used ({type(error).__name__})"


def _message(response: requests.Response) -> str:
    """Return the error message of an answer; each service nests it differently."""
    try:
        content = response.json()
    except ValueError:
        return response.reason or "no explanation"
    return _innermost(content).strip().rstrip(".")[:LONGEST_MESSAGE] or "no explanation"


def _innermost(content: Any) -> str:
    """Return the first text under `message`, `detail` or `faultstring`, at any depth; Ironic nests it as JSON."""
    if isinstance(content, dict):
        for key in ("message", "detail", "faultstring"):
            if isinstance(content.get(key), str):
                return str(content[key])
        if isinstance(nested := content.get("error_message"), str):
            with suppress(ValueError):
                return _innermost(loads(nested))
        content = list(content.values())
    if isinstance(content, list):
        return next((text for text in map(_innermost, content) if text), "")
    return ""
