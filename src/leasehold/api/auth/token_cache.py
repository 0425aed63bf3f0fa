"""A cache of validated tokens in this process's memory, for deployments without memcached."""

from __future__ import annotations

import time as clock
from threading import Lock
from typing import TYPE_CHECKING

from cachetools import TLRUCache

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_BYTES = 16 * 1024 * 1024


class TokenCache:
    """The part of a memcached client that keystonemiddleware uses. Shared by all threads; drops the oldest when full.

    The middleware's own cache scans all its tokens at each request, has no limit, and exists once for each thread.
    """

    def __init__(self, most_bytes: int = MOST_BYTES, now: Callable[[], float] = clock.monotonic) -> None:
        self._lock = Lock()
        self._held: TLRUCache[str, tuple[float, bytes]] = TLRUCache(
            most_bytes, ttu=lambda _, held, now: now + held[0], timer=now, getsizeof=lambda held: len(held[1])
        )

    def get(self, key: str) -> bytes | None:
        """Return the value of `key`, a digest of a token, unless it has expired."""
        with self._lock:
            _, value = self._held.get(key, (0.0, None))
            return value

    def set(self, key: str, value: bytes, time: int = 0) -> bool:
        """Store `value` for `time` seconds, unless it is too large.

        Zero or less stores nothing, which is how caching is switched off.
        """
        with self._lock:
            self._held.pop(key, None)
            if time <= 0 or len(value) > self._held.maxsize:
                return False
            self._held[key] = (time, value)
        return True
