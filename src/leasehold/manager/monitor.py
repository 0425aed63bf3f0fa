"""The health monitor: asks the cloud which hosts work, and heals leases on failed hosts (resources §7)."""

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
    """Record the health of the enrolled hosts once, and heal the leases on failed hosts.

    Healing runs at every check, because more leases enter the healing interval as time passes.
    """
    mark_hosts(service, {each.hypervisor_hostname: each for each in service.cloud.hypervisors.list()})
    heal_leases(service)


class Monitor(PeriodicThread):
    """Checks the hosts every `health_seconds`."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        super().__init__("monitor", service.settings.manager.health_seconds)
        self._service = service

    def run_once(self) -> None:
        """Check the hosts and heal leases; errors are logged, and the next run tries again."""
        try:
            check_hosts(self._service)
        except CloudError as error:
            log.warning("The cloud does not report the state of its hosts: %s", error)
        except Exception:
            log.exception("The health of the hosts could not be checked; the next check tries again")
