"""One client, and its record of each request: enough to check the database against."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, TypeVar

import requests

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.harness.programs import Fleet

ANSWERED_WITHIN = 90.0
VERSION = {"OpenStack-API-Version": "reservation 1.2"}
NEWEST = {"OpenStack-API-Version": "reservation 1.3"}
"""What offers and shared leases need."""
CLIENTS = 64
"""The number of clients of a race."""
NO_ANSWER = 0
"""The status of a request whose connection broke: the change may or may not have been made."""
Made = TypeVar("Made")
_ETAG = re.compile(r'"(\d+)"')
_UNSURE = "look whether the change is there"
"""The text of a 503 when the database failed during the commit. Any other 503 promises that nothing changed."""


class Outcome(StrEnum):
    """What a client can conclude from the answer."""

    GRANTED = "granted"
    REFUSED = "refused"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request and its answer. `name` is the lease's name after it; `lease_id` is "" until the lease exists."""

    method: str
    kind: str
    name: str
    status: int
    body: Any
    lease_id: str = ""
    sent: Mapping[str, Any] | None = None
    generation: int = 0
    seconds: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def outcome(self) -> Outcome:
        """Whether the answer says that the change was made."""
        if self.status in (HTTPStatus.OK, HTTPStatus.CREATED, HTTPStatus.NO_CONTENT):
            return Outcome.GRANTED
        if self.status == HTTPStatus.SERVICE_UNAVAILABLE:
            said = self.body["error_message"] if isinstance(self.body, dict) else _UNSURE
            return Outcome.UNKNOWN if _UNSURE in said else Outcome.REFUSED
        return Outcome.UNKNOWN if self.status == NO_ANSWER else Outcome.REFUSED


class Visitor:
    """A client of one process, as over a connection through a load balancer."""

    def __init__(self, number: int, session: requests.Session, url: str) -> None:
        """Use this session for every request."""
        self.number = number
        self.url = url
        self._session = session

    def create(self, body: Mapping[str, Any], kind: str = "create", **headers: str) -> Asked:
        return self.ask("POST", "/leases", body, kind, headers=headers)

    def amend(self, lease_id: str, body: Mapping[str, Any], kind: str = "amend") -> Asked:
        headers = NEWEST if "shared_with" in body else None
        return self.ask("PUT", f"/leases/{lease_id}", body, kind, lease_id, headers)

    def offer(self, body: Mapping[str, Any], kind: str) -> Asked:
        """Ask for an offer; the body of the answer is the offer, with its lease."""
        answer = self.ask("POST", "/offers", body, kind, headers=NEWEST)
        if answer.status != HTTPStatus.CREATED:
            return answer
        made = answer.body["offer"]
        return replace(answer, body=made, lease_id=made["id"])

    def accept(self, offer: Asked, kind: str) -> Asked:
        """Accept an offer. If that is not refused, the lease has the offer's name, or the one that it got since."""
        answer = self.ask("POST", f"/offers/{offer.lease_id}/accept", None, kind, offer.lease_id, NEWEST)
        if answer.outcome is Outcome.REFUSED:
            return answer
        name = answer.body["lease"]["name"] if answer.outcome is Outcome.GRANTED else offer.name
        return replace(answer, name=name, sent=offer.sent)

    def delete(self, lease_id: str) -> Asked:
        return self.ask("DELETE", f"/leases/{lease_id}", None, "delete", lease_id)

    def ask(
        self,
        method: str,
        path: str,
        sent: Mapping[str, Any] | None = None,
        kind: str = "",
        lease_id: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> Asked:
        """Send a request and return it with its answer, also when there is none."""
        begun = time.monotonic()
        status, body = NO_ANSWER, None
        found: Mapping[str, str] = {}
        with suppress(requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError):
            answer = self._session.request(
                method, f"{self.url}{path}", json=sent, headers={**VERSION, **(headers or {})}, timeout=ANSWERED_WITHIN
            )
            status, body, found = answer.status_code, answer.json() if answer.content else None, answer.headers
        etag = _ETAG.fullmatch(found.get("ETag", ""))
        return Asked(
            method,
            kind or f"{method} {path}",
            (sent or {}).get("name", ""),
            status,
            body,
            body["lease"]["id"] if body and status == HTTPStatus.CREATED and "lease" in body else lease_id,
            sent,
            int(etag[1]) if etag else 0,
            time.monotonic() - begun,
            found,
        )


def all_at_once(site: Fleet, act: Callable[[Visitor], Made], clients: int = CLIENTS) -> list[Made]:
    """Run `act` for this many clients at the same moment, each in a thread; return their results."""
    barrier = threading.Barrier(clients)

    def visit(number: int) -> Made:
        with requests.Session() as session:
            # Connect before the start, so that only the race itself takes time.
            session.get(site.url(number).removesuffix("v1") + "healthcheck", timeout=ANSWERED_WITHIN)
            barrier.wait(ANSWERED_WITHIN)
            return act(Visitor(number, session, site.url(number)))

    with ThreadPoolExecutor(clients) as threads:
        return list(threads.map(visit, range(clients)))


def statuses(answers: Sequence[Asked]) -> dict[tuple[str, int], int]:
    """Return the number of answers for each method and status."""
    found: dict[tuple[str, int], int] = {}
    for answer in answers:
        found[answer.method, answer.status] = found.get((answer.method, answer.status), 0) + 1
    return found
