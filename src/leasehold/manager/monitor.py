"""The monitor: asks which resources work and what they have, and heals leases on failed ones (resources §7)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.leasing.healing.heal import heal_leases
from leasehold.leasing.healing.risk import tell_risks
from leasehold.leasing.resources.health import admit, check_health
from leasehold.manager.periodic_thread import PeriodicThread
from leasehold.manager.surveyor import Surveyor

if TYPE_CHECKING:
    from collections.abc import Collection

    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)


def check_once(service: Service, types: Collection[str] | None = None) -> frozenset[str]:
    """Record the health of the enrolled resources once, and heal the leases that lost or miss something.

    `types` names the resource types that are asked; None means those that are polled. Returns those for which the cloud
    has not answered.

    Healing runs at every check, because more leases enter the healing interval as time passes. A resource that works
    again goes back to the reservations that lost it before anybody else may have it, and then to those that miss one.
    """
    checked = check_health(service, types)
    heal_leases(service, checked.returning)
    if checked.returning:
        admit(service, checked.returning)
        heal_leases(service)
    tell_risks(service)
    return checked.silent


class Monitor(PeriodicThread):
    """Checks the resources every `health_seconds`."""

    def __init__(self, service: Service) -> None:
        super().__init__("monitor", service.settings.manager.health_seconds)
        self._service = service
        self.surveyor = Surveyor(service)

    def run_once(self) -> None:
        """Check the resources and heal leases; errors are logged, and the next run tries again.

        What the resources have is read last: that may take long, and what has failed does not wait for it.
        """
        try:
            check_once(self._service)
        except Exception:
            log.exception("The health of the resources could not be checked; the next check tries again")
        try:
            if self.surveyor.survey():
                heal_leases(self._service)
                tell_risks(self._service)
        except Exception:
            log.exception("What the resources have could not be read again; the next check tries again")
