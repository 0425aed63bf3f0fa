"""The driver of `flavor:instance`: a private copy of the source flavor (contract resources §4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudError, Flavor
from leasehold.model.errors import CloudUnavailableError, NotFoundError
from leasehold.resource_types.capabilities import Resolving
from leasehold.resource_types.driver import mark_of
from leasehold.resource_types.flavor.kind import FlavorRequest, capture
from leasehold.resource_types.slots.driver import SlotsDriver, converge_slots
from leasehold.resource_types.slots.names import extra_specs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.cloud.ports import Cloud
    from leasehold.model.caller import Caller
    from leasehold.resource_types.driver import Convergence, Wanted


class FlavorDriver(SlotsDriver[FlavorRequest], Resolving):
    """Keeps a flavor, an aggregate and a resource class for each reservation."""

    def resolve(self, cloud: Cloud, caller: Caller, request: FlavorRequest) -> FlavorRequest:
        """Add the source flavor and its demand; raises NotFoundError when the caller's project cannot use it."""
        if request.source is not None:
            return request
        flavor = _find(cloud, request.flavor_id)
        if flavor is None or not (flavor.public or caller.project_id in flavor.projects):
            raise NotFoundError("flavor_id", request.flavor_id)
        return capture(request, flavor)

    def converge(self, cloud: Cloud, job: Convergence[FlavorRequest], wanted: Wanted) -> Mapping[str, Any]:
        """Make the cloud match, with a private copy of the source flavor."""
        source = job.request.source
        assert source is not None  # noqa: S101 - `resolve` added it before the lease was decided.
        flavor = Flavor(
            id=job.name,
            name=mark_of(job.name),
            vcpus=source.vcpus,
            memory_mb=source.memory_mb,
            disk_gb=source.disk_gb,
            ephemeral_gb=source.ephemeral_gb,
            extra_specs={**source.extra_specs, **extra_specs(job.name)},
        )
        return converge_slots(cloud, job, wanted, flavor)


def _find(cloud: Cloud, flavor_id: str) -> Flavor | None:
    try:
        return cloud.flavors.get(flavor_id)
    except CloudError as error:
        message = f"The cloud cannot be asked about flavor {flavor_id} now: {error}. Try again later."
        raise CloudUnavailableError(message, field="flavor_id") from error
