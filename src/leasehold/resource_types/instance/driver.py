"""The driver of `virtual:instance`: a private flavor of the requested size (contract resources §3)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudError, Flavor
from leasehold.resource_types.capabilities import ActingForCaller
from leasehold.resource_types.driver import mark_of
from leasehold.resource_types.instance.kind import InstanceRequest
from leasehold.resource_types.slots.driver import SlotsDriver, converge_slots
from leasehold.resource_types.slots.names import SERVER_GROUP, affinity_key, extra_specs, group_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.cloud.ports import Cloud
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.driver import Convergence, Wanted


log = logging.getLogger(__name__)

# The affinity of a reservation does not depend on a server group: the placement of the slots enforces it (design §2).
# But clients written for Blazar send `server_group_id` as a scheduler hint, and Nova accepts only a group of the user's
# own project (docs/decisions/0009).
TOGETHER = "server_group_together"
"""The fact that records the affinity of a group that we made."""


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
        if cloud.server_groups is None or reservation.request.get(SERVER_GROUP):
            return False
        lacks_group = request.affinity is not None and group_of(reservation) is None
        return lacks_group or request.affinity != reservation.cloud.get(TOGETHER)

    def act_for_caller(
        self, cloud: Cloud, reservation: Reservation, request: InstanceRequest, token: str | None
    ) -> Mapping[str, Any]:
        """Make a group for the affinity in the token's project and return its facts; without either, of no group."""
        affinity = request.affinity
        if affinity is None or token is None or cloud.server_groups is None:
            return {SERVER_GROUP: None, TOGETHER: None}
        group = cloud.server_groups.create(mark_of(reservation.id), together=affinity, token=token)
        return {SERVER_GROUP: group, TOGETHER: affinity}

    def discard(self, cloud: Cloud, facts: Mapping[str, Any]) -> None:
        """Remove the server group that the facts name, if any; a failure is only logged."""
        group = facts.get(SERVER_GROUP)
        if group is None or cloud.server_groups is None:
            return
        try:
            cloud.server_groups.delete(group)
        except CloudError as error:
            log.warning("The unused server group %s could not be removed, so delete it by hand: %s", group, error)
