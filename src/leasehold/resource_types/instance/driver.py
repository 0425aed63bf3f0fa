"""The driver of `virtual:instance`: a private flavor of the requested size (contract resources §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import Flavor
from leasehold.resource_types.capabilities import ActingForCaller
from leasehold.resource_types.driver import mark_of
from leasehold.resource_types.instance.groups import lacks_group, make_group, remove_group
from leasehold.resource_types.instance.kind import InstanceRequest
from leasehold.resource_types.slots.driver import SlotsDriver, converge_slots
from leasehold.resource_types.slots.names import affinity_key, extra_specs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.cloud.ports import Cloud
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.driver import Convergence, Wanted


class InstanceDriver(SlotsDriver[InstanceRequest], ActingForCaller):
    """Keeps a flavor, an aggregate and a resource class for each reservation."""

    for_caller = "server group"

    def converge(self, cloud: Cloud, job: Convergence[InstanceRequest], wanted: Wanted) -> Mapping[str, Any]:
        """Make the cloud match, with a private flavor of the requested size."""
        request = job.request
        flavor = Flavor(
            id=job.name,
            name=mark_of(job.name),
            vcpus=request.vcpus,
            memory_mb=request.memory_mb,
            disk_gb=request.disk_gb,
            extra_specs=extra_specs(job.name) | affinity_key(request.server_group_id),
        )
        return converge_slots(cloud, job, wanted, flavor, request.server_group_id)

    def wants_caller(self, cloud: Cloud, reservation: Reservation, request: InstanceRequest) -> bool:
        """Return whether the reservation's server group has to be made, replaced or removed."""
        return cloud.server_groups is not None and lacks_group(reservation, request.affinity)

    def act_for_caller(
        self, cloud: Cloud, reservation: Reservation, request: InstanceRequest, token: str | None
    ) -> Mapping[str, Any]:
        """Make a server group for the affinity, and return its facts."""
        return make_group(cloud, reservation, request.affinity, token)

    def discard(self, cloud: Cloud, facts: Mapping[str, Any]) -> None:
        """Remove the server group that the facts name, if any."""
        remove_group(cloud, facts)
