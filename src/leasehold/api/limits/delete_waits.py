"""Limits how many deletes wait for their lease to be gone before they are answered (docs/decisions/0005).

A waiting delete has committed and released its permit, but it uses a thread of the server. So the number of waiting
deletes is bounded, in total and for each project. Beyond the bound a delete is answered at once, with the same 204.
"""

from __future__ import annotations

from threading import Event, Lock
from typing import TYPE_CHECKING

from leasehold.api.limits.shares import Shares
from leasehold.leasing.delete import wait_until_gone

if TYPE_CHECKING:
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service


def most_waiting(settings: ApiSettings) -> int:
    """Return how many deletes of one process may wait at the same time: a quarter of `threads`, two at least."""
    return max(2, settings.threads // 4)


class DeleteWaits:
    """The waiting deletes of one process; shared by all threads."""

    def __init__(self, settings: ApiSettings) -> None:
        """Start with no delete waiting. One project gets at most half of the slots."""
        self._seconds = settings.delete_wait_seconds
        self._shares = Shares(most_waiting(settings))
        self._lock = Lock()
        self._watched: dict[str, Event] = {}

    def wait(self, service: Service, lease_id: str, project_id: str) -> None:
        """Wait until the lease is gone, for up to `delete_wait_seconds`; return at once when no slot is free.

        The first delete that waits for a lease polls the database; further deletes of it wait for that result.
        """
        with self._shares.permit(project_id) as placed:
            if not placed:
                return
            mine = Event()
            with self._lock:
                watch = self._watched.setdefault(lease_id, mine)
            if watch is not mine:
                watch.wait(self._seconds)
                return
            try:
                wait_until_gone(service, lease_id, self._seconds)
            finally:
                with self._lock:
                    del self._watched[lease_id]
                mine.set()

    def __len__(self) -> int:
        """Return how many deletes wait now."""
        return len(self._shares)
