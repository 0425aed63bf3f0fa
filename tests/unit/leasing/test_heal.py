"""Features J3, J4: when a host fails, other hosts take over its allocations (contract resources §7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.leasing.healing.heal import Healing, Round, heal_leases
from leasehold.leasing.resources.health import check_health
from leasehold.leasing.unit import run
from leasehold.model.resource import HOST
from tests.factory import AT_ONCE, during_a_step, flavors, hosts, instances, make_service, run_manager, run_until
from tests.stateful.audit import audit, dump

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow


def flags(world: World, lease: Lease) -> tuple[bool, bool, bool]:
    """Return whether resources are missing, whether they were changed, and whether the lease is degraded."""
    part = world.part(lease)
    return part.missing_resources, part.resources_changed, world.get(lease).degraded


def failing(world: World, *reservations: dict[str, Any], host: str = "cmp-01") -> Lease:
    """Return a lease that was active for ten minutes when the host failed."""
    lease = world.active(*reservations, end=2)
    world.clock.advance(minutes=10)
    world.fail(host)
    run_manager(world)
    return lease


def test_a_pending_lease_gets_another_host_and_nobody_notices(world: World) -> None:
    lease = world.lease(hosts(), start=0.5, end=2)
    world.fail("cmp-01")
    assert world.holds(lease) == {"cmp-02": 1}
    assert flags(world, lease) == (False, False, False)
    run_until(world, world.hour(0.5))
    assert world.members(lease.reservations[0].id) == {"cmp-02"}


def test_an_active_lease_gets_another_host_at_once_and_is_told(world: World) -> None:
    lease = failing(world, hosts(2))
    assert world.members(lease.reservations[0].id) == {"cmp-02", "cmp-06"}
    assert "cmp-01" in world.members("freepool")
    assert flags(world, lease) == (False, True, True)


def test_a_lease_without_replacement_keeps_the_rest_says_what_is_missing_and_may_be_cut_short(world: World) -> None:
    lease = failing(world, hosts(5))
    assert world.members(lease.reservations[0].id) == {"cmp-02", "cmp-06", "cmp-07", "gpu-03"}
    assert flags(world, lease) == (True, False, True)
    audit(world)
    assert world.amend(lease, end=1).window.end == world.hour(1)
    assert flags(world, lease) == (True, False, True)


def test_a_lease_that_ended_or_went_meanwhile_is_not_healed(world: World) -> None:
    """Healing finds all leases first, and then locks one after the other."""
    lease = world.active(hosts(), start=0, end=1)
    (held,) = world.get(lease).reservations[0].allocations
    found = Healing(lease.id, {HOST}, Round({held.resource_number}, ()))
    run_until(world, world.hour(1))
    before = dump(world.engine)
    assert run(world.service, found) is None
    assert dump(world.engine) == before
    world.delete(lease)
    run_manager(world)
    assert run(world.service, found) is None


def test_two_parts_of_one_lease_never_get_the_same_replacement(world: World) -> None:
    world.lease(hosts(1, resource_properties='["==", "$hypervisor_hostname", "gpu-03"]'), start=0, end=2)
    lease = world.active(hosts(), hosts(), start=0, end=2)
    world.clock.advance(minutes=10)
    for name in ("cmp-01", "cmp-02"):
        world.cloud.hypervisors.fail(name)
    world.fail("cmp-06")
    run_manager(world)
    audit(world)
    found = [set(world.holds(lease, position)) for position in (0, 1)]
    assert sorted(map(len, found)) == [0, 1]
    assert set().union(*found) == {"cmp-07"}


def test_healing_a_lease_a_second_time_reaches_the_cloud_too(world: World) -> None:
    """From the second healing on no flag changes, but the cloud still has to be converged."""
    lease = world.active(hosts(), start=0, end=2)
    for name, replacement in (("cmp-01", "cmp-02"), ("cmp-02", "cmp-06"), ("cmp-06", "cmp-07")):
        world.clock.advance(minutes=5)
        world.fail(name)
        run_manager(world)
        assert world.members(lease.reservations[0].id) == {replacement} == set(world.holds(lease))
    assert world.lease(hosts(), start=0.3, end=1)


def test_a_replacement_that_fails_while_it_is_brought_in_is_replaced_in_the_cloud_too(world: World) -> None:
    """No flag changes at the second failure, but the step under way must still notice it."""
    lease = world.active(hosts(), start=0, end=3)
    world.clock.advance(minutes=5)
    world.fail("cmp-01")
    during_a_step(world, lambda: world.fail("cmp-02"))
    run_manager(world)
    assert world.members(lease.reservations[0].id) == {"cmp-06"} == set(world.holds(lease))


def test_slots_added_on_a_host_that_the_lease_uses_already_count_together(world: World) -> None:
    world.lease(hosts(1, resource_properties='["==", "$hypervisor_hostname", "gpu-03"]'), start=0, end=2)
    lease = world.active(instances(5, 2), start=0, end=2)
    assert world.holds(lease) == {"cmp-01": 4, "cmp-02": 1}
    world.clock.advance(minutes=10)
    world.fail("cmp-01")
    run_manager(world)
    assert world.holds(lease)["cmp-02"] == 4
    assert sum(world.holds(lease).values()) == 5
    (inventory,) = world.cloud.providers.inventories("blazar_cmp-02").values()
    assert inventory.total == 4


def test_as_much_is_replaced_as_there_is_room_for(world: World) -> None:
    lease = world.lease(instances(8, 1, affinity=True), start=0, end=2)
    world.lease(hosts(1, resource_properties='["==", "$hypervisor_hostname", "gpu-03"]'), start=0, end=2)
    world.active(hosts(1, resource_properties='["==", "$hypervisor_hostname", "cmp-02"]'), start=0, end=2)
    world.clock.advance(minutes=10)
    world.fail("cmp-01")
    run_manager(world)
    assert world.holds(lease) == {"cmp-06": 4}
    assert flags(world, lease) == (True, True, True)


def test_flavor_reservations_are_healed_too(world: World) -> None:
    assert world.holds(failing(world, flavors(2, "m1.medium"))) == {"cmp-02": 2}


def test_healing_looks_as_far_ahead_as_the_interval_says(world: World) -> None:
    near = world.lease(hosts(), start=0.5, end=1)
    far = world.lease(hosts(), start=3, end=4)
    world.fail("cmp-01")
    assert world.holds(near) == {"cmp-02": 1}
    assert world.holds(far) == {"cmp-01": 1}
    run_until(world, world.hour(2) + timedelta(minutes=1))
    assert heal_leases(world.service) == 1
    assert world.holds(far) == {"cmp-02": 1}


def test_without_an_interval_everything_is_healed_at_once(world: World) -> None:
    endless = world.with_settings(manager=replace(AT_ONCE.manager, healing_interval=timedelta(0)))
    far = endless.lease(hosts(), start=24 * 300, end=24 * 301)
    endless.fail("cmp-01")
    assert endless.holds(far) == {"cmp-02": 1}


def test_a_host_that_recovers_in_time_keeps_what_lies_ahead(world: World) -> None:
    far = world.lease(hosts(), start=3, end=4)
    world.fail("cmp-01")
    world.recover("cmp-01")
    run_until(world, world.hour(3))
    assert world.members(far.reservations[0].id) == {"cmp-01"}


@pytest.mark.parametrize("start", [0.0, 0.5])
def test_the_lease_that_begins_first_is_healed_first(world: World, start: float) -> None:
    wish = '["==", "$rack", "r1"]'
    later = world.lease(hosts(resource_properties=wish), start=0.75, end=2)
    sooner = world.lease(hosts(resource_properties=wish), start=start, end=0.75)
    assert world.holds(later) == world.holds(sooner) == {"cmp-01": 1}
    world.lease(hosts(resource_properties='["==", "$hypervisor_hostname", "cmp-02"]'), start=1, end=2)
    world.fail("cmp-01")
    assert world.holds(sooner) == {"cmp-02": 1}
    assert world.holds(later) == {}


def test_a_failed_host_gets_no_more_slots_than_it_had(world: World) -> None:
    lease = world.lease(instances(2, 1), start=3, end=4)
    world.fail("cmp-01")
    world.amend(lease, {"amount": 4})
    assert world.holds(lease) == {"cmp-01": 2, "cmp-02": 2}


@pytest.mark.parametrize("seconds", [1, 2, 3, 4])
def test_a_host_whose_lease_ends_while_others_are_healed_is_given_back_first(tmp_path: Path, seconds: int) -> None:
    """The clock advances by a second at each reading; the servers of the ending lease are still there."""
    with make_service(tmp_path, hosts=["cmp-01", "cmp-02"]) as world:
        ends = world.lease(hosts(), start=0, end=1)
        goes_on = world.lease(hosts(), start=0, end=3)
        run_until(world, world.hour(1) - timedelta(seconds=seconds))
        assert (world.holds(ends), world.holds(goes_on)) == ({"cmp-01": 1}, {"cmp-02": 1})
        world.cloud.hypervisors.fail("cmp-02")
        check_health(world.service)

        def now() -> datetime:
            world.clock.advance(seconds=1)
            return world.now()

        assert heal_leases(replace(world.service, now=now)) == 1
        assert world.now() < world.hour(1) + timedelta(minutes=1)
        assert world.holds(goes_on) == {}
        assert world.part(goes_on).missing_resources
