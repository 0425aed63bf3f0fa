"""Requests to the service, over a session of keystoneauth."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from keystoneauth1.adapter import Adapter
from keystoneauth1.exceptions import ClientException, ConnectFailure, HttpError

from leasehold_client.errors import ApiError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from keystoneauth1.session import Session
    from requests import Response

SERVICE_TYPE = "reservation"
VERSION = "1.3"
"""The microversion that every request asks for."""
_PATIENT: Final[Mapping[str, Any]] = {
    "timeout": (5.0, 90.0),
    "connect_retries": 60,
    "connect_retry_delay": 2.0,
    "status_code_retries": 60,
    "status_code_retry_delay": 2.0,
    "retriable_status_codes": [HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT],
}
"""For two minutes, in which a service is restarted or gets its database back; a proxy before it says so too.

A host that has vanished answers nothing at all: a connection may take 5 s, an answer 90 s, which is longer than the
longest wait for an event.
"""
_HEADER = "OpenStack-API-Version"
_ROOT = "/v1"


class Transport:
    """Sends requests and returns the JSON of the answers. Raises ApiError and UnreachableError."""

    def __init__(
        self, session: Session, *, endpoint: str | None, region: str | None, interface: str | None, patient: bool
    ) -> None:
        """`endpoint` None means the one that the session's login names, or its catalog.

        With `patient`, what only reads is asked again for two minutes while the service is away.
        """
        self._adapter = Adapter(
            session,
            service_type=SERVICE_TYPE,
            interface=interface,
            region_name=region,
            user_agent="leasehold-client",
            raise_exc=True,
        )
        self._endpoint = endpoint
        self._patient = patient

    def get(self, path: str, query: Mapping[str, Any] | None = None, *, patient: bool = False) -> dict[str, Any]:
        """Return what is at this path, which begins after `/v1`; with `patient`, ask again for two minutes."""
        more = _PATIENT if patient or self._patient else {}
        return self._send("GET", path, params=dict(query or {}), **more)

    def get_text(self, path: str, query: Mapping[str, Any]) -> str:
        """Return what is at this path, which begins after `/v1`, as it is written."""
        return self._answer("GET", path, params=dict(query)).text

    def post(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> dict[str, Any]:
        """Return the answer; requests with the same `key` are done once, however often they are sent."""
        return self._send("POST", path, json=dict(body), headers=_once(key))

    def put(self, path: str, body: Mapping[str, Any], *, key: str | None = None) -> dict[str, Any]:
        """Return the answer; requests with the same `key` are done once."""
        return self._send("PUT", path, json=dict(body), headers=_once(key))

    def patch(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        return self._send("PATCH", path, json=dict(body))

    def delete(self, path: str) -> None:
        self._send("DELETE", path)

    def _send(self, method: str, path: str, headers: Mapping[str, str] | None = None, **request: Any) -> dict[str, Any]:
        answer = self._answer(method, path, headers, **request)
        try:
            read: dict[str, Any] = answer.json() if answer.content else {}
        except ValueError:
            raise UnreachableError(f"{self._endpoint} does not answer in JSON. Is the endpoint right?") from None
        return read

    def _answer(self, method: str, path: str, headers: Mapping[str, str] | None = None, **request: Any) -> Response:
        try:
            headers = {**(headers or {}), _HEADER: f"{SERVICE_TYPE} {VERSION}"}
            root = self._root()
            # A redirect would carry the token to whatever place it names.
            answer: Response = self._adapter.request(
                path, method, headers=headers, endpoint_override=root, redirect=False, **request
            )
        except HttpError as error:
            raise _refused(error) from None
        except ConnectFailure:
            message = f"Nothing answers at {self._endpoint}. Is the service running, and is the endpoint right?"
            raise UnreachableError(message) from None
        except ClientException as error:
            raise UnreachableError(f"The service cannot be used: {error}") from None
        if answer.is_redirect:
            raise UnreachableError(_led_away(root, answer.headers["Location"]))
        return answer

    def _root(self) -> str:
        """Return the URL of `/v1`: a catalog may name it or the root of the service."""
        if self._endpoint is None:
            self._endpoint = self._adapter.get_endpoint()
        if not self._endpoint:
            message = (
                "There is no endpoint of a reservation service. Name one, such as OS_ENDPOINT=http://127.0.0.1:1234/v1."
            )
            raise UnreachableError(message)
        root = self._endpoint.rstrip("/")
        return root if root.endswith(_ROOT) else root + _ROOT


class Calls:
    """Calls of the API over a transport."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport


def _once(key: str | None) -> dict[str, str]:
    return {} if key is None else {"Idempotency-Key": key}


def _led_away(root: str, place: str) -> str:
    return (
        f"{root} leads to {place}, and requests are not sent there, as they carry your token. If that is the service, "
        "name it as the endpoint, with --os-endpoint-override or OS_ENDPOINT_OVERRIDE."
    )


def _refused(error: HttpError) -> ApiError:
    """Return what the service's answer says; what comes from elsewhere, such as a proxy, has only a status."""
    status = int(error.http_status or HTTPStatus.INTERNAL_SERVER_ERROR)
    try:
        body: Any = None if error.response is None else error.response.json()
    except ValueError:
        body = None
    if not isinstance(body, dict) or not isinstance(body.get("error_message"), str):
        return ApiError(status, f"The service answered with {status}: {error.message or error}.")
    details = body.get("details")
    return ApiError(
        status,
        body["error_message"],
        str(body.get("code") or ""),
        body.get("field"),
        details if isinstance(details, dict) else {},
    )
