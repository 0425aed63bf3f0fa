"""The kind of `maintenance:host`: certain hosts, whole, for the operator (feature C7, idea 20, decision 0044)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leasehold.model.allocation import Pick
from leasehold.model.errors import InUseError, InvalidInputError
from leasehold.model.resource import MAINTENANCE
from leasehold.resource_types.fields import RequestBody
from leasehold.resource_types.kind import Kind
from leasehold.resource_types.slots.hosts import OfHosts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.model.refusal import Refusal
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.kind import Search


class MaintenanceBody(RequestBody):
    """A reservation of a lease cannot ask for maintenance; POST /v1/maintenances does."""


@dataclass(frozen=True, slots=True)
class MaintenanceRequest:
    """The `hosts` by their ids, and by their `numbers`; the leases that were `moved` for it, or `warned` of it."""

    hosts: tuple[str, ...]
    numbers: tuple[int, ...]
    moved: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()

    @property
    def amount(self) -> int:
        """How many hosts there are."""
        return len(self.numbers)


class MaintenanceKind(OfHosts, Kind[MaintenanceRequest]):
    """Certain hosts, each as a whole, healthy or not. They are never replaced by others."""

    name = MAINTENANCE
    noun = "hosts"
    id_name = "host_id"
    healed = False
    schema = MaintenanceBody
    request_type = MaintenanceRequest

    def parse(self, raw: Mapping[str, Any]) -> MaintenanceRequest:  # noqa: ARG002 - refused whatever it is
        """Refuse: the use case makes the request itself."""
        message = f"A lease cannot reserve {MAINTENANCE}; POST /v1/maintenances makes a maintenance window."
        raise InvalidInputError(message, field="resource_type")

    def amend(self, reservation: Reservation, raw: Mapping[str, Any]) -> MaintenanceRequest:  # noqa: ARG002 - as `parse`
        """Refuse other hosts than before."""
        message = "The hosts of a maintenance window cannot change; delete the window and make another one."
        raise InvalidInputError(message, field="reservations")

    def load(self, stored: Mapping[str, Any]) -> MaintenanceRequest:
        """Return the request that `store` wrote."""
        return MaintenanceRequest(**{name: tuple(values) for name, values in stored.items()})

    def exactly(self, request: MaintenanceRequest, amount: int) -> MaintenanceRequest:  # noqa: ARG002 - all or none
        """Return the request: other hosts would not do."""
        return request

    def allocate(self, request: MaintenanceRequest, search: Search[MaintenanceRequest]) -> Sequence[Pick] | Refusal:
        """Return the hosts; raises InUseError if other leases have one of them in the window."""
        snapshot = search.snapshot
        if not snapshot.free(search.window)[snapshot.rows(request.numbers)].all():
            message = (
                "Other leases have hosts of this maintenance window in the new window. Make another window, which says "
                "what becomes of those leases."
            )
            raise InUseError(message, field="end_date")
        return [Pick(number) for number in request.numbers]

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return the ids of the hosts."""
        return {"hosts": list(reservation.request["hosts"])}
