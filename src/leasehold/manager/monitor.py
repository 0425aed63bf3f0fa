"""The health monitor: asks which resources work, and heals leases on failed ones (resources §7)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.leasing.heal import heal_leases
from leasehold.leasing.health import check_health
from leasehold.manager.periodic_thread import PeriodicThread

if TYPE_CHECKING:
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)


def check_once(service: Service) -> None:
    """Record the health of the enrolled resources once, and heal the leases on failed ones.

    Healing runs at every check, because more leases enter the healing interval as time passes.
    """
    check_health(service)
    heal_leases(service)


class Monitor(PeriodicThread):
    """Checks the resources every `health_seconds`."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        super().__init__("monitor", service.settings.manager.health_seconds)
        self._service = service

    def run_once(self) -> None:
        """Check the resources and heal leases; errors are logged, and the next run tries again."""
        try:
            check_once(self._service)
        except Exception:
            log.exception("The health of the resources could not be checked; the next check tries again")
