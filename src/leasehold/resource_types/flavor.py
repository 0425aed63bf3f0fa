"""`flavor:instance`: room for instances of a flavor that exists (contract resources §4)."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from leasehold.cloud.ports import CloudError, Flavor
from leasehold.model.errors import CloudUnavailableError, ConflictError, InvalidInputError, NotFoundError
from leasehold.model.resource import HOST_POOL
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.base import mark_of
from leasehold.resource_types.fields import Affinity, Amount, Identifier, RequestBody, read
from leasehold.resource_types.instance import cloud_names, only_more
from leasehold.resource_types.slots import (
    converge_slots,
    explain,
    extra_specs,
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

_ASKED = ("flavor_id", "amount", "affinity")


class FlavorRequest(RequestBody):
    """Room for `amount` instances of the flavor `flavor_id`."""

    flavor_id: Identifier
    amount: Amount
    affinity: Affinity


class FlavorReservations:
    """Slots of an existing flavor's size, with its traits and custom resource classes."""

    name = "flavor:instance"
    pool = HOST_POOL
    schema = FlavorRequest

    def parse(self, raw: Mapping[str, Any]) -> Request:
        """Read a request; affinity has to be none."""
        request = read(FlavorRequest, raw)
        if request.affinity is not None:
            message = "A flavor reservation has no affinity; leave it out or use virtual:instance."
            raise ConflictError(message, field="affinity")
        return request.model_dump()

    def resolve(self, cloud: Cloud, caller: Caller, request: Request) -> Request:
        """Add the source flavor and what one instance takes; raises NotFoundError when the caller cannot see it."""
        if "flavor" in request:
            return request
        flavor = _find(cloud, request["flavor_id"])
        if flavor is None or not (flavor.public or caller.project_id in flavor.projects):
            raise NotFoundError("flavor_id", request["flavor_id"])
        return capture(request, flavor)

    def amend(self, reservation: Reservation, raw: Mapping[str, Any]) -> Request:
        """Return the request with the given keys changed; another flavor is looked up again (ours: upstream cannot)."""
        before = reservation.request
        request = self.parse({**{key: before[key] for key in _ASKED}, **raw})
        if request["flavor_id"] == before["flavor_id"]:
            request = {**before, **request}
        return request if reservation.status is ReservationStatus.PENDING else only_more(reservation, request)

    def conditions(self, request: Request) -> Collection[Expression]:  # noqa: ARG002 - the plugin contract
        """Return nothing: the flavor's classes and traits say which hosts match."""
        return ()

    def allocate(self, request: Request, search: Search) -> Sequence[Pick] | Refusal:
        """Place the slots on hosts that have the flavor's classes and traits."""
        snapshot = search.snapshot
        traits = snapshot.with_traits(frozenset(request["required"]), frozenset(request["forbidden"]))
        matches = snapshot.enrolled() & traits
        demand, amount, spread = request["demand"], request["amount"], spread_of(None)
        picks = place(demand, amount, spread, search, matches)
        return explain(self.name, demand, amount, spread, search, matches) if picks is None else picks

    def exactly(self, request: Request, amount: int) -> Request:
        """Return the request with this amount."""
        return {**request, "amount": amount}

    def converge(self, cloud: Cloud, job: Job, wanted: Wanted) -> Mapping[str, Any]:
        """Make the cloud match, with a private copy of the source flavor."""
        source = job.reservation.request["flavor"]
        flavor = Flavor(
            id=job.name,
            name=mark_of(job.name),
            vcpus=source["vcpus"],
            memory_mb=source["memory_mb"],
            disk_gb=source["disk_gb"],
            ephemeral_gb=source["ephemeral_gb"],
            extra_specs={**source["extra_specs"], **extra_specs(job.name)},
        )
        return converge_slots(cloud, job, wanted, flavor)

    def occupied(self, cloud: Cloud, job: Job) -> frozenset[int]:
        """Return the holdings on hosts that failed and still have servers of the reservation."""
        return occupied_slots(cloud, job)

    def before_end(self, cloud: Cloud, job: Job) -> None:
        """Do nothing: v1 has no action for instances."""

    def view(self, reservation: Reservation) -> dict[str, Any]:
        """Return the same fields as an instance reservation; the source flavor is text in `resource_properties`."""
        request = reservation.request
        source = request["flavor"]
        return {
            "amount": request["amount"],
            "vcpus": source["vcpus"],
            "memory_mb": source["memory_mb"],
            "disk_gb": source["disk_gb"],
            "affinity": None,
            "resource_properties": request.get("captured") or json.dumps(source, sort_keys=True),
            **cloud_names(reservation),
        }


def capture(request: Request, flavor: Flavor) -> Request:
    """Return the request with the source flavor as it is now, and with what one instance of it takes."""
    captured = asdict(flavor) | {"projects": [], "extra_specs": dict(flavor.extra_specs)}
    return {**request, "flavor": captured, "demand": _demand(flavor), **_traits(flavor)}


def _find(cloud: Cloud, flavor_id: str) -> Flavor | None:
    try:
        return cloud.flavors.get(flavor_id)
    except CloudError as error:
        message = f"The cloud cannot be asked about flavor {flavor_id} now: {error}. Try again later."
        raise CloudUnavailableError(message, field="flavor_id") from error


def _demand(flavor: Flavor) -> dict[str, int]:
    """Return what one instance takes, by resource class (contract resources §4)."""
    specs = flavor.extra_specs
    dedicated = specs.get("hw:cpu_policy") == "dedicated"
    demand = {
        "PCPU" if dedicated else "VCPU": flavor.vcpus,
        "MEMORY_MB": flavor.memory_mb,
        "DISK_GB": flavor.disk_gb + flavor.ephemeral_gb,
    }
    for key, value in specs.items():
        prefix, _, resource_class = key.partition(":")
        if prefix == "resources" and resource_class:
            if not value.isdecimal():
                message = f"The flavor's extra spec {key} is {value!r}; it has to be a whole number."
                raise InvalidInputError(message, field="flavor_id")
            demand[resource_class] = int(value)
    return {name: amount for name, amount in demand.items() if amount}


def _traits(flavor: Flavor) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"required": [], "forbidden": []}
    for key, value in flavor.extra_specs.items():
        prefix, _, trait = key.partition(":")
        if prefix == "trait" and trait:
            if value not in found:
                message = f"The flavor's extra spec {key} is {value!r}; it has to be required or forbidden."
                raise InvalidInputError(message, field="flavor_id")
            found[value].append(trait)
    return found
