"""Rate limits per minute: requests of a project, and failed logins from an address.

Each project and each address has a token bucket in this process's memory. It holds the tokens of one minute, so short
bursts pass. Several processes count separately.
"""

from __future__ import annotations

import ipaddress
import math
import time as clock
from collections import Counter, OrderedDict
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from threading import Condition, Lock
from typing import TYPE_CHECKING

from leasehold.api.proxies import read_address
from leasehold.api.versions import PATHS
from leasehold.model.errors import TooManyRequestsError, UnauthorizedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import falcon

    from leasehold.conf.settings import RateSettings
    from leasehold.model.caller import Caller

MINUTE = 60.0
MOST_KEPT = 10_000
"""Buckets of each kind in memory. Beyond it the least recently used one is dropped, as if it were full."""
NETWORK = 64
"""Prefix length: an IPv6 user has a whole network of this size, so all its addresses share one bucket."""
CREDENTIALS = ("Authorization", "X-Auth-Token")


@dataclass(slots=True)
class _Bucket:
    level: float
    at: float


class Buckets:
    """Token buckets by name, all of one size. Shared by all threads."""

    def __init__(self, per_minute: int, now: Callable[[], float] = clock.monotonic, most: int = MOST_KEPT) -> None:
        self.per_minute = per_minute
        self._now = now
        self._most = most
        self._lock = Lock()
        self._held: OrderedDict[str, _Bucket] = OrderedDict()

    def take(self, name: str) -> float:
        """Take a token if the bucket has one, and return zero; otherwise return the seconds until it has one."""
        with self._lock:
            bucket = self._filled(name)
            missing = 1.0 - bucket.level
            if missing > 0:
                return missing * MINUTE / self.per_minute
            bucket.level -= 1.0
            return 0.0

    def give_back(self, name: str) -> None:
        """Undo a `take`."""
        with self._lock:
            bucket = self._filled(name)
            bucket.level = min(self.per_minute, bucket.level + 1.0)

    def _filled(self, name: str) -> _Bucket:
        now = self._now()
        bucket = self._held.pop(name, None) or _Bucket(float(self.per_minute), now)
        bucket.level = min(self.per_minute, bucket.level + (now - bucket.at) * self.per_minute / MINUTE)
        bucket.at = now
        self._held[name] = bucket
        if len(self._held) > self._most:
            self._held.popitem(last=False)
        return bucket

    def __len__(self) -> int:
        """Return how many buckets are in memory."""
        return len(self._held)


class Logins:
    """Limits failed logins by address. Each login takes a token first, and gives it back unless the login fails."""

    def __init__(self, buckets: Buckets) -> None:
        self.per_minute = buckets.per_minute
        self._buckets = buckets
        self._ended = Condition()
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def checking(self, address: str, failure: type[Exception]) -> Iterator[None]:
        """Check a login inside the block: `failure` counts as a failed one, any other end does not.

        When the bucket is empty while logins are under way, wait until one of them ends, so that simultaneous good
        logins are not refused. Raises TooManyRequestsError before the block.
        """
        with self._ended:
            while (wait := self._buckets.take(address)) > 0:
                if not self._under_way[address]:
                    _refuse(wait, "Too many logins from your address failed", self.per_minute)
                self._ended.wait()
            self._under_way[address] += 1
        failed = False
        try:
            yield
        except failure:
            failed = True
            raise
        finally:
            with self._ended:
                if not failed:
                    self._buckets.give_back(address)
                self._under_way -= Counter([address])
                self._ended.notify_all()


class RateLimit:
    """The rate limits of logins and of requests; raises TooManyRequestsError. Without limits everything passes."""

    def __init__(self, settings: RateSettings, now: Callable[[], float] = clock.monotonic) -> None:
        self._requests = Buckets(settings.requests, now) if settings.requests else None
        self._logins = Logins(Buckets(settings.failures, now)) if settings.failures else None

    def login(
        self, request: falcon.Request, failure: type[Exception] = UnauthorizedError
    ) -> AbstractContextManager[None]:
        """Return the context for a login check; it counts failures by address and refuses logins beyond the limit.

        A request for the versions without credentials is how clients begin, and does not count as a login.
        """
        begins = request.path in PATHS and not any(request.get_header(name) for name in CREDENTIALS)
        if self._logins is None or begins:
            return nullcontext()
        return self._logins.checking(_address(request), failure)

    def count(self, request: falcon.Request, caller: Caller) -> None:
        """Count a request against the caller's project; the version documents do not count."""
        if self._requests is not None and request.path not in PATHS:
            wait = self._requests.take(caller.project_id)
            _refuse(wait, "Your project sends too many requests", self._requests.per_minute)


def _refuse(wait: float, what: str, limit: int) -> None:
    if wait > 0:
        seconds = math.ceil(wait)
        message = f"{what}: {limit} a minute are answered. Try again in {seconds} seconds."
        raise TooManyRequestsError(message, seconds, limit)


def _address(request: falcon.Request) -> str:
    """Return the name of the sender's bucket: its address or its IPv6 network, "" for a socket without addresses."""
    text = str(request.env.get("REMOTE_ADDR") or "")
    address = read_address(text)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((address, NETWORK), strict=False))
    return text if address is None else str(address)
