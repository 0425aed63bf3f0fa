"""Validated tokens in this process's memory, for services that have no memcached."""

from __future__ import annotations

import time as clock
from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_BYTES = 16 * 1024 * 1024


class TokenCache:
    """As much of a memcached client as keystonemiddleware uses. Shared by all threads; the oldest goes when it is full.

    The middleware's own one looks at every token for each request, is never full, and exists once for each thread.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, now: Callable[[], float] = clock.monotonic) -> None:
        """Start empty."""
        self._most_bytes = most_bytes
        self._now = now
        self._lock = Lock()
        self._held: OrderedDict[str, tuple[float, bytes]] = OrderedDict()
        self._bytes = 0

    def get(self, key: str) -> bytes | None:
        """Return what was kept under `key`, a digest of a token, unless its time is over."""
        with self._lock:
            expires, value = self._held.get(key, (0.0, None))
            return value if self._now() < expires else None

    def set(self, key: str, value: bytes, time: int = 0) -> bool:
        """Keep `value` for `time` seconds; nothing is kept for zero or less, which is how caching is switched off."""
        if time <= 0:
            return False
        with self._lock:
            self._drop(key)
            self._held[key] = (self._now() + time, value)
            self._bytes += len(value)
            # Everything is kept for the same time, so the oldest is the first to expire.
            while self._held and (self._bytes > self._most_bytes or self._oldest_expired()):
                self._drop(next(iter(self._held)))
        return True

    def _oldest_expired(self) -> bool:
        expires, _ = next(iter(self._held.values()))
        return expires <= self._now()

    def _drop(self, key: str) -> None:
        _, value = self._held.pop(key, (0.0, b""))
        self._bytes -= len(value)
