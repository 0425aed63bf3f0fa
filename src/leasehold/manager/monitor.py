"""The health monitor: asks the cloud which hosts work, and has leases healed when one does not (resources §7)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.leasing.heal import heal_leases
from leasehold.leasing.health import mark_hosts
from leasehold.manager.periodic_thread import PeriodicThread

if TYPE_CHECKING:
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)


def check_hosts(service: Service) -> None:
    """Compare the cloud's hypervisors with the enrolled hosts once, and heal what has to be healed.

    Leases come within the healing interval as time passes, so healing is tried at every look.
    """
    mark_hosts(service, {each.hypervisor_hostname: each for each in service.cloud.hypervisors.list()})
    heal_leases(service)


class Monitor(PeriodicThread):
    """Looks at the hosts every `health_seconds`."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        super().__init__("monitor", service.settings.manager.health_seconds)
        self._service = service

    def run_once(self) -> None:
        """Look at the hosts, and have healed what has to be."""
        try:
            check_hosts(self._service)
        except CloudError as error:
            log.warning("The cloud does not say how its hosts are: %s", error)
        except Exception:
            log.exception("The health of the hosts could not be looked at; trying again")
