"""The kind of `virtual:instance`: room for virtual machines of one size (contract resources §3)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from leasehold.calendar.profile import Units
from leasehold.model.use import Use
from leasehold.resource_types.fields import Affinity, Amount, ExpressionText, Size, read
from leasehold.resource_types.kind import Kind
from leasehold.resource_types.layout import LaidOut, Layout, in_store
from leasehold.resource_types.slots.changes import check_only_more
from leasehold.resource_types.slots.hosts import OfHosts
from leasehold.resource_types.slots.names import SERVER_GROUP, cloud_names
from leasehold.resource_types.slots.placing import Way, allocate, spread_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.model.allocation import Pick
    from leasehold.model.refusal import Refusal
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.kind import Search


class InstanceBody(LaidOut):
    """Room for `amount` instances of one size, on hosts that lie together or apart."""

    amount: Amount
    vcpus: Amount
    memory_mb: Amount
    disk_gb: Size
    affinity: Affinity
    resource_properties: ExpressionText


@dataclass(frozen=True, slots=True)
class InstanceRequest:
    """The parsed `InstanceBody`.

    `server_group_id` is the server group that Blazar made, for a lease that was taken over; None for our own leases.
    """

    amount: int
    vcpus: int
    memory_mb: int
    disk_gb: int
    affinity: bool | None
    resource_properties: str
    server_group_id: str | None = None
    together: str | None = None
    apart: str | None = None

    @property
    def demand(self) -> dict[str, int]:
        """The resources of one instance, by resource class."""
        return {"VCPU": self.vcpus, "MEMORY_MB": self.memory_mb, "DISK_GB": self.disk_gb}


class InstanceKind(OfHosts, Kind[InstanceRequest]):
    """Slots of one size, on hosts that instance and flavor reservations share."""

    name = "virtual:instance"
    noun = "instances"
    unconditional: ClassVar[Mapping[str, Any]] = {"affinity": None, "resource_properties": ""}
    schema = InstanceBody
    request_type = InstanceRequest

    def parse(self, raw: Mapping[str, Any]) -> InstanceRequest:
        """Read a request."""
        request = InstanceRequest(**read(InstanceBody, raw).model_dump())
        self.layout(request).check(request.affinity)
        return request

    def layout(self, request: InstanceRequest) -> Layout:
        """Return how the hosts of the instances lie to each other."""
        return Layout(request.together, request.apart)

    def store(self, request: InstanceRequest) -> dict[str, Any]:
        """Return the fields as JSON values; without a server group or a layout, their keys are absent."""
        stored = in_store(super().store(request))
        if request.server_group_id is None:
            del stored[SERVER_GROUP]
        return stored

    def amend(self, reservation: Reservation, raw: Mapping[str, Any]) -> InstanceRequest:
        """Return the request with the given keys changed; once active, only `amount` may change, and only grow."""
        before = self.load(reservation.request)
        request = replace(self.parse({**reservation.request, **raw}), server_group_id=before.server_group_id)
        check_only_more(reservation, self.store(request))
        return request

    def expressions(self, request: InstanceRequest) -> Mapping[str, str]:
        """Return `resource_properties`, and the expressions of the layout."""
        return {"resource_properties": request.resource_properties, **self.layout(request).expressions()}

    def use(self, request: InstanceRequest) -> Use:
        """Return the vCPUs and the memory of all instances."""
        return Use.of_slots(request.demand, request.amount)

    def allocate(self, request: InstanceRequest, search: Search[InstanceRequest]) -> Sequence[Pick] | Refusal:
        """Place the slots, keeping held slots where they are if possible."""
        matches = self.matching(request, search)
        how = Way(self.name, request.demand, spread_of(request.affinity), self.layout(request))
        return allocate(how, request.amount, search, matches)

    def units(self, request: InstanceRequest, search: Search[InstanceRequest]) -> Units:
        """Return the slots; with `affinity: false`, and where they lie apart, a host counts one."""
        single = request.affinity is False or request.apart is not None
        return Units(self.matching(request, search), request.demand, 1 if single else None)

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return the request, and the ids of the flavor, server group and aggregate."""
        return {**reservation.request, **cloud_names(reservation)}
