"""How many requests a minute are answered: those of a project, and failed logins from an address.

One token bucket for each, in this process's memory: it holds a minute's worth, so short bursts pass. Several processes
count for themselves.
"""

from __future__ import annotations

import ipaddress
import math
import time as clock
from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from leasehold.api.proxies import read_address
from leasehold.api.versions import PATHS
from leasehold.model.errors import TooManyRequestsError

if TYPE_CHECKING:
    from collections.abc import Callable

    import falcon

    from leasehold.conf.settings import RateSettings
    from leasehold.model.caller import Caller

MINUTE = 60.0
MOST_KEPT = 10_000
"""Buckets of each kind in memory. Beyond it the one that was not used for the longest time goes, as if it were full."""
NETWORK = 64
"""An IPv6 user has a whole network of so many bits, so addresses in one are one."""
CREDENTIALS = ("Authorization", "X-Auth-Token")


@dataclass(slots=True)
class _Bucket:
    level: float
    at: float


class Buckets:
    """Token buckets by name, all of one size. Shared by all threads."""

    def __init__(self, per_minute: int, now: Callable[[], float] = clock.monotonic, most: int = MOST_KEPT) -> None:
        """Start with every bucket full."""
        self.per_minute = per_minute
        self._now = now
        self._most = most
        self._lock = Lock()
        self._held: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, name: str, cost: float = 1.0) -> float:
        """Take from a bucket if enough is in it; return the seconds until there is, zero when it was taken.

        A cost of zero only looks: it waits for a bucket that is empty.
        """
        with self._lock:
            now = self._now()
            bucket = self._held.pop(name, None) or _Bucket(float(self.per_minute), now)
            bucket.level = min(self.per_minute, bucket.level + (now - bucket.at) * self.per_minute / MINUTE)
            bucket.at = now
            self._held[name] = bucket
            if len(self._held) > self._most:
                self._held.popitem(last=False)
            missing = 1.0 - bucket.level
            if missing > 0:
                return missing * MINUTE / self.per_minute
            bucket.level -= cost
            return 0.0

    def __len__(self) -> int:
        """Return how many are in memory."""
        return len(self._held)


class RateLimit:
    """Asked before and after a caller is known; raises TooManyRequestsError. Without limits it lets everything pass."""

    def __init__(self, settings: RateSettings, now: Callable[[], float] = clock.monotonic) -> None:
        """Read the limits."""
        self._requests = Buckets(settings.requests, now) if settings.requests else None
        self._failures = Buckets(settings.failures, now) if settings.failures else None

    def before_login(self, request: falcon.Request) -> None:
        """Refuse an address that failed too often, before its next guess costs anything."""
        if self._failures is not None:
            wait = self._failures.take(_address(request), cost=0.0)
            message = "Too many logins from your address failed"
            _refuse(wait, message, self._failures.per_minute)

    def failed(self, request: falcon.Request) -> None:
        """Count a login that failed. Asking for the versions without credentials is how clients begin, and is none."""
        asks_to_begin = request.path in PATHS and not any(request.get_header(name) for name in CREDENTIALS)
        if self._failures is not None and not asks_to_begin:
            self._failures.take(_address(request))

    def count(self, request: falcon.Request, caller: Caller) -> None:
        """Count a request of a caller who is known; the version documents are free."""
        if self._requests is not None and request.path not in PATHS:
            wait = self._requests.take(caller.project_id)
            _refuse(wait, "Your project sends too many requests", self._requests.per_minute)


def _refuse(wait: float, what: str, limit: int) -> None:
    if wait > 0:
        seconds = math.ceil(wait)
        message = f"{what}: {limit} a minute are answered. Try again in {seconds} seconds."
        raise TooManyRequestsError(message, seconds, limit)


def _address(request: falcon.Request) -> str:
    """Return what stands for whoever sent the request; "" for a socket that has no addresses."""
    text = str(request.env.get("REMOTE_ADDR") or "")
    address = read_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, NETWORK), strict=False))
    return text if address is None else str(address)
