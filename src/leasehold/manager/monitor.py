"""The health monitor: asks the cloud which hosts work, and has leases healed when one does not (resources §7)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from leasehold.cloud.ports import CloudError
from leasehold.leasing.heal import heal_leases, mark_hosts
from leasehold.leasing.queries import list_resources
from leasehold.manager.lookout import Lookout
from leasehold.model.resource import HOST

if TYPE_CHECKING:
    from leasehold.leasing.service import Service

log = logging.getLogger(__name__)


def look(service: Service) -> None:
    """Compare the cloud's hypervisors with the enrolled hosts once, and heal what has to be healed.

    A hypervisor that is down or disabled has failed; one that is missing from the cloud's list is neither failed nor
    recovered. Leases come within the healing interval as time passes, so healing is tried at every look.
    """
    health = {each.id: each.up and each.enabled for each in service.cloud.hypervisors.list()}
    hosts = list_resources(service, HOST)
    failed = [host.id for host in hosts if host.reservable and health.get(host.id, True) is False]
    recovered = [host.id for host in hosts if not host.reservable and health.get(host.id, False)]
    if failed or recovered:
        log.warning("Hosts that failed: %s; that work again: %s", failed or "none", recovered or "none")
        mark_hosts(service, failed, recovered)
    heal_leases(service)


class Monitor(Lookout):
    """Looks at the hosts every `health_seconds`."""

    def __init__(self, service: Service) -> None:
        """Prepare the thread."""
        super().__init__("monitor", service.settings.manager.health_seconds)
        self._service = service

    def look(self) -> None:
        """Look at the hosts, and have healed what has to be."""
        try:
            look(self._service)
        except CloudError as error:
            log.warning("The cloud does not say how its hosts are: %s", error)
        except Exception:
            log.exception("The health of the hosts could not be looked at; trying again")
