"""The thread that lets the reservation pool follow the leases that wait; one manager at a time (feature F3)."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy.exc import IntegrityError

from leasehold.cloud.ports import CloudError
from leasehold.db.periodic_lock import add_periodic_lock, take_periodic_lock
from leasehold.leasing.pool_size import follow
from leasehold.manager.periodic_thread import PeriodicThread

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)

POOL_LOCK = "pool-size"


class PoolSizer(PeriodicThread):
    """Moves hosts every `[physical:host] pool_seconds`, if no other manager has done so since."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        super().__init__("pool size", service.settings.manager.pool_seconds)
        self._service = service

    def run_once(self) -> None:
        """Move what is needed, if it is our turn; errors are logged, and the next round tries again."""
        try:
            if self._take_turn():
                follow(self._service)
        except CloudError as error:
            log.warning("The size of the reservation pool is not looked at: %s", error)
        except Exception:
            log.exception("The size of the reservation pool could not be looked at; the next round tries again")

    def _take_turn(self) -> bool:
        try:
            return self._service.db.transact(self._taken)
        except IntegrityError:
            return False

    def _taken(self, connection: Connection) -> bool:
        now = self._service.now()
        add_periodic_lock(connection, POOL_LOCK)
        # Our own next round must not find the lock taken.
        return take_periodic_lock(connection, POOL_LOCK, now, now + timedelta(seconds=self._seconds) * 0.9)
