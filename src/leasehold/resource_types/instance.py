"""`virtual:instance`: room for virtual machines of one size (contract resources §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import Flavor
from leasehold.model.errors import ConflictError, InvalidInputError
from leasehold.model.resource import HOST_POOL
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.base import mark_of
from leasehold.resource_types.fields import Affinity, Amount, ExpressionText, RequestBody, Size, read
from leasehold.resource_types.matching import condition_of, matching
from leasehold.resource_types.slots import (
    SERVER_GROUP,
    affinity_key,
    converge_slots,
    explain,
    extra_specs,
    group_of,
    occupied_slots,
    place,
    spread_of,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from leasehold.cloud.ports import Cloud
    from leasehold.model.allocation import Pick
    from leasehold.model.caller import Caller
    from leasehold.model.properties import Expression
    from leasehold.model.refusal import Refusal
    from leasehold.model.reservation import Reservation
    from leasehold.resource_types.base import Job, Request, Search, Wanted


class InstanceRequest(RequestBody):
    """Room for `amount` instances of one size."""

    amount: Amount
    vcpus: Amount
    memory_mb: Amount
    disk_gb: Size
    affinity: Affinity
    resource_properties: ExpressionText


class InstanceReservations:
    """Slots of one size, on hosts that instance and flavor reservations share."""

    name = "virtual:instance"
    pool = HOST_POOL
    schema = InstanceRequest

    def parse(self, raw: Mapping[str, Any]) -> Request:
        """Read a request."""
        return read(InstanceRequest, raw).model_dump()

    def resolve(self, cloud: Cloud, caller: Caller, request: Request) -> Request:  # noqa: ARG002 - the plugin contract
        """Return the request as it is: it needs nothing from the cloud."""
        return request

    def amend(self, reservation: Reservation, raw: Mapping[str, Any]) -> Request:
        """Return the request with the given keys changed; once active only `amount` may change, upward."""
        request = self.parse({**reservation.request, **raw}) | server_group(dict(reservation.request))
        if reservation.status is ReservationStatus.PENDING:
            return request
        return only_more(reservation, request)

    def conditions(self, request: Request) -> Collection[Expression]:
        """Return the condition that the property expressions of the request state."""
        return (condition_of(request),)

    def allocate(self, request: Request, search: Search) -> Sequence[Pick] | Refusal:
        """Place the slots, keeping those held where they are."""
        demand = demand_of(request)
        matches = matching(search, request)
        spread = spread_of(request["affinity"])
        picks = place(demand, request["amount"], spread, search, matches)
        return explain(self.name, demand, request["amount"], spread, search, matches) if picks is None else picks

    def exactly(self, request: Request, amount: int) -> Request:
        """Return the request with this amount."""
        return {**request, "amount": amount}

    def converge(self, cloud: Cloud, job: Job, wanted: Wanted) -> Mapping[str, Any]:
        """Make the cloud match, with a private flavor of the asked size."""
        request = dict(job.reservation.request)
        flavor = Flavor(
            id=job.name,
            name=mark_of(job.name),
            vcpus=request["vcpus"],
            memory_mb=request["memory_mb"],
            disk_gb=request["disk_gb"],
            extra_specs=extra_specs(job.name) | affinity_key(request),
        )
        return converge_slots(cloud, job, wanted, flavor)

    def occupied(self, cloud: Cloud, job: Job) -> frozenset[int]:
        """Return the holdings on hosts that failed and still have servers of the reservation."""
        return occupied_slots(cloud, job)

    def before_end(self, cloud: Cloud, job: Job) -> None:
        """Do nothing: v1 has no action for instances."""

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return the request and the names under which the cloud knows it."""
        return {**reservation.request, **cloud_names(reservation)}


def demand_of(request: Request) -> dict[str, int]:
    """Return what one instance takes, by resource class."""
    return {"VCPU": request["vcpus"], "MEMORY_MB": request["memory_mb"], "DISK_GB": request["disk_gb"]}


def server_group(request: Request) -> Request:
    """Return the server group that Blazar made for a lease which was taken over from it; ours need none."""
    return {SERVER_GROUP: request[SERVER_GROUP]} if SERVER_GROUP in request else {}


def only_more(reservation: Reservation, request: Request) -> Request:
    """Return the changed request of a reservation that is in use: only `amount` may differ, and only upward."""
    if reservation.status is ReservationStatus.ERROR:
        message = "The reservation is in error and cannot be changed; delete the lease, or change only its dates."
        raise ConflictError(message)
    before = reservation.request
    changed = sorted(key for key in request if key != "amount" and before.get(key) != request[key])
    if changed:
        message = f"The reservation is active, so {', '.join(changed)} cannot change; only amount may grow."
        raise InvalidInputError(message, field=changed[0])
    if request["amount"] < before["amount"]:
        message = f"The reservation is active, so amount cannot shrink below {before['amount']}."
        raise InvalidInputError(message, field="amount")
    return request


def cloud_names(reservation: Reservation) -> dict[str, Any]:
    """Return the v1 fields that lead a user to the reservation's flavor (contract http-api §5.1)."""
    return {
        "flavor_id": reservation.id,
        "server_group_id": group_of(reservation),
        "aggregate_id": reservation.cloud.get("aggregate_id"),
    }
