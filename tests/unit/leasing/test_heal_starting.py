"""A start that is retried moves away from a failed host; servers on that host stay until the lease ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.sandbox.faults import Fault
from tests.factory import ALT, during_a_step, hosts, instances, run_for, run_manager, run_until
from tests.stateful.audit import audit
from tests.unit.leasing.looking import findings
from tests.unit.leasing.test_late_boots import land

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

RACK = '["==", "$rack", "r1"]'


def starting(world: World, *reservations: dict[str, object]) -> Lease:
    """Return a lease whose start waits: cmp-01, a host of its first reservation, has a server without a lease."""
    land(world, -2, "third")
    lease = world.active(*reservations, start=0, end=2)
    assert world.status(lease) == "STARTING"
    return lease


def test_a_start_that_waits_moves_away_from_a_host_that_fails(world: World) -> None:
    lease = starting(world, hosts(2))
    before = world.servers()
    world.fail("cmp-01")
    assert world.holds(lease) == {"cmp-02": 1, "cmp-06": 1}
    run_for(world, minutes=2)
    found = world.get(lease)
    assert (found.status, found.degraded) == ("ACTIVE", False)
    assert world.members(lease.reservations[0].id) == {"cmp-02", "cmp-06"}
    assert world.servers() == before
    audit(world)


def test_a_lease_in_error_moves_away_from_a_host_that_fails_and_starts(world: World) -> None:
    world.refuse("aggregates.add_host")
    lease = world.lease(hosts(resource_properties=RACK), start=0, end=2)
    run_for(world, minutes=2)
    assert world.status(lease) == "ERROR"
    world.fail("cmp-01")
    assert world.holds(lease) == {"cmp-02": 1}
    world.cloud.faults.clear()
    run_manager(world)
    assert world.status(lease) == "ACTIVE"
    assert world.members(lease.reservations[0].id) == {"cmp-02"}
    audit(world)
    assert findings(world) == []


def test_a_start_without_a_spare_host_begins_with_what_is_left(world: World) -> None:
    lease = starting(world, hosts(5))
    world.fail("cmp-01")
    run_for(world, minutes=2)
    found = world.get(lease)
    assert (found.status, found.degraded) == ("ACTIVE", True)
    assert world.part(lease).missing_resources
    assert len(world.members(lease.reservations[0].id)) == 4
    audit(world)


def test_servers_that_the_owner_booted_before_the_start_was_done_stay_until_the_end(world: World) -> None:
    """The first host has joined the aggregate and its owner uses it, while the start waits for the second host."""
    stranger = land(world, -2, "third", host="cmp-02")
    lease = world.active(hosts(2), start=0, end=2)
    assert world.members(lease.reservations[0].id) == {"cmp-01"}
    own = world.cloud.servers.boot("own", "demo", "m1.small", [lease.reservations[0].id])
    assert own.service_host == "cmp-01"
    world.fail("cmp-01")
    run_for(world, minutes=1)
    assert own.id in world.servers()
    assert world.holds(lease) == {"cmp-02": 1, "cmp-06": 1}
    world.cloud.servers.delete(stranger)
    run_for(world, minutes=2)
    assert world.status(lease) == "ACTIVE"
    world.recover("cmp-01")
    other = world.lease(hosts(resource_properties='["==", "$hypervisor_hostname", "cmp-07"]'), start=0.5, caller=ALT)
    run_for(world, minutes=30)
    assert world.status(other) == "ACTIVE"
    assert world.servers() == {own.id}
    audit(world)
    run_until(world, world.hour(2.1))
    assert world.servers() == set()
    assert "cmp-01" in world.members("freepool")
    audit(world)
    assert findings(world) == []


@pytest.mark.parametrize("permanent", [False, True], ids=["starting", "error"])
def test_slots_whose_start_is_tried_again_move_too(world: World, *, permanent: bool) -> None:
    world.cloud.faults.set(Fault("flavors.grant", error="before", permanent=permanent))
    lease = world.lease(instances(2, 4), start=0, end=2)
    run_for(world, minutes=2)
    assert world.get(lease).status == ("ERROR" if permanent else "STARTING")
    world.fail("cmp-01")
    world.cloud.faults.clear()
    run_for(world, minutes=2)
    assert world.status(lease) == "ACTIVE"
    assert world.members(lease.reservations[0].id) == {"cmp-02"}
    audit(world)
    assert findings(world) == []


def test_a_host_that_fails_in_the_middle_of_a_start_is_replaced_at_once(world: World) -> None:
    lease = world.lease(hosts(resource_properties=RACK), start=0, end=2)
    during_a_step(world, lambda: world.fail("cmp-01"))
    assert world.holds(lease) == {"cmp-02": 1}
    run_for(world, minutes=1)
    assert world.status(lease) == "ACTIVE"
    assert world.members(lease.reservations[0].id) == {"cmp-02"}
    assert "cmp-01" in world.members("freepool")
    audit(world)


def test_a_lease_whose_end_failed_is_not_moved(world: World) -> None:
    lease = world.active(hosts(), start=0, end=2)
    world.refuse("aggregates.delete")
    world.clock.advance(minutes=10)
    world.amend(lease, end=world.now())
    run_for(world, minutes=2)
    assert world.status(lease) == "ERROR"
    world.fail("cmp-01")
    assert world.heal() == 0
    world.cloud.faults.clear()
    run_for(world, minutes=10)
    assert world.status(lease) == "TERMINATED"
    audit(world)
