"""Reads the body of a request: a JSON object within limits of size and content, or an error that says what is wrong."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NoReturn

from leasehold.api.errors import MalformedRequestError
from leasehold.model.errors import BodyTooLargeError

if TYPE_CHECKING:
    from collections.abc import Callable

    import falcon

JSON_TYPE = "application/json"
DEEPEST = 32
LARGEST_INTEGER = 2**63
"""No database column and no cloud takes an integer outside of [-2**63, 2**63)."""


def read(request: falcon.Request, limit: int, *, typed: bool = False, strict: bool = False) -> dict[str, Any]:
    """Return the JSON object in the body of `request`, at most `limit` bytes long.

    Raises `MalformedRequestError` (400) and `BodyTooLargeError` (413). The content type may be absent unless `typed`.
    `strict` refuses an object with a key twice; otherwise the last one counts.
    """
    if typed and not request.content_type:
        raise MalformedRequestError(f"The request does not say what its body is. Send Content-Type: {JSON_TYPE}.")
    content_type = (request.content_type or JSON_TYPE).split(";", 1)[0].strip().lower()
    if content_type != JSON_TYPE:
        raise MalformedRequestError(f"Content type {content_type[:80]!r} is not understood. Send {JSON_TYPE}.")
    value = _decode(_bytes(request, limit), _unique if strict else None)
    if not isinstance(value, dict):
        raise MalformedRequestError("The body has to be a JSON object, such as {}.")
    _inspect(value, depth=1)
    return value


def _bytes(request: falcon.Request, limit: int) -> bytes:
    if (request.content_length or 0) > limit:
        raise _too_large(limit)
    content: bytes = request.bounded_stream.read(limit + 1)
    if len(content) > limit:
        raise _too_large(limit)
    if not content:
        raise MalformedRequestError("The request has no body. Send a JSON object.")
    return content


def _too_large(limit: int) -> BodyTooLargeError:
    return BodyTooLargeError(
        f"The body is larger than {limit} bytes. Send less in one request.", details={"limit": limit}
    )


def _decode(content: bytes, as_object: Callable[[list[tuple[str, Any]]], dict[str, Any]] | None) -> Any:
    try:
        return json.loads(content.decode("utf-8"), parse_constant=_refuse_constant, object_pairs_hook=as_object)
    except UnicodeDecodeError as error:
        raise MalformedRequestError(f"The body is not UTF-8: byte {error.start} is not valid.") from error
    except json.JSONDecodeError as error:
        message = f"The body is not JSON: {error.msg} in line {error.lineno}, column {error.colno}."
        raise MalformedRequestError(message) from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        # The only other ValueError is Python's limit on the digits of an integer.
        raise _too_big() from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise MalformedRequestError(f"An object of the body has the key {key[:64]!r} twice. Send each key once.")
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise MalformedRequestError(f"The body is not JSON: {name} is not a JSON number.")


def _too_deep() -> MalformedRequestError:
    return MalformedRequestError(
        f"The body is nested deeper than {DEEPEST} levels, which no request of this API needs."
    )


def _too_big() -> MalformedRequestError:
    return MalformedRequestError("The body holds a number that is too large to be used.")


def _inspect(value: Any, depth: int) -> None:
    """Refuse values that JSON allows and databases cannot store: NUL, half a surrogate pair, numbers out of range."""
    if depth > DEEPEST:
        raise _too_deep()
    if isinstance(value, str):
        _inspect_text(value)
    elif isinstance(value, dict):
        for key, item in value.items():
            _inspect_text(key)
            _inspect(item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _inspect(item, depth + 1)
    elif isinstance(value, int):
        if not -LARGEST_INTEGER <= value < LARGEST_INTEGER:
            raise _too_big()
    elif isinstance(value, float) and not math.isfinite(value):
        raise _too_big()


def _inspect_text(text: str) -> None:
    if "\x00" in text:
        raise MalformedRequestError("The body holds a NUL character, which cannot be stored. Leave it out.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise MalformedRequestError("The body holds half of a surrogate pair, which is not a character.") from error
