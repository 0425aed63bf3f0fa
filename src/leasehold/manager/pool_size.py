"""The thread that lets the reservation pool follow the leases that wait; one manager at a time (feature F3)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.leasing.pool_size import follow
from leasehold.manager.periodic_thread import PeriodicThread
from leasehold.manager.turn import take_turn

if TYPE_CHECKING:
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
            if take_turn(self._service, POOL_LOCK, self._seconds):
                follow(self._service)
        except CloudError as error:
            log.warning("The size of the reservation pool is not looked at: %s", error)
        except Exception:
            log.exception("The size of the reservation pool could not be looked at; the next round tries again")
