"""Turns exceptions into answers; only this module maps them to a status and a body (contract http-api §3)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import falcon
from sqlalchemy.exc import OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from leasehold.db.store import UnknownOutcomeError
from leasehold.model.errors import (
    BodyTooLargeError,
    DatabaseUnavailableError,
    InvalidInputError,
    LeaseholdError,
    MethodNotAllowedError,
    TooManyRequestsError,
    UnauthorizedError,
    UnknownVersionError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

LOG = logging.getLogger(__name__)

INTERNAL = "INTERNAL_SERVER_ERROR"
RETRY_AFTER_SECONDS = "5"


class UnknownRouteError(LeaseholdError):
    """No route of this API has this path."""

    code = "leasehold.http.route"
    status = HTTPStatus.NOT_FOUND


class MalformedRequestError(InvalidInputError):
    """The request cannot be read at all: its body, its content type or its version header."""

    code = "leasehold.http.malformed"


FRAMEWORK_ERRORS = (
    UnknownRouteError,
    MethodNotAllowedError,
    UnknownVersionError,
    MalformedRequestError,
    BodyTooLargeError,
)
"""Errors found before a handler runs have the contract's shape E2; all others have E1."""


WITHOUT_DATABASE = (OperationalError, PoolTimeoutError)
"""What is raised when the database cannot be used."""


@dataclass(frozen=True, slots=True)
class ErrorAnswer:
    """An error ready to be written: status, JSON body and additional headers.

    `versioned` says whether the answer also carries the version headers (contract http-api §2.1: only shape E1 does).
    """

    status: HTTPStatus
    body: dict[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    versioned: bool = False


def answer_for(error: Exception, *, challenge: str | None = None) -> ErrorAnswer:
    """Return the answer to a request that failed with `error`; logs failures of the service with their traceback.

    `challenge` is the `WWW-Authenticate` header of a 401.
    """
    if isinstance(error, UnauthorizedError):
        return _unauthorized(error, challenge)
    if isinstance(error, FRAMEWORK_ERRORS):
        allow = error.details.get("allow") if isinstance(error, MethodNotAllowedError) else None
        body = {"error": int(error.status), "error_message": error.message, **_additions(error)}
        return ErrorAnswer(error.status, body, {"Allow": ", ".join(allow)} if allow else {})
    if isinstance(error, LeaseholdError):
        return _application(error)
    if isinstance(error, falcon.HTTPError):
        return _of_falcon(error)
    if isinstance(error, (UnknownOutcomeError, *WITHOUT_DATABASE)):
        return _without_database(error)
    return _unexpected(error)


def _additions(error: LeaseholdError) -> dict[str, Any]:
    """Return the keys that our errors have beyond v1. Clients of v1 read only `error_message`, so they do no harm."""
    additions: dict[str, Any] = {"code": error.code, "details": error.details}
    if error.field is not None:
        additions["field"] = error.field
    return additions


def _application(error: LeaseholdError) -> ErrorAnswer:
    status = int(error.status)
    name: int | str = status if status < HTTPStatus.INTERNAL_SERVER_ERROR else INTERNAL
    body = {"error_code": status, "error_message": error.message, "error_name": name, **_additions(error)}
    later = {"Retry-After": RETRY_AFTER_SECONDS} if status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    if isinstance(error, TooManyRequestsError):
        later = {"Retry-After": str(error.wait)}
    return ErrorAnswer(error.status, body, later, versioned=True)


def _unauthorized(error: UnauthorizedError, challenge: str | None) -> ErrorAnswer:
    status = HTTPStatus.UNAUTHORIZED
    body = {
        "error": {"code": int(status), "title": status.phrase, "message": error.message},
        "error_message": error.message,
        "code": error.code,
    }
    return ErrorAnswer(status, body, {"WWW-Authenticate": challenge} if challenge else {})


def _of_falcon(error: falcon.HTTPError) -> ErrorAnswer:
    """Return the answer to an error of the web framework, such as a header that cannot be parsed."""
    status = HTTPStatus(error.status_code)
    message = error.description or error.title or status.phrase
    body = {"error": int(status), "error_message": message, "code": MalformedRequestError.code, "details": {}}
    return ErrorAnswer(status, body, dict(error.headers or {}))


def _without_database(error: Exception) -> ErrorAnswer:
    """Return a 503 for a database that cannot be used. The log has the cause, the answer only the next step."""
    LOG.error("The database could not be used for a request.", exc_info=error)
    if isinstance(error, UnknownOutcomeError):
        message = (
            "The connection to the database broke during the commit or after it: look whether the change is there."
        )
    else:
        message = "The database cannot be used now; nothing was changed. Try again in a moment."
    return _application(DatabaseUnavailableError(message))


def _unexpected(error: Exception) -> ErrorAnswer:
    """Return a 500 without details. It is always a defect of the service; the log has the traceback."""
    LOG.error("A request failed with an unexpected error.", exc_info=error)
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    body = {
        "error_code": int(status),
        "error_message": "Internal Server Error. Give the request id of this answer to your administrator.",
        "error_name": INTERNAL,
        "code": "leasehold.internal",
        "details": {},
    }
    return ErrorAnswer(status, body, versioned=True)
