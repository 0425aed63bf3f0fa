"""The quotas of projects: Nova's of servers, and Neutron's of floating IPs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from leasehold.cloud.ports import CloudTransientError, Quota

if TYPE_CHECKING:
    from leasehold.cloud.openstack.rest import ServiceClient

UNLIMITED: Final = -1
VERSION: Final = "2.1"


class OpenStackQuotas:
    """Implements `ports.Quotas`. A cloud without Neutron has no quota of floating IPs."""

    def __init__(self, nova: ServiceClient, neutron: ServiceClient) -> None:
        self._nova, self._neutron = nova, neutron

    def of(self, project_id: str) -> Quota:
        """Return what Nova and Neutron say about the project; two calls."""
        call, project = "quotas.of", quote(project_id, safe="")
        try:
            servers = self._nova.get(call, f"/os-quota-sets/{project}", VERSION)["quota_set"]
            networks = self._neutron.get(call, f"/quotas/{project}")["quota"] if self._neutron.root(call) else {}
            amounts = [servers["instances"], servers["cores"], servers["ram"], networks.get("floatingip", UNLIMITED)]
            return Quota(*map(_limit, amounts))
        except (TypeError, LookupError, AttributeError, ValueError) as error:
            raise CloudTransientError(f"{call}: an answer is no quota: {error!r}") from error


def _limit(amount: Any) -> int | None:
    return None if amount == UNLIMITED else int(amount)
