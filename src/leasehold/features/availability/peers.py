"""Asks the reservation services of other regions: each answers for itself, or a sentence says why it does not.

They are asked at the same time and with the caller's own token, so that each applies its own rules. Nothing is stored.
"""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import requests
from pydantic import TypeAdapter, ValidationError

from leasehold.api.versions import MAXIMUM
from leasehold.http.bounded import cause, requested

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from concurrent.futures import Future

log = logging.getLogger(__name__)

LONGEST_ANSWER = 16 * 1024 * 1024
"""In bytes."""
LONGEST_MESSAGE = 1_000
"""In characters."""
REFUSED = "The service of this region refuses the request."
SILENT = "The service of this region gives no answer: {}. Try again later, or ask for the other regions alone."


@dataclass(frozen=True, slots=True)
class PeerRequest:
    """A request to the service of each region: `path` is that below `/v1`, with its query, and `body` the JSON."""

    method: str
    path: str
    token: str | None = field(repr=False)
    body: str | None = None


@dataclass(frozen=True, slots=True)
class PeerAnswer:
    """What the service of a region says: `content` as the answer's type has it, or the `error`, a sentence."""

    content: Any = None
    error: str | None = None


@contextmanager
def asking(
    peers: Mapping[str, str], question: PeerRequest, answer: TypeAdapter[Any], *, seconds: float, cafile: str | None
) -> Iterator[Mapping[str, Future[PeerAnswer]]]:
    """Ask the services of these regions, each in a thread, and yield their answers to come; leaving waits for all.

    One may take `seconds` to connect and as long again to answer. `cafile` names the certificates to trust.
    """
    ask = partial(_ask, question, answer, seconds, cafile)
    with ThreadPoolExecutor(max_workers=max(1, len(peers)), thread_name_prefix="region") as pool:
        yield {name: pool.submit(ask, name, url) for name, url in peers.items()}


def _ask(
    question: PeerRequest, expected: TypeAdapter[Any], seconds: float, cafile: str | None, name: str, url: str
) -> PeerAnswer:
    headers = {"Accept": "application/json", "OpenStack-API-Version": f"reservation {MAXIMUM}"}
    if question.body is not None:
        headers["Content-Type"] = "application/json"
    if question.token is not None:
        headers["X-Auth-Token"] = question.token
    address = f"{url}{question.path}"
    try:
        with requested(question.method, address, question.body, headers, seconds, cafile) as answer:
            content = json.loads(answer.read(LONGEST_ANSWER))
            if answer.status_code == HTTPStatus.OK:
                return PeerAnswer(expected.validate_python(content))
            why = f"it answered {answer.status_code}"
            if HTTPStatus.BAD_REQUEST <= answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR:
                return PeerAnswer(error=_message(content))
    except requests.RequestException as error:
        why = cause(error)
    except (ValueError, RecursionError) as error:
        why = "it answered something else than a reservation service does"
        if isinstance(error, ValidationError):
            why += ", or one of another version"
    log.warning("The service of the region %s gave no answer: %s", name, why)
    return PeerAnswer(error=SILENT.format(why))


def _message(content: Any) -> str:
    """Return the message of a refusal as one bounded line, or a general one if it has none."""
    message = content.get("error_message") if isinstance(content, dict) else None
    if not isinstance(message, str):
        return REFUSED
    return "".join(each if each.isprintable() else " " for each in message).strip()[:LONGEST_MESSAGE] or REFUSED
