"""Which resources a lease gets: the choice of a kind, with the resources and allocations that the database has.

The rules of the choice themselves are tested in `tests/unit/resource_types`, without a database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.ports import Flavor, Inventory
from leasehold.model.errors import InvalidInputError, NotEnoughError, NotFoundError
from tests.factory import ALT, DEMO, enrol_host, flavors, floating_ips, hosts, instances, run_manager, run_until
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.factory import World

SPECS = {
    "avx2": {"trait:HW_CPU_X86_AVX2": "required"},
    "no avx2": {"trait:HW_CPU_X86_AVX2": "forbidden"},
    "avx512": {"trait:HW_CPU_X86_AVX512F": "required"},
    "pinned": {"hw:cpu_policy": "dedicated"},
    "odd": {"resources:VCPU": "4", "resources:DISK_GB": "0"},
    "many": {"resources:VCPU": "many"},
    "liked": {"trait:HW_CPU_X86_AVX2": "liked"},
}
"""Flavors with two VCPUs, by name, and their extra specs."""


def on(name: str) -> dict[str, Any]:
    return {"resource_properties": f'["==", "$hypervisor_hostname", "{name}"]'}


def named(*lasts: int) -> dict[str, Any]:
    return {"required_floatingips": [f"203.0.113.{last}" for last in lasts]}


LARGE_IN_R2 = {"hypervisor_properties": '[">=", "$vcpus", "8"]', "resource_properties": '["==", "$rack", "r2"]'}
FULL = instances(4, 2, **on("cmp-01"))
"""What takes all of cmp-01; Blazar then also grants 3x2 and 2x2, because it counts each reservation once."""


@pytest.fixture
def prepared(world: World) -> World:
    """Add the flavors, cmp-05 with dedicated processors, and a failed cmp-07."""
    for name, specs in SPECS.items():
        world.cloud.flavors.ensure(Flavor(name, name, 2, 1024, 10, public=True, extra_specs=specs))
    world.cloud.providers.set_inventory("cmp-05", "PCPU", Inventory(total=6))
    enrol_host(world.service, "cmp-05", {})
    world.fail("cmp-07")
    return world


@pytest.mark.parametrize(
    ("earlier", "asked", "expected"),
    [
        ([], hosts(1, 3), {"cmp-01": 1, "cmp-02": 1, "cmp-06": 1}),
        ([hosts(3)], hosts(1, 9), {"gpu-03": 1, "cmp-05": 1}),
        ([], hosts(1, 5, **LARGE_IN_R2), {"gpu-03": 1}),
        ([], hosts(1, **on("cmp-07")), 0),
        ([instances(1, **on("cmp-01"))], hosts(**on("cmp-01")), 0),
        ([FULL], instances(1, 1, **on("cmp-01")), 0),
        ([instances(3, 2, **on("cmp-01"))], instances(2, 2, **on("cmp-01")), 1),
        ([], instances(5, 2), {"cmp-01": 4, "cmp-02": 1}),
        ([instances(5, 2)], instances(4, 2), {"cmp-02": 3, "cmp-06": 1}),
        ([instances(1, **on("gpu-03"))], instances(3), {"gpu-03": 3}),
        ([hosts(1)], instances(1), {"cmp-02": 1}),
        ([], instances(17, affinity=True), {"cmp-05": 17}),
        ([], instances(33, affinity=True), 32),
        ([], instances(3, affinity=False), {"cmp-01": 1, "cmp-02": 1, "cmp-06": 1}),
        ([], instances(6, affinity=False), 5),
        ([], instances(100, vcpus=33), 0),
        ([], instances(100, memory_mb=60_000), 4),
        ([], instances(100, disk_gb=400), 4),
        ([], flavors(2, "g1.large"), {"gpu-03": 2}),
        ([flavors(2, "g1.large")], flavors(1, "g1.large"), 0),
        ([], flavors(32, "avx2"), {"cmp-01": 4, "cmp-02": 4, "gpu-03": 8, "cmp-05": 16}),
        ([], flavors(33, "avx2"), 32),
        ([], flavors(2, "no avx2"), {"cmp-06": 2}),
        ([], flavors(1, "avx512"), 0),
        ([], flavors(3, "pinned"), {"cmp-05": 3}),
        ([flavors(3, "pinned")], flavors(1, "pinned"), 0),
        ([flavors(3, "pinned")], instances(32, **on("cmp-05")), {"cmp-05": 32}),
        ([], flavors(3, "odd"), {"cmp-01": 2, "cmp-02": 1}),
        ([], floating_ips(2, **named(203)), {"203.0.113.200": 1, "203.0.113.203": 1}),
        ([floating_ips(1, **named(203))], floating_ips(1, **named(203)), 0),
        ([floating_ips(1, **named(203))], floating_ips(5), 4),
    ],
)
def test_a_request_gets_the_first_resources_that_fit(
    prepared: World, earlier: list[Mapping[str, Any]], asked: Mapping[str, Any], expected: dict[str, int] | int
) -> None:
    for number, request in enumerate(earlier):
        prepared.lease(request, start=1 + number / 4, end=3, caller=ALT)
    # Leases that do not overlap in time need the capacity only once.
    prepared.lease(hosts(**on("cmp-01")), floating_ips(5), start=4, end=5)
    if isinstance(expected, dict):
        assert prepared.holds(prepared.lease(asked, start=2, end=4)) == expected
    else:
        with pytest.raises(NotEnoughError) as refused:
            prepared.lease(asked, start=2, end=4)
        assert refused.value.refusal.largest == expected
    audit(prepared)


def test_the_window_offered_begins_when_the_address_is_released(world: World) -> None:
    world.lease(floating_ips(1, **named(203)), start=1, end=2)
    with pytest.raises(NotEnoughError) as refused:
        world.lease(floating_ips(1, **named(203)), start=1, end=2)
    nearest = refused.value.refusal.nearest
    assert nearest
    assert nearest.start == world.hour(2)


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (hosts(resource_properties='["==", "$rak", "r1"]'), InvalidInputError),
        (flavors(1, "many"), InvalidInputError),
        (flavors(1, "liked"), InvalidInputError),
        (flavors(1, "no such flavor"), NotFoundError),
        (flavors(1, "secret"), NotFoundError),
    ],
)
def test_what_the_cloud_does_not_have_is_refused(
    prepared: World, asked: Mapping[str, Any], error: type[Exception]
) -> None:
    prepared.cloud.flavors.ensure(Flavor("secret", "secret", 1, 512, 1))
    prepared.cloud.flavors.grant("secret", ALT.project_id)
    with pytest.raises(error):
        prepared.lease(asked, start=1, end=2, caller=DEMO)
    assert prepared.lease(flavors(1, "secret"), start=1, end=2, caller=ALT)


# ---------------------------------------------------------------- in the cloud


@pytest.mark.slow
def test_hosts_and_instances_take_turns_on_the_same_hosts(world: World) -> None:
    first = world.lease(hosts(5), start=0, end=1)
    second = world.lease(instances(20, 1), flavors(5, "m1.small"), start=1, end=2)
    third = world.lease(hosts(5), start=2, end=3)
    for moment, lease in ((0, first), (1, second), (2, third)):
        run_until(world, world.hour(moment + 0.01))
        assert world.get(lease).status == "ACTIVE"
    run_until(world, world.hour(3.1))
    assert len(world.members("freepool")) == 5


def test_instances_and_flavors_share_a_host_at_the_same_time(world: World) -> None:
    some = world.lease(instances(2, 2, **on("cmp-01")), start=0, end=2)
    others = world.lease(flavors(4, "m1.small"), start=0, end=2, caller=ALT)
    assert set(world.holds(others)) == {"cmp-01"}
    run_manager(world)
    assert world.members(some.reservations[0].id) == world.members(others.reservations[0].id) == {"cmp-01"}
    with pytest.raises(NotEnoughError):
        world.lease(instances(1, 1, **on("cmp-01")), start=0, end=2)


def test_the_private_flavor_is_a_copy_of_its_source_that_only_the_project_may_use(world: World) -> None:
    lease = world.lease(flavors(1, "g1.large"), start=1, end=2)
    run_manager(world)
    name = lease.reservations[0].id
    prepared = world.cloud.flavors.get(name)
    assert prepared
    assert (prepared.vcpus, prepared.public, prepared.projects) == (4, False, frozenset())
    assert prepared.extra_specs["resources:CUSTOM_GPU"] == "1"
    run_until(world, world.hour(1))
    active = world.cloud.flavors.get(name)
    assert active
    assert active.projects == {"demo"}
    assert world.cloud.servers.boot("gpu", "demo", name).service_host == "gpu-03"


def test_an_address_left_untagged_by_a_broken_attempt_is_taken_over_and_removed(world: World) -> None:
    """Neutron cannot create and tag in one call, so an attempt may fail between the two calls."""
    network = floating_ips()["network_id"]
    found = world.cloud.networks.get(network)
    assert found
    where = (network, found.subnets[0].id)
    lease = world.lease(floating_ips(1), start=0, end=2)
    world.cloud.networks.create_floating_ip(*where, "203.0.113.200", "demo", frozenset())
    run_manager(world)
    assert world.get(lease).status == "ACTIVE"
    unborn = world.lease(floating_ips(1, **named(204)), start=0, end=2)
    world.cloud.networks.create_floating_ip(*where, "203.0.113.204", "demo", frozenset())
    world.clock.set(world.hour(3))
    run_manager(world)
    assert world.get(unborn).status == "ERROR"
    assert world.cloud.networks.floating_ip(network, "203.0.113.204") is None
