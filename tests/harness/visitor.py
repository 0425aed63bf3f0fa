"""One client of a crowd, and its record of each request: enough to check the database against."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import requests

if TYPE_CHECKING:
    from collections.abc import Mapping

ANSWERED_WITHIN = 90.0
NO_ANSWER = 0
"""The status of a request whose connection broke: the change may or may not have been made."""
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
    """One client of the crowd."""

    def __init__(self, number: int, session: requests.Session, url: str) -> None:
        """Use one process only, as over a connection through a load balancer."""
        self.number = number
        self.url = url
        self._session = session

    def create(self, body: Mapping[str, Any], kind: str = "create", **headers: str) -> Asked:
        return self._ask("POST", "", Asked("POST", kind, body["name"], NO_ANSWER, None, sent=body), headers)

    def amend(self, lease_id: str, body: Mapping[str, Any], kind: str = "amend") -> Asked:
        asked = Asked("PUT", kind, body.get("name", ""), NO_ANSWER, None, lease_id, body)
        return self._ask("PUT", f"/{lease_id}", asked, {})

    def delete(self, lease_id: str) -> Asked:
        return self._ask("DELETE", f"/{lease_id}", Asked("DELETE", "delete", "", NO_ANSWER, None, lease_id), {})

    def _ask(self, method: str, path: str, asked: Asked, headers: Mapping[str, str]) -> Asked:
        """Send the request and return it with its answer, also when there is none."""
        begun = time.monotonic()
        try:
            answer = self._session.request(
                method,
                f"{self.url}/leases{path}",
                json=asked.sent,
                headers={"OpenStack-API-Version": "reservation 1.1", **headers},
                timeout=ANSWERED_WITHIN,
            )
            body = answer.json() if answer.content else None
        except (requests.ConnectionError, requests.Timeout, requests.exceptions.ChunkedEncodingError):
            status, body, etag = NO_ANSWER, None, ""
        else:
            status, etag = answer.status_code, answer.headers.get("ETag", "")
        found = _ETAG.fullmatch(etag)
        return Asked(
            method,
            asked.kind,
            asked.name,
            status,
            body,
            body["lease"]["id"] if body and status == HTTPStatus.CREATED else asked.lease_id,
            asked.sent,
            int(found[1]) if found else 0,
            time.monotonic() - begun,
        )
