"""Features J3, J4: what is missing is tried again, and what works again goes back first to those that lost it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from leasehold.db.tables import outbox
from leasehold.leasing.healing.heal import heal_leases
from leasehold.leasing.resources.health import admit, check_health
from leasehold.manager.monitor import check_once
from leasehold.model.errors import NotEnoughError
from tests.factory import ALT, during_a_step, hosts, instances, run_for, run_manager, run_until
from tests.stateful.audit import audit
from tests.unit.leasing.looking import findings
from tests.unit.leasing.test_heal import flags

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

WHOLE, MISSING, CHANGED = (False, False, False), (True, False, True), (False, True, True)


def only(*names: str, **more: Any) -> dict[str, Any]:
    """Return a request for one of these hosts."""
    quoted = ", ".join(f'"{name}"' for name in names)
    return hosts(resource_properties=f'["in", "$hypervisor_hostname", {quoted}]', **more)


def told(world: World, lease: Lease) -> list[str]:
    """Return the events of flags that the lease has caused."""
    query = select(outbox.c.event_type).where(outbox.c.lease_id == lease.id).order_by(outbox.c.id)
    with world.service.db.reading() as connection:
        names = list(connection.execute(query).scalars())
    return [name for name in names if name in ("lease.degraded", "lease.restored")]


def test_what_is_missing_comes_when_another_lease_releases_it(world: World) -> None:
    other = world.active(only("cmp-02"), end=1)
    lease = world.active(only("cmp-01", "cmp-02"), end=3)
    world.clock.advance(minutes=10)
    world.fail("cmp-01")
    assert (world.holds(lease), flags(world, lease)) == ({}, MISSING)
    for _ in range(3):
        check_once(world.service)
    assert (world.holds(lease), told(world, lease)) == ({}, ["lease.degraded"])
    run_until(world, world.hour(1.01))
    assert world.status(other) == "TERMINATED"
    check_once(world.service)
    run_manager(world)
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-02": 1}, CHANGED)
    assert world.members(lease.reservations[0].id) == {"cmp-02"}
    assert told(world, lease) == ["lease.degraded"] * 2
    audit(world)
    assert findings(world) == []


@pytest.mark.parametrize("begun", [True, False])
def test_a_host_that_works_again_goes_back_before_a_create_may_have_it(world: World, *, begun: bool) -> None:
    """Between the two steps of a health check the host is reservable for nobody."""
    lease = world.lease(only("cmp-01"), start=0 if begun else 0.5, end=3)
    run_for(world, minutes=5)
    world.fail("cmp-01")
    assert (world.holds(lease), flags(world, lease)) == ({}, MISSING)
    world.cloud.hypervisors.recover("cmp-01")
    returning = check_health(world.service).returning
    assert len(returning) == 1
    with pytest.raises(NotEnoughError):
        world.lease(only("cmp-01"), start=1, end=2, caller=ALT)
    assert heal_leases(world.service, returning) == 1
    admit(world.service, returning)
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-01": 1}, WHOLE)
    with pytest.raises(NotEnoughError):
        world.lease(only("cmp-01"), start=1, end=2, caller=ALT)
    run_for(world, hours=1)
    assert world.members(lease.reservations[0].id) == {"cmp-01"}
    assert told(world, lease) == ["lease.degraded", "lease.restored"]
    audit(world)


def test_a_check_gives_a_host_back_before_it_is_reservable(world: World) -> None:
    """Each step of the check is a transaction of its own, so the log has them in their order."""
    world.active(only("cmp-01"), end=3)
    run_for(world, minutes=5)
    world.fail("cmp-01")
    world.recover("cmp-01")
    with world.service.db.reading() as connection:
        rows = connection.execute(select(outbox).order_by(outbox.c.id.desc()).limit(4)).all()
    told = [(row.event_type, row.payload.get("reservable")) for row in reversed(rows)]
    opened = [("resource.health", False), ("lease.healed", None), ("lease.restored", None), ("resource.health", True)]
    assert told == opened


@pytest.mark.parametrize("after", [0, 1])
def test_a_manager_that_dies_within_a_check_leaves_the_host_to_those_that_lost_it(world: World, after: int) -> None:
    """It dies after it has recorded the recovery, or after healing; another manager makes the next check."""
    lease = world.active(only("cmp-01"), end=3)
    world.clock.advance(minutes=2)
    world.fail("cmp-01")
    world.cloud.hypervisors.recover("cmp-01")
    returning = check_health(world.service).returning
    if after:
        heal_leases(world.service, returning)
    with pytest.raises(NotEnoughError):
        world.lease(only("cmp-01"), start=1, end=2, caller=ALT)
    check_once(world.with_settings().service)
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-01": 1}, WHOLE)
    assert world.lease(only("cmp-01"), start=3, end=4, caller=ALT)
    audit(world)


def test_of_two_that_miss_a_host_the_one_that_lost_it_gets_it(world: World) -> None:
    """The other one began earlier, and would be served first otherwise."""
    world.active(only("gpu-03", "cmp-06", "cmp-07", least=3), end=4)
    first = world.active(only("cmp-01", "cmp-02"), end=3)
    assert world.holds(first) == {"cmp-01": 1}
    second = world.lease(only("cmp-01", "cmp-02"), start=0.1, end=3)
    assert world.holds(second) == {"cmp-02": 1}
    world.clock.advance(minutes=2)
    world.cloud.hypervisors.fail("cmp-01")
    world.fail("cmp-02")
    assert (flags(world, first), flags(world, second)) == (MISSING, MISSING)
    world.recover("cmp-02")
    assert (world.holds(first), world.holds(second)) == ({}, {"cmp-02": 1})
    world.recover("cmp-01")
    assert (world.holds(first), flags(world, first)) == ({"cmp-01": 1}, WHOLE)
    audit(world)


def test_a_host_goes_back_with_its_servers_to_the_lease_that_lost_it(world: World) -> None:
    """Another lease that misses something began earlier."""
    world.active(only("cmp-06", "cmp-07", "gpu-03", least=3), end=4)
    lease = world.lease(instances(4, 2), start=0.1, end=3)
    other = world.active(instances(4, 2), end=3)
    assert (world.holds(lease), world.holds(other)) == ({"cmp-01": 4}, {"cmp-02": 4})
    run_until(world, world.hour(0.2))
    server = world.boot(lease)
    world.cloud.hypervisors.fail("cmp-01")
    world.fail("cmp-02")
    run_for(world, minutes=1)
    assert (flags(world, lease), flags(world, other)) == (MISSING, MISSING)
    world.recover("cmp-01")
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-01": 4}, WHOLE)
    assert (world.holds(other), flags(world, other)) == ({}, MISSING)
    assert world.servers() == {server.id}
    audit(world)


def test_a_host_that_nobody_lost_goes_to_one_that_misses_something_at_the_same_look(world: World) -> None:
    lease = world.active(only("cmp-01", "cmp-02"), end=3)
    world.clock.advance(minutes=2)
    world.fail("cmp-02")
    world.fail("cmp-01")
    assert flags(world, lease) == MISSING
    world.recover("cmp-02")
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-02": 1}, CHANGED)


def test_the_original_clears_the_flag_of_its_substitute(world: World) -> None:
    lease = world.active(only("cmp-01", "cmp-02"), end=3)
    for host, holds, expected in (("cmp-01", {"cmp-02": 1}, CHANGED), ("cmp-02", {}, MISSING)):
        world.clock.advance(minutes=5)
        world.fail(host)
        run_manager(world)
        assert (world.holds(lease), flags(world, lease)) == (holds, expected)
    world.recover("cmp-01")
    run_manager(world)
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-01": 1}, WHOLE)
    assert told(world, lease) == ["lease.degraded", "lease.degraded", "lease.restored"]
    audit(world)


def test_what_was_lost_before_the_start_was_complete_is_not_what_the_lease_had_at_its_start(world: World) -> None:
    lease = world.lease(only("cmp-01", "cmp-02"), end=3)
    during_a_step(world, lambda: world.fail("cmp-01"))
    world.clock.advance(seconds=1)
    run_for(world, minutes=1)
    assert (world.status(lease), world.holds(lease), flags(world, lease)) == ("ACTIVE", {"cmp-02": 1}, WHOLE)
    world.recover("cmp-01")
    world.fail("cmp-02")
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-01": 1}, CHANGED)


def test_never_more_than_was_promised_comes_back(world: World) -> None:
    """The lease asked for up to five hosts and was promised three, because two were taken."""
    world.active(only("cmp-06", "cmp-07", least=2), end=0.5)
    lease = world.active(hosts(1, 5), end=3)
    assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1, "gpu-03": 1}
    world.clock.advance(minutes=2)
    world.cloud.hypervisors.fail("cmp-02")
    world.fail("cmp-01")
    assert (world.holds(lease), flags(world, lease)) == ({"gpu-03": 1}, MISSING)
    run_until(world, world.hour(0.6))
    check_once(world.service)
    assert (world.holds(lease), flags(world, lease)) == ({"gpu-03": 1, "cmp-06": 1, "cmp-07": 1}, CHANGED)
    world.recover("cmp-01")
    assert len(world.holds(lease)) == 3


def test_an_amendment_that_gets_fewer_than_were_promised_leaves_the_flag(world: World) -> None:
    lease = world.active(only("cmp-01", "cmp-02", least=1, most=2), end=3)
    world.clock.advance(minutes=2)
    world.fail("cmp-01")
    world.amend(lease, end=2)
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-02": 1}, MISSING)
    world.amend(lease, {"min": 1, "max": 1})
    assert flags(world, lease) == WHOLE


def test_slots_come_back_as_far_as_there_is_room_and_the_rest_later(world: World) -> None:
    world.active(only("cmp-06", "cmp-07", "gpu-03", least=3), end=3)
    lease = world.active(instances(8, 2), end=3)
    assert world.holds(lease) == {"cmp-01": 4, "cmp-02": 4}
    world.clock.advance(minutes=2)
    world.fail("cmp-01")
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-02": 4}, MISSING)
    run_for(world, minutes=1)
    world.recover("cmp-01")
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-01": 4, "cmp-02": 4}, WHOLE)
    run_manager(world)
    audit(world)
    assert findings(world) == []


def test_a_pending_affinity_moves_as_a_whole(world: World) -> None:
    """Half of its slots fit on another host; when a host for all of them works again, all go there."""
    world.lease(only("cmp-02"), start=0.5, end=2)
    world.lease(only("gpu-03"), start=0.5, end=2)
    lease = world.lease(instances(8, 1, affinity=True), start=0.5, end=2)
    world.fail("cmp-01")
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-06": 4}, MISSING)
    world.recover("cmp-01")
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-01": 8}, WHOLE)
    audit(world)
    run_until(world, world.hour(0.6))
    assert world.status(lease) == "ACTIVE"
    assert findings(world) == []
