"""Closes connections whose clients do not read their answers.

An answer that does not fit into the buffers of a connection blocks a thread until the client has read most of it, and a
stopping server waits for all unsent data. So a client that reads nothing gets a limited time. A client that reads
slowly gets as long as it needs.
"""

from __future__ import annotations

import logging
from time import monotonic
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

LOG = logging.getLogger(__name__)

RUNNING_SECONDS = 120.0
"""The same time for which waitress keeps an idle connection."""
STOPPING_SECONDS = 5.0
LOOK_SECONDS = 1.0


class ClientConnection(Protocol):
    """A connection of waitress."""

    last_activity: float
    total_outbufs_len: int

    def handle_close(self) -> None:
        """Close the connection, and end the request that writes to it."""


class SlowReaders:
    """Knows since when each connection with unsent data has made no progress; only the socket thread uses it."""

    def __init__(self, now: Callable[[], float] = monotonic) -> None:
        """`now` is a monotonic clock, in seconds."""
        self._now = now
        self._looked = float("-inf")
        self._stalled: dict[ClientConnection, tuple[float, float]] = {}

    def hang_up(self, connections: Iterable[ClientConnection], seconds: float) -> None:
        """Close the connections that had unsent data and sent nothing for `seconds`; checks once a second."""
        now = self._now()
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        known, self._stalled = self._stalled, {}
        for each in connections:
            if not each.total_outbufs_len:
                continue
            activity, since = known.get(each, (None, now))
            if activity != each.last_activity:
                since = now
            if now - since < seconds:
                self._stalled[each] = (each.last_activity, since)
                continue
            LOG.info("A client did not read its answer for %g s; its connection is closed.", seconds)
            each.handle_close()
