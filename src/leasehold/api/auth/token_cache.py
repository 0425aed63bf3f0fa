"""A cache of validated tokens in this process's memory, for deployments without memcached."""

from __future__ import annotations

import time as clock
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_BYTES = 16 * 1024 * 1024


class TokenCache:
    """The part of a memcached client that keystonemiddleware uses. Shared by all threads; drops the oldest when full.

    The middleware's own cache scans all its tokens at each request, has no limit, and exists once for each thread.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, now: Callable[[], float] = clock.monotonic) -> None:
        """Start empty."""
        self._most_bytes = most_bytes
        self._now = now
        self._lock = Lock()
        self._held: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> bytes | None:
        """Return the value of `key`, a digest of a token, unless it has expired."""
        with self._lock:
            expires, value = self._held.get(key, (0.0, None))
            return value if self._now() < expires else None

    def set(self, key: str, value: bytes, time: int = 0) -> bool:
        """Store `value` for `time` seconds. Zero or less stores nothing, which is how caching is switched off."""
        if time <= 0:
            return False
        with self._lock:
            self._drop(key)
            self._held[key] = (self._now() + time, value)
            self._bytes += len(value)
            # All entries are kept for the same time, so the oldest expires first.
            while self._held and (self._bytes > self._most_bytes or self._oldest_expired()):
                self._drop(next(iter(self._held)))
        return True

    def _oldest_expired(self) -> bool:
        expires, _ = next(iter(self._held.values()))
        return expires <= self._now()

    def _drop(self, key: str) -> None:
        _, value = self._held.pop(key, (0.0, b""))
        self._bytes -= len(value)
