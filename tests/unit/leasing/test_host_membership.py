"""Which hosts a reservation gets: affinity, packing, sharing between types, traits, classes and addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.ports import Flavor, Inventory
from leasehold.model.errors import InvalidInputError, NotEnoughError, NotEnoughFloatingIpsError, NotFoundError
from tests.factory import ALT, enrol_host, flavors, floating_ips, hosts, instances, run_manager, run_until
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from tests.factory import World


def on(name: str) -> dict[str, Any]:
    return {"resource_properties": f'["==", "$hypervisor_hostname", "{name}"]'}


# ---------------------------------------------------------------- whole hosts


def test_hosts_are_taken_in_the_order_of_their_enrolment_up_to_the_most(world: World) -> None:
    assert list(world.holds(world.lease(hosts(1, 3), start=1, end=2))) == ["cmp-01", "cmp-02", "cmp-06"]
    assert list(world.holds(world.lease(hosts(1, 3), start=1, end=2))) == ["cmp-07", "gpu-03"]


def test_only_hosts_that_match_both_expressions_are_taken(world: World) -> None:
    asked = hosts(1, 5, hypervisor_properties='[">=", "$vcpus", "8"]', resource_properties='["==", "$rack", "r2"]')
    assert list(world.holds(world.lease(asked, start=1, end=2))) == ["gpu-03"]


def test_a_failed_host_is_not_taken(world: World) -> None:
    world.fail("cmp-01")
    assert "cmp-01" not in world.holds(world.lease(hosts(4), start=1, end=2))
    with pytest.raises(NotEnoughError):
        world.lease(hosts(5), start=3, end=4)


def test_a_property_that_no_host_has_is_named(world: World) -> None:
    with pytest.raises(InvalidInputError, match=r"\$rak"):
        world.lease(hosts(resource_properties='["==", "$rak", "r1"]'), start=1, end=2)


# ---------------------------------------------------------------- instances


def test_what_overbooks_upstream_is_refused(world: World) -> None:
    """An 8-VCPU host takes 4x2; Blazar then also grants 3x2 and 2x2, because it counts each reservation once."""
    world.lease(instances(4, 2, **on("cmp-01")), start=1, end=3)
    for amount in (3, 2, 1):
        with pytest.raises(NotEnoughError):
            world.lease(instances(amount, 2, **on("cmp-01")), start=1, end=3)
    audit(world)


def test_peaks_count_and_not_sums(world: World) -> None:
    """Two leases that do not overlap in time need the capacity only once."""
    world.lease(instances(3, 2, **on("cmp-01")), start=1, end=2)
    world.lease(instances(3, 2, **on("cmp-01")), start=2, end=3)
    assert world.lease(instances(1, 2, **on("cmp-01")), start=1, end=3)
    with pytest.raises(NotEnoughError):
        world.lease(instances(1, 2, **on("cmp-01")), start=1, end=3)


def test_affinity_puts_all_on_one_host(world: World) -> None:
    lease = world.lease(instances(7, 2, affinity=True), start=1, end=2)
    assert world.holds(lease) == {"gpu-03": 7}
    with pytest.raises(NotEnoughError) as refused:
        world.lease(instances(9, 2, affinity=True), start=3, end=4)
    assert refused.value.refusal.largest == 8
    assert refused.value.refusal.nearest is None


def test_anti_affinity_puts_each_on_another_host(world: World) -> None:
    lease = world.lease(instances(5, 1, affinity=False), start=1, end=2)
    assert set(world.holds(lease).values()) == {1}
    with pytest.raises(NotEnoughError) as refused:
        world.lease(instances(6, 1, affinity=False), start=1, end=2)
    assert refused.value.refusal.largest == 5


def test_without_affinity_hosts_are_filled_one_after_the_other(world: World) -> None:
    assert world.holds(world.lease(instances(5, 2), start=1, end=2)) == {"cmp-01": 4, "cmp-02": 1}
    assert world.holds(world.lease(instances(4, 2), start=1, end=2)) == {"cmp-02": 3, "cmp-06": 1}


def test_hosts_in_use_by_instances_are_filled_before_empty_ones(world: World) -> None:
    world.lease(instances(1, 1, **on("cmp-07")), start=1, end=2)
    assert world.holds(world.lease(instances(3, 1), start=1, end=2)) == {"cmp-07": 3}


@pytest.mark.parametrize(("size", "largest"), [({"vcpus": 17}, 0), ({"memory_mb": 30000}, 6), ({"disk_gb": 200}, 6)])
def test_every_class_limits(world: World, size: dict[str, int], largest: int) -> None:
    with pytest.raises(NotEnoughError) as refused:
        world.lease(instances(100, **{"vcpus": 1, **size}), start=1, end=2)
    assert refused.value.refusal.largest == largest


def test_the_amount_of_servers_is_limited_to_the_amount_reserved(world: World) -> None:
    lease = world.lease(instances(2, 1), start=0, end=2)
    run_manager(world)
    (part,) = lease.reservations
    found = [world.cloud.servers.boot(str(number), "demo", part.id).status for number in range(3)]
    assert found == ["ACTIVE", "ACTIVE", "ERROR"]
    assert world.cloud.servers.boot("ordinary", "demo", "m1.small").service_host not in {"cmp-01", "cmp-02"}


# ---------------------------------------------------------------- types on the same hosts


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


def test_a_host_with_instances_is_not_leased_as_a_whole(world: World) -> None:
    world.lease(instances(1, 1, **on("cmp-01")), start=1, end=2)
    with pytest.raises(NotEnoughError):
        world.lease(hosts(**on("cmp-01")), start=1.5, end=3)
    with pytest.raises(NotEnoughError):
        world.lease(hosts(5), start=0, end=1.1)


# ---------------------------------------------------------------- flavors


def add_flavor(world: World, name: str, specs: dict[str, str], **more: Any) -> None:
    world.cloud.flavors.ensure(Flavor(name, name, 2, 1024, 10, public=True, extra_specs=specs, **more))


def test_a_flavor_goes_where_its_custom_classes_and_traits_are(world: World) -> None:
    lease = world.lease(flavors(2, "g1.large"), start=0, end=2)
    assert world.holds(lease) == {"gpu-03": 2}
    with pytest.raises(NotEnoughError) as refused:
        world.lease(flavors(1, "g1.large"), start=0, end=2)
    assert refused.value.refusal.largest == 0
    run_manager(world)
    assert world.cloud.servers.boot("gpu", "demo", lease.reservations[0].id).service_host == "gpu-03"


@pytest.mark.parametrize(
    ("specs", "expected"),
    [
        ({"trait:HW_CPU_X86_AVX2": "required"}, {"cmp-01", "cmp-02", "gpu-03"}),
        ({"trait:HW_CPU_X86_AVX2": "forbidden"}, {"cmp-06", "cmp-07"}),
        ({"trait:HW_CPU_X86_AVX512F": "required"}, set()),
    ],
)
def test_required_and_forbidden_traits(world: World, specs: dict[str, str], expected: set[str]) -> None:
    add_flavor(world, "special", specs)
    with pytest.raises(NotEnoughError) as refused:
        world.lease(flavors(1000, "special"), start=1, end=2)
    largest = refused.value.refusal.largest
    found = set(world.holds(world.lease(flavors(largest, "special"), start=1, end=2))) if largest else set()
    assert found == expected


def test_dedicated_processors_are_taken_from_their_own_class(world: World) -> None:
    world.cloud.providers.set_inventory("cmp-05", "PCPU", Inventory(total=6))
    enrol_host(world.service, "cmp-05", {})
    add_flavor(world, "pinned", {"hw:cpu_policy": "dedicated"})
    lease = world.lease(flavors(3, "pinned"), start=1, end=2)
    assert world.holds(lease) == {"cmp-05": 3}
    with pytest.raises(NotEnoughError):
        world.lease(flavors(1, "pinned"), start=1, end=2)
    assert world.lease(instances(32, 1, **on("cmp-05")), start=1, end=2)


def test_a_class_may_be_overridden_by_the_flavor(world: World) -> None:
    add_flavor(world, "odd", {"resources:VCPU": "4", "resources:DISK_GB": "0"})
    lease = world.lease(flavors(3, "odd"), start=1, end=2)
    assert world.holds(lease) == {"cmp-01": 2, "cmp-02": 1}


@pytest.mark.parametrize("specs", [{"resources:VCPU": "many"}, {"trait:HW_CPU_X86_AVX2": "liked"}])
def test_a_flavor_that_makes_no_sense_is_refused(world: World, specs: dict[str, str]) -> None:
    add_flavor(world, "broken", specs)
    with pytest.raises(InvalidInputError):
        world.lease(flavors(1, "broken"), start=1, end=2)


def test_a_flavor_that_the_caller_cannot_see_does_not_exist(world: World) -> None:
    world.cloud.flavors.ensure(Flavor("secret", "secret", 1, 512, 1))
    world.cloud.flavors.grant("secret", "alt")
    with pytest.raises(NotFoundError):
        world.lease(flavors(1, "secret"), start=1, end=2)
    assert world.lease(flavors(1, "secret"), start=1, end=2, caller=ALT)
    with pytest.raises(NotFoundError):
        world.lease(flavors(1, "no such flavor"), start=1, end=2)


def test_the_private_flavor_is_a_copy_of_its_source_that_only_the_project_may_use(world: World) -> None:
    lease = world.lease(flavors(1, "g1.large"), start=1, end=2)
    run_manager(world)
    name = lease.reservations[0].id
    prepared = world.cloud.flavors.get(name)
    assert prepared is not None
    assert (prepared.vcpus, prepared.public, prepared.projects) == (4, False, frozenset())
    assert prepared.extra_specs["resources:CUSTOM_GPU"] == "1"
    run_until(world, world.hour(1))
    active = world.cloud.flavors.get(name)
    assert active is not None
    assert active.projects == {"demo"}


# ---------------------------------------------------------------- floating IPs


def test_named_addresses_come_with_others_up_to_the_amount(world: World) -> None:
    lease = world.lease(floating_ips(2, required_floatingips=["203.0.113.203"]), start=0, end=2)
    assert set(world.holds(lease)) == {"203.0.113.200", "203.0.113.203"}
    run_manager(world)
    found = world.cloud.networks.list_floating_ips(f"reservation:{lease.reservations[0].id}")
    assert {(each.address, each.project_id) for each in found} == {("203.0.113.200", "demo"), ("203.0.113.203", "demo")}


def test_a_named_address_that_is_taken_is_refused_with_the_time_when_it_is_free(world: World) -> None:
    world.lease(floating_ips(1, required_floatingips=["203.0.113.203"]), start=1, end=2)
    with pytest.raises(NotEnoughFloatingIpsError) as refused:
        world.lease(floating_ips(1, required_floatingips=["203.0.113.203"]), start=1, end=2)
    nearest = refused.value.refusal.nearest
    assert nearest is not None
    assert nearest.start == world.hour(2)
    assert world.lease(floating_ips(4), start=1, end=2)


def test_the_names_can_only_be_given_up(world: World) -> None:
    lease = world.lease(floating_ips(1, required_floatingips=["203.0.113.203"]), start=1, end=2)
    (part,) = lease.reservations
    with pytest.raises(InvalidInputError):
        world.amend(lease, reservations=({"id": part.id, "required_floatingips": ["203.0.113.204"]},))
    with pytest.raises(InvalidInputError):
        world.amend(lease, reservations=({"id": part.id, "network_id": "another"},))
    world.amend(lease, reservations=({"id": part.id, "required_floatingips": []},))
    assert world.amend(lease, end=3)
    assert set(world.holds(lease)) == {"203.0.113.203"}


def test_an_address_left_untagged_by_a_broken_attempt_is_taken_over_and_removed(world: World) -> None:
    """Neutron cannot create and tag in one call, so an attempt may fail between the two calls."""
    lease = world.lease(floating_ips(1), start=0, end=2)
    subnet = world.cloud.networks.get(floating_ips()["network_id"])
    assert subnet is not None
    where = (floating_ips()["network_id"], subnet.subnets[0].id, "203.0.113.200", "demo", frozenset[str]())
    world.cloud.networks.create_floating_ip(*where)
    run_manager(world)
    assert world.get(lease).status == "ACTIVE"
    unborn = world.lease(floating_ips(1, required_floatingips=["203.0.113.204"]), start=0, end=2)
    world.cloud.networks.create_floating_ip(*where[:2], "203.0.113.204", *where[3:])
    world.clock.set(world.hour(3))
    run_manager(world)
    assert world.get(unborn).status == "ERROR"
    assert world.cloud.networks.floating_ip(where[0], "203.0.113.204") is None
