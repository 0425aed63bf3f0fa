"""One example of each resource type: what `test_kinds.py` has to know of it. A new type is one more entry.

All examples count in whole resources: the slots of one instance fill a host. So the same pool, with the same
allocations, has the same answer for every type.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st

from leasehold.cloud.ports import Flavor
from leasehold.model.allocation import Pick
from leasehold.resource_types.fields import MOST
from leasehold.resource_types.flavor.kind import FlavorKind, FlavorRequest
from leasehold.resource_types.floatingip.kind import FloatingIpKind, FloatingIpRequest
from leasehold.resource_types.host.kind import HostKind, HostRequest
from leasehold.resource_types.instance.kind import InstanceKind, InstanceRequest
from tests.unit.resource_types.pool import NETWORK, OURS, address, booked, host

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.model.resource import Resource
    from leasehold.model.windows import Window
    from leasehold.resource_types.kind import Kind
    from tests.unit.calendar.oracle import Row

LARGE = '[">=", "$vcpus", "8"]'
CLOUD = {"aggregate_id": 7}
"""The facts of the reservation whose view is `Example.view`."""


@dataclass(frozen=True)
class Example:
    """A resource type, its requests in all forms, and what differs from other types."""

    kind: Kind[Any]
    sent: dict[str, Any]
    """A request as a client may send it: only required fields, numbers as text."""
    parsed: Any
    stored: dict[str, Any]
    request: Callable[[int], Any]
    """The request for exactly so many resources."""
    view: dict[str, Any]
    """The view of `request(2)`."""
    numbers: dict[str, int]
    """The least value of each number in a request."""
    fixed: dict[str, Any]
    """Values that the request of an active reservation cannot get."""
    stays: str
    """The message for these, without the name of the field."""
    no_less: tuple[int, str]
    """The status and the message for an active reservation that shall have 1 resource instead of 2."""
    kept: str
    """The message where one of two resources in use is allocated to others."""
    left: Mapping[str, int]
    """The filters, and what they leave of four: one taken, one free, one failed, and `misfit`."""
    picky: Any
    """A request for two resources, to which `misfit` does not belong."""
    misfit: Resource
    requests: st.SearchStrategy[Any]
    older: Sequence[tuple[dict[str, Any], Any]] = ()
    """Stored requests of older versions or other services, and what they mean."""
    amounts: tuple[str, ...] = ("amount",)
    """The fields that say how many; the last says how many at most."""
    demand: Mapping[str, int] | None = None
    resource: Callable[..., Resource] = host
    busy: Mapping[str, Callable[[int, Window], Row]] = field(default_factory=lambda: {"whole": booked})
    """What may occupy a resource."""

    @property
    def required(self) -> list[str]:
        return list(self.kind.schema.model_json_schema()["required"])

    @property
    def pool(self) -> list[Resource]:
        return [self.resource(number) for number in (1, 2, 3)]

    def held(self, *resources: int) -> tuple[Pick, ...]:
        """Return the picks of whole resources."""
        return tuple(Pick(number, 1, self.demand) for number in resources)

    def sized(self, amount: object) -> dict[str, Any]:
        """Return the keys of an amendment to so many resources."""
        return dict.fromkeys(self.amounts, amount)


def filled(number: int, window: Window) -> Row:
    """Return slots of another reservation that leave no VCPU of a host."""
    return booked(number, window, 4, {"VCPU": 2})


OF_HOSTS = {"whole": booked, "slots": filled}
OBJECTS = {"flavor_id": OURS, "server_group_id": None, "aggregate_id": 7}
texts, amounts, sizes = st.text(), st.integers(1, MOST), st.integers(0, MOST)
layouts = st.none() | st.text(min_size=1)

# ---------------------------------------------------------------- whole hosts

HOSTS = Example(
    kind=HostKind(),
    sent={"min": "1", "max": 2, "hypervisor_properties": "", "resource_properties": ""},
    parsed=HostRequest(1, 2, "", "", "default"),
    stored={"min": 1, "max": 2, "hypervisor_properties": "", "resource_properties": "", "before_end": "default"},
    request=lambda amount: HostRequest(amount, amount, "", ""),
    view={"min": 2, "max": 2, "hypervisor_properties": "", "resource_properties": "", "before_end": "default"},
    numbers={"min": 1, "max": 1},
    amounts=("min", "max"),
    fixed={},
    stays="",
    no_less=(409, "uses 2 hosts, so max cannot become 1"),
    kept="1 of the 2 hosts in use cannot be kept",
    left={"enrolled": 4, "matching": 3, "healthy": 2, "free in the window": 1},
    picky=HostRequest(2, 4, LARGE, ""),
    misfit=host(4, vcpus=4),
    busy=OF_HOSTS,
    requests=st.builds(
        HostRequest, amounts, amounts, texts, texts, st.sampled_from(["", "snapshot", "default"]), layouts, layouts
    ),
)

# ---------------------------------------------------------------- slots


def instances(amount: int, properties: str = "") -> InstanceRequest:
    return InstanceRequest(amount, 8, 1024, 10, None, properties)


INSTANCE = {"vcpus": 8, "memory_mb": 1024, "disk_gb": 10, "affinity": None, "resource_properties": ""}
IMPORTED = {"server_group_id": "group"}

INSTANCES = Example(
    kind=InstanceKind(),
    sent={**INSTANCE, "amount": "2", "vcpus": "8", "affinity": "none"},
    parsed=instances(2),
    stored={**INSTANCE, "amount": 2},
    request=instances,
    view={**INSTANCE, "amount": 2, **OBJECTS},
    numbers={"amount": 1, "vcpus": 1, "memory_mb": 1, "disk_gb": 0},
    fixed={"vcpus": 4, "memory_mb": 1, "disk_gb": 0, "affinity": True, "resource_properties": LARGE},
    stays="so {} cannot change; only amount may grow",
    no_less=(400, "cannot shrink below 2"),
    kept="A host in use cannot hold its instances",
    left={"hosts enrolled": 4, "matching": 3, "healthy": 2, "with room in the window": 1},
    picky=instances(2, '["not", ["==", "$rack", "a"]]'),
    misfit=host(4, properties={"rack": "a"}),
    demand={"VCPU": 8, "MEMORY_MB": 1024, "DISK_GB": 10},
    busy=OF_HOSTS,
    older=[({**INSTANCE, "amount": 2, **IMPORTED}, InstanceRequest(2, 8, 1024, 10, None, "", "group"))],
    requests=st.builds(
        InstanceRequest,
        amount=amounts,
        vcpus=amounts,
        memory_mb=amounts,
        disk_gb=sizes,
        affinity=st.sampled_from([None, True, False]),
        resource_properties=texts,
        server_group_id=st.none() | st.uuids().map(str),
        together=layouts,
        apart=layouts,
    ),
)


def flavors(amount: int, **changes: Any) -> FlavorRequest:
    """Return a request as the database stores it, with a captured flavor."""
    fields = {"source": Flavor("f", "f", vcpus=8, memory_mb=512, disk_gb=1), "demand": {"VCPU": 8}, **changes}
    return FlavorRequest("f", amount, **fields)


FLAVOR = {"id": "f", "name": "f", "vcpus": 8, "memory_mb": 512, "disk_gb": 1, "ephemeral_gb": 0, "swap_mb": 0}
FLAVOR |= {"public": False, "extra_specs": {}, "projects": []}
CAPTURED = {"flavor_id": "f", "amount": 2, "affinity": None, "flavor": FLAVOR, "demand": {"VCPU": 8}}
CAPTURED |= {"required": ["HW_A"], "forbidden": []}
traits = st.lists(st.text(min_size=1), unique=True).map(tuple)
sources = st.builds(
    Flavor,
    id=st.text(min_size=1),
    name=texts,
    vcpus=sizes,
    memory_mb=sizes,
    disk_gb=sizes,
    ephemeral_gb=sizes,
    swap_mb=sizes,
    public=st.booleans(),
    extra_specs=st.dictionaries(texts, texts),
    # The access list of the source flavor is not stored.
    projects=st.just(frozenset[str]()),
)

FLAVORS = replace(
    INSTANCES,
    kind=FlavorKind(),
    sent={"flavor_id": 42, "amount": "2", "affinity": ""},
    parsed=FlavorRequest("42", 2),
    stored={"flavor_id": "42", "amount": 2, "affinity": None},
    request=flavors,
    view={
        "amount": 2,
        "vcpus": 8,
        "memory_mb": 512,
        "disk_gb": 1,
        "affinity": None,
        **OBJECTS,
        "resource_properties": json.dumps(FLAVOR, sort_keys=True),
    },
    numbers={"amount": 1},
    fixed={"flavor_id": "m1.medium"},
    picky=flavors(2, forbidden=("HW_A",)),
    misfit=host(4, traits=frozenset({"HW_A"})),
    demand={"VCPU": 8},
    older=[
        (CAPTURED, flavors(2, required=("HW_A",))),
        ({**CAPTURED, "captured": '{"id": "f"}'}, flavors(2, required=("HW_A",), captured='{"id": "f"}')),
    ],
    requests=st.builds(FlavorRequest, st.text(min_size=1), amounts)
    | st.builds(
        FlavorRequest,
        flavor_id=st.text(min_size=1),
        amount=amounts,
        source=sources,
        demand=st.dictionaries(st.text(min_size=1), st.integers(1)),
        required=traits,
        forbidden=traits,
        captured=st.none() | texts,
        together=layouts,
        apart=layouts,
    ),
)

# ---------------------------------------------------------------- addresses

ADDRESSES = Example(
    kind=FloatingIpKind(),
    sent={"network_id": 7, "amount": "2"},
    parsed=FloatingIpRequest("7", 2, ()),
    stored={"network_id": "7", "amount": 2, "required_floatingips": []},
    request=lambda amount: FloatingIpRequest(NETWORK, amount),
    view={"network_id": NETWORK, "amount": 2, "required_floatingips": []},
    numbers={"amount": 1},
    fixed={"network_id": "other", "required_floatingips": ["203.0.113.2"]},
    stays="{} of a reservation can",
    no_less=(400, "cannot shrink below 2"),
    kept="An address in use is allocated to others",
    left={"enrolled in the network": 3, "free in the window": 1},
    picky=FloatingIpRequest(NETWORK, 2),
    misfit=address(4, "other"),
    resource=address,
    requests=st.builds(
        FloatingIpRequest,
        network_id=st.text(min_size=1),
        amount=amounts,
        required_floatingips=st.lists(st.ip_addresses().map(str), unique=True).map(sorted).map(tuple),
    ),
)

EXAMPLES = (HOSTS, INSTANCES, FLAVORS, ADDRESSES)
each = pytest.mark.parametrize("ex", EXAMPLES, ids=lambda ex: ex.kind.name)


def cases(name: str, values: Callable[[Example], Any]) -> pytest.MarkDecorator:
    """Run a test for every type with each of its `values`, as the argument `name`."""
    found = [pytest.param(ex, value, id=f"{ex.kind.name}-{value}") for ex in EXAMPLES for value in values(ex)]
    return pytest.mark.parametrize(("ex", name), found)
