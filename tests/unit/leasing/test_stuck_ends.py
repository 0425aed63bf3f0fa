"""Feature E1: a lease that cannot leave its host keeps it closed, and holds up no other lease for long."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.manager.monitor import check_once
from leasehold.model.terms.heal_policy import HealPolicy
from tests.factory import hosts, run_for, run_until
from tests.unit.leasing.looking import in_database

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

DAY = 24 * 3600


def stuck_lease(world: World) -> tuple[Lease, str]:
    """Return a lease that ended at hour 1 and whose server cannot be deleted, and its host."""
    lease = world.active(hosts(), end=1)
    world.boot(lease)
    world.cloud.servers.take_to("delete", DAY)
    (label,) = world.holds(lease)
    return lease, label


def watch(world: World, minutes: int) -> None:
    """Let time pass with a health check every five minutes."""
    for _ in range(minutes // 5):
        run_for(world, minutes=5)
        check_once(world.service)


def test_the_next_lease_gets_another_host(world: World) -> None:
    before, label = stuck_lease(world)
    lease = world.lease(hosts(resource_properties=f'["==", "$hypervisor_hostname", "{label}"]'), start=1, end=2)
    any_host = world.lease(hosts(), start=2, end=3)
    run_until(world, world.hour(1))
    assert world.status(lease) == "PENDING"
    watch(world, 10)
    assert set(world.holds(lease)) == {label}
    watch(world, 10)
    # Nothing else matches what it asks for, so it misses its host; the other one does not.
    assert (world.status(before), world.holds(lease)) == ("TERMINATING", {})
    assert world.get(lease).degraded
    assert label not in world.holds(any_host)
    run_until(world, world.hour(2))
    assert world.status(any_host) == "ACTIVE"
    assert [each.kind for each in in_database(world)] == ["kept"]


def test_a_lease_that_waits_for_a_stuck_host_starts_on_another_one(world: World) -> None:
    before, label = stuck_lease(world)
    others = world.lease(hosts(len(world.listed()) - 1), start=0, end=1)
    lease = world.lease(hosts(), start=1, end=4)
    assert label not in world.holds(others)
    run_until(world, world.hour(1))
    assert label in world.holds(lease)
    assert "Waiting for the previous lease to leave" in world.reason(lease)
    watch(world, 25)
    run_for(world, minutes=2)
    assert (world.status(before), world.status(lease)) == ("TERMINATING", "ACTIVE")
    assert label not in world.holds(lease)
    assert not world.get(lease).degraded


def test_the_host_stays_closed_until_its_servers_are_gone(world: World) -> None:
    before, label = stuck_lease(world)
    run_until(world, world.hour(1))
    watch(world, 60)
    service_host = next(each.attributes["service_name"] for each in world.listed() if each.label == label)
    assert service_host in world.members(before.reservations[0].id)
    assert service_host not in world.members("freepool")
    run_until(world, world.hour(1) + timedelta(seconds=DAY + 120))
    assert world.status(before) == "TERMINATED"
    assert service_host in world.members("freepool")
    lease = world.lease(hosts(len(world.listed())), start=26, end=27)
    run_until(world, world.hour(26))
    assert world.status(lease) == "ACTIVE"


def test_a_lease_that_does_not_want_another_host_waits(world: World) -> None:
    _, label = stuck_lease(world)
    lease = world.lease(hosts(), start=1, end=4, heal_policy=HealPolicy.NEVER)
    run_until(world, world.hour(1))
    watch(world, 40)
    assert set(world.holds(lease)) == {label}
    assert world.status(lease) == "PENDING"
