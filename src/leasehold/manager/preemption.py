"""The thread that tells owners of preemptible servers that a lease starts soon; one manager at a time (feature K1)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.leasing.preemption import warn_preemptibles
from leasehold.manager.periodic_thread import PeriodicThread
from leasehold.manager.turn import take_turn
from leasehold.resource_types.displacement import open_all

if TYPE_CHECKING:
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)

PREEMPTION_LOCK = "preemption"
PART = 10
"""A look comes so often in each grace period."""
SHORTEST, LONGEST = 1.0, 60.0
"""Seconds between two looks, at least and at most."""


class PreemptionWatcher(PeriodicThread):
    """Looks for leases that start soon ten times in each grace period, and every minute in long ones.

    Without one it opens the hosts that were closed while there was one, once, and does nothing more.
    """

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        cloud = service.settings.cloud
        grace = cloud.preemptible_grace.total_seconds() if cloud.expect_preemptibles else 0.0
        self._watches = bool(grace)
        super().__init__("preemption", min(max(grace / PART, SHORTEST), LONGEST) if grace else LONGEST)
        self._service = service
        self._opened = False

    def run_once(self) -> None:
        """Tell whom to tell, if it is our turn; errors are logged, and the next round tries again."""
        try:
            if not self._watches:
                self._open()
            elif take_turn(self._service, PREEMPTION_LOCK, self._seconds):
                warn_preemptibles(self._service)
        except CloudError as error:
            log.warning("Owners of preemptible servers are not told yet: %s", error)
        except Exception:
            log.exception("Owners of preemptible servers could not be told; the next round tries again")

    def _open(self) -> None:
        if not self._opened:
            open_all(self._service.cloud)
            self._opened = True
