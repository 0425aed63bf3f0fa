"""The driver of `maintenance:host`: it leaves the cloud alone.

A host that no lease has is in the free pool, where nobody can boot servers. What else maintenance needs, such as moving
servers away or disabling the compute service, is the operator's work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.resource_types.driver import Driver

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.cloud.ports import Cloud
    from leasehold.resource_types.driver import Convergence, Wanted
    from leasehold.resource_types.maintenance.kind import MaintenanceRequest


class MaintenanceDriver(Driver["MaintenanceRequest"]):
    """Maintenance has nothing in the cloud."""

    def converge(self, cloud: Cloud, job: Convergence[MaintenanceRequest], wanted: Wanted) -> Mapping[str, Any]:  # noqa: ARG002 - nothing to do
        """Return no facts: the cloud is as it should be."""
        return {}
