"""The kind of `flavor:instance`: room for instances of an existing flavor (contract resources §4)."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from leasehold.calendar.profile import Units
from leasehold.cloud.ports import Flavor
from leasehold.model.errors import ConflictError, InvalidInputError
from leasehold.model.use import Use
from leasehold.resource_types.fields import Affinity, Amount, Identifier, known_fields, read
from leasehold.resource_types.kind import Kind
from leasehold.resource_types.layout import KEYS, LaidOut, Layout
from leasehold.resource_types.slots.changes import check_only_more
from leasehold.resource_types.slots.hosts import OfHosts
from leasehold.resource_types.slots.names import cloud_names
from leasehold.resource_types.slots.placing import Way, allocate, spread_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from leasehold.calendar.arrays import Mask
    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.allocation import Pick
    from leasehold.model.refusal import Refusal
    from leasehold.model.reservation import Reservation
    from leasehold.model.resource import Resource
    from leasehold.resource_types.kind import Search


class FlavorBody(LaidOut):
    """Room for `amount` instances of the flavor `flavor_id`, on hosts that lie together or apart."""

    flavor_id: Identifier
    amount: Amount
    affinity: Affinity


@dataclass(frozen=True, slots=True)
class FlavorRequest:
    """The parsed `FlavorBody`, and what `capture` adds: a copy of the source flavor at that time.

    `demand` holds the resources of one instance, by resource class; `required` and `forbidden` are traits. `captured`
    is the text in which Blazar stored the source flavor, for a lease that was taken over.
    """

    flavor_id: str
    amount: int
    affinity: bool | None = None
    source: Flavor | None = None
    demand: Mapping[str, int] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    captured: str | None = None
    together: str | None = None
    apart: str | None = None


class FlavorKind(OfHosts, Kind[FlavorRequest]):
    """Slots of an existing flavor's size, with its traits and custom resource classes."""

    name = "flavor:instance"
    noun = "instances of flavors"
    unconditional: ClassVar[Mapping[str, Any]] = {"affinity": None}
    schema = FlavorBody
    request_type = FlavorRequest

    def parse(self, raw: Mapping[str, Any]) -> FlavorRequest:
        """Read a request; raises ConflictError for an affinity."""
        request = FlavorRequest(**read(FlavorBody, raw).model_dump())
        if request.affinity is not None:
            message = "A flavor reservation has no affinity; leave it out or use virtual:instance."
            raise ConflictError(message, field="affinity")
        self.layout(request).check()
        return request

    def layout(self, request: FlavorRequest) -> Layout:
        """Return how the hosts of the instances lie to each other."""
        return Layout(request.together, request.apart)

    def expressions(self, request: FlavorRequest) -> Mapping[str, str]:
        """Return the expressions of the layout."""
        return self.layout(request).expressions()

    def store(self, request: FlavorRequest) -> dict[str, Any]:
        """Return the request, and the source flavor if it is known, as JSON values."""
        stored = {"flavor_id": request.flavor_id, "amount": request.amount, "affinity": request.affinity}
        stored |= {name: text for name, text in asdict(self.layout(request)).items() if text is not None}
        if request.source is not None:
            stored |= {
                "flavor": _store_flavor(request.source),
                "demand": dict(request.demand),
                "required": list(request.required),
                "forbidden": list(request.forbidden),
            }
        return stored if request.captured is None else {**stored, "captured": request.captured}

    def load(self, stored: Mapping[str, Any]) -> FlavorRequest:
        """Return the stored request."""
        found = known_fields(FlavorRequest, stored)
        if "flavor" in stored:
            source = known_fields(Flavor, stored["flavor"])
            found["source"] = Flavor(**{**source, "projects": frozenset(source.get("projects", ()))})
            found |= {"required": tuple(stored["required"]), "forbidden": tuple(stored["forbidden"])}
        return FlavorRequest(**found)

    def amend(self, reservation: Reservation, raw: Mapping[str, Any]) -> FlavorRequest:
        """Return the request with the given keys changed; another flavor, which Blazar refuses, is resolved again."""
        before = self.load(reservation.request)
        asked = {"flavor_id": before.flavor_id, "amount": before.amount, "affinity": before.affinity}
        request = self.parse({**asked, **asdict(self.layout(before)), **raw})
        if request.flavor_id == before.flavor_id:
            request = replace(before, amount=request.amount, **asdict(self.layout(request)))
        check_only_more(reservation, self.store(request))
        return request

    def use(self, request: FlavorRequest) -> Use:
        """Return the vCPUs and the memory of all instances."""
        return Use.of_slots(request.demand, request.amount)

    def allocate(self, request: FlavorRequest, search: Search[FlavorRequest]) -> Sequence[Pick] | Refusal:
        """Place the slots on hosts that have the flavor's resource classes and traits."""
        how = Way(self.name, request.demand, spread_of(None), self.layout(request))
        return allocate(how, request.amount, search, self.matching(request, search))

    def units(self, request: FlavorRequest, search: Search[FlavorRequest]) -> Units:
        """Return the slots of the flavor; where they lie apart, a host counts one."""
        return Units(self.matching(request, search), request.demand, None if request.apart is None else 1)

    def matching(self, request: FlavorRequest, search: Search[FlavorRequest]) -> Mask:
        """Return the mask of the enrolled hosts that have the flavor's traits, and a place in the layout."""
        able = _able(request, search.snapshot)
        return able & super().matching(request, search) if self.layout(request) else able

    def fits(self, request: FlavorRequest, resource: Resource) -> bool:
        """Return whether the host has all required traits, no forbidden one, and a place in the layout."""
        able = resource.traits.issuperset(request.required) and resource.traits.isdisjoint(request.forbidden)
        return able and super().fits(request, resource)

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
            **{key: request[key] for key in sorted(KEYS & request.keys())},
            **cloud_names(reservation),
        }


def capture(request: FlavorRequest, flavor: Flavor) -> FlavorRequest:
    """Return the request with a copy of the source flavor, and its demand and traits.

    Raises InvalidInputError for invalid extra specs.
    """
    required, forbidden = _traits(flavor)
    source = replace(flavor, projects=frozenset())
    return replace(request, source=source, demand=_demand(flavor), required=required, forbidden=forbidden)


def _able(request: FlavorRequest, snapshot: Snapshot) -> Mask:
    """Return the mask of the enrolled hosts that have the flavor's traits."""
    traits = snapshot.eligible.with_traits(frozenset(request.required), frozenset(request.forbidden))
    return snapshot.eligible.enrolled() & traits


def _store_flavor(flavor: Flavor) -> dict[str, Any]:
    return asdict(flavor) | {"projects": [], "extra_specs": dict(flavor.extra_specs)}


def _demand(flavor: Flavor) -> dict[str, int]:
    """Return the resources of one instance, by resource class (contract resources §4)."""
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


def _traits(flavor: Flavor) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the flavor's required and forbidden traits."""
    found: dict[str, list[str]] = {"required": [], "forbidden": []}
    for key, value in flavor.extra_specs.items():
        prefix, _, trait = key.partition(":")
        if prefix == "trait" and trait:
            if value not in found:
                message = f"The flavor's extra spec {key} is {value!r}; it has to be required or forbidden."
                raise InvalidInputError(message, field="flavor_id")
            found[value].append(trait)
    return tuple(found["required"]), tuple(found["forbidden"])
