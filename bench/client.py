"""An HTTP client with little overhead: one persistent connection, only the standard library."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS_ALLOWED: Final = 120.0
VERSION_1_1: Final = {"OpenStack-API-Version": "reservation 1.1"}
ISO: Final = "%Y-%m-%dT%H:%M:%SZ"
MINUTES: Final = "%Y-%m-%d %H:%M"


class AnswerError(Exception):
    """The service gave no answer, or one with an unexpected status."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and after how many seconds it came."""

    status: int
    text: str
    seconds: float

    @property
    def body(self) -> Any:
        """The answer, decoded from JSON."""
        return json.loads(self.text)

    def expect(self, *statuses: int) -> Self:
        """Return the answer itself; raises AnswerError when it has another status."""
        if self.status not in statuses:
            raise AnswerError(f"Expected {' or '.join(map(str, statuses))}, got {self.status}: {self.text[:400]}")
        return self


class Client:
    """A client of one API with one connection; not for use by several threads at once."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        """`url` is the v1 endpoint; `headers` go with every request."""
        parts = urlsplit(url)
        self._path = parts.path.rstrip("/")
        self._headers = {"Accept": "application/json", **(headers or {})}
        self._connection = HTTPConnection(parts.hostname or "", parts.port, timeout=SECONDS_ALLOWED)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def ask(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Answer:
        """Send a request to a path below the endpoint, or below the root when it begins with `//`."""
        path = path[1:] if path.startswith("//") else f"{self._path}{path}"
        content = None if body is None else json.dumps(body).encode()
        sent = self._headers | ({} if content is None else {"Content-Type": "application/json"}) | dict(headers or {})
        begun = time.perf_counter()
        try:
            self._connection.request(method, path, content, sent)
            response = self._connection.getresponse()
            text = response.read().decode()
        except (OSError, HTTPException) as error:
            self._connection.close()
            raise AnswerError(f"{method} {path}: no answer: {error!r}") from error
        return Answer(response.status, text, time.perf_counter() - begun)

    def get(self, path: str) -> Any:
        """Return the body of a GET, which must answer 200."""
        return self.ask("GET", path).expect(200).body
