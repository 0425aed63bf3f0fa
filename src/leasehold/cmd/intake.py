"""Limits the memory of all request bodies in the server together.

The server receives a body before the application sees the request and identifies the caller. A body that no handler
will read is dropped as it arrives: one without credentials, one that is too large, one of a method without a body. The
other bodies share a budget. When they exceed it, the body that has been arriving for the longest time is dropped, and
its request is refused once it is complete. So clients that send slowly lose to clients that send at once.
"""

from __future__ import annotations

from io import BytesIO
from threading import RLock
from typing import TYPE_CHECKING

from leasehold.api.limits.rate_limit import CREDENTIALS
from leasehold.features.registry import FEATURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.conf.settings import ApiSettings

BUDGET_BYTES = 64 * 1024 * 1024
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
INTAKES = [each.intakes for each in FEATURES if each.intakes is not None]


class Intake:
    """The bodies of one server; shared by the receiving thread and the answering threads."""

    def __init__(self, settings: ApiSettings, budget: int = BUDGET_BYTES) -> None:
        """Hold up to `budget` bytes, or two bodies of the largest size if that is more."""
        self._limit = settings.max_body
        self._anonymous = settings.auth_strategy == "none"
        self._budget = max(budget, 2 * settings.max_body)
        self._lock = RLock()
        self._arriving: dict[BodyBuffer, None] = {}
        self.held = 0
        """Bytes in memory now."""

    def body(self, command: str, path: str, headers: Mapping[str, str], length: int) -> BodyBuffer:
        """Return an empty body for a request with these headers (as in CGI) and this Content-Length, 0 for chunks."""
        limit = self._limit_of(path, headers)
        wanted = command.upper() in WITH_BODY and length <= limit
        # One more byte shows the application that a chunked body is too large.
        return BodyBuffer(self, limit + 1 if wanted and limit else 0)

    def _limit_of(self, path: str, headers: Mapping[str, str]) -> int:
        """Return the most bytes that somebody will read; 0 without credentials."""
        for each in INTAKES:
            if path in each.paths:
                return min(self._limit, each.most)
        named = any(headers.get(name.upper().replace("-", "_")) for name in CREDENTIALS)
        signed_in = bool(headers.get("COOKIE")) and any(path.startswith(each.by_cookie) for each in INTAKES)
        return self._limit if named or signed_in or self._anonymous else 0

    def grow(self, body: BodyBuffer, content: bytes) -> None:
        """Add the received content, up to the body's limit; beyond the budget drop the oldest arriving bodies."""
        with self._lock:
            kept = body.keep(content)
            if kept:
                self._arriving.setdefault(body)
            self.held += kept
            while self.held > self._budget and self._arriving:
                oldest = next(iter(self._arriving))
                del self._arriving[oldest]
                oldest.refused = True
                self.held -= oldest.drop()

    def complete(self, body: BodyBuffer) -> None:
        """Note that a body is complete: it stays in memory until its request is answered."""
        with self._lock:
            self._arriving.pop(body, None)

    def release(self, body: BodyBuffer) -> None:
        """Drop a body; a second call has no effect."""
        with self._lock:
            self._arriving.pop(body, None)
            self.held -= body.drop()


class BodyBuffer:
    """One request's body, in the form of a waitress buffer."""

    def __init__(self, intake: Intake, most: int) -> None:
        """Keep the first `most` bytes, and drop all further ones."""
        self._intake = intake
        self._most = most
        self._file = BytesIO()
        self._length = 0
        self.refused = False
        """Whether this body was dropped because all bodies together were too large."""

    def __len__(self) -> int:
        """Return how many bytes are kept."""
        return self._length

    def append(self, content: bytes) -> None:
        """Add received content."""
        self._intake.grow(self, content)

    def getfile(self) -> BytesIO:
        """Return the content as a file, at its beginning."""
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        """Release the memory."""
        self._intake.release(self)

    def keep(self, content: bytes) -> int:
        """Add content up to the limit, and return how many bytes were added; only the intake calls this."""
        kept = content[: self._most - self._length]
        self._file.write(kept)
        self._length += len(kept)
        return len(kept)

    def drop(self) -> int:
        """Drop all content, present and future, and return how many bytes were kept; only the intake calls this."""
        dropped, self._length, self._most = self._length, 0, 0
        self._file = BytesIO()
        return dropped
