"""Every failed step is retried: ERROR gives the current reason, and clears when its cause is gone (design §5)."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from leasehold.features.audit.cloud import Pace
from leasehold.model.states import EventType
from tests.factory import (
    ALT,
    floating_ips,
    hosts,
    instances,
    next_moment_of_work,
    run_for,
    run_manager,
    run_until,
    run_until_refused_often,
)
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from datetime import datetime

    from tests.factory import World

pytestmark = pytest.mark.slow

LONGEST = timedelta(seconds=300)
"""The longest pause between two attempts that the cloud refuses."""
AT_ONCE = Pace(0, 0)


# ---------------------------------------------------------------- temporary refusals


def test_ten_leases_due_in_one_minute_are_active_a_second_after_each_was_refused(world: World) -> None:
    """A Placement process that does not know a new resource class yet answers 400; a second later, it knows it."""
    leases = [world.lease(instances(), start=1, end=2) for _ in range(10)]
    run_until(world, world.hour(0.99))
    # Each attempt asks for the class again, and is refused twice.
    world.refuse("providers.set_inventory", 20)
    run_until(world, world.hour(1))
    assert {world.get(lease).status for lease in leases} == {"STARTING"}
    assert {world.reason(lease)[:18] for lease in leases} == {"The cloud refused:"}
    run_for(world, seconds=1)
    assert {(world.get(lease).status, world.get(lease).status_reason) for lease in leases} == {("ACTIVE", None)}


@pytest.mark.parametrize("refused", [True, False])
def test_pauses_between_attempts_grow_from_a_second_to_the_longest(world: World, *, refused: bool) -> None:
    """A cloud that is down is tried again more often than one that refuses."""
    world.refuse("aggregates.add_host") if refused else world.break_down()
    world.lease(hosts(), start=0, end=3)
    moments: list[datetime] = []
    while len(moments) < 9:
        assert run_manager(world) == 1
        moments.append(world.now())
        due = next_moment_of_work(world)
        assert due is not None
        world.clock.set(due)
    pauses = [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]
    assert pauses == ([1, 4, 16, 64, 256, 300, 300, 300] if refused else [1, 2, 4, 8, 16, 32, 60, 60])


def test_an_error_tells_what_is_wrong_now(world: World) -> None:
    world.refuse("aggregates.add_host")
    lease = world.lease(hosts(), start=0, end=3)
    run_until_refused_often(world)
    assert "aggregates.add_host" in world.reason(lease)
    world.cloud.faults.clear()
    world.refuse("servers.on_host")
    run_for(world, seconds=LONGEST.total_seconds())
    assert world.status(lease) == "ERROR"
    assert "servers.on_host" in world.reason(lease)
    world.cloud.faults.clear()
    world.break_down()
    run_for(world, seconds=LONGEST.total_seconds())
    assert world.status(lease) == "ERROR"
    assert world.reason(lease).startswith("Waiting for the cloud: ")


def test_an_error_heals_when_its_cause_goes_away(world: World) -> None:
    world.refuse("networks.create_floating_ip")
    lease = world.lease(hosts(), instances(), floating_ips(), start=0, end=3)
    run_until(world, world.hour(1))
    assert (world.get(lease).status, world.statuses(lease)) == ("ERROR", ["active", "active", "error"])
    host = lease.reservations[0].id
    assert world.cloud.servers.boot("used", "demo", "m1.small", [host]).status == "ACTIVE"
    run_for(world, hours=1)
    assert (world.get(lease).status, world.statuses(lease)) == ("ERROR", ["active", "active", "error"])
    audit(world)
    world.cloud.faults.clear()
    run_for(world, seconds=LONGEST.total_seconds())
    healed = world.get(lease)
    assert (healed.status, healed.status_reason) == ("ACTIVE", None)
    assert world.statuses(lease) == ["active", "active", "active"]
    assert world.event(lease, EventType.START).status == "DONE"
    assert [server.name for server in world.cloud.servers.all()] == ["used"]
    audit_cloud(world)
    run_until(world, world.hour(3))
    assert world.status(lease) == "TERMINATED"


def test_a_lease_in_error_keeps_what_it_was_promised(world: World) -> None:
    world.refuse("aggregates.add_host")
    lease = world.lease(hosts(2), start=0, end=3)
    run_until_refused_often(world)
    assert world.status(lease) == "ERROR"
    mine = set(world.holds(lease))
    assert not mine & set(world.holds(world.lease(hosts(3), start=1, end=2)))


def test_a_warning_that_is_refused_is_given_when_it_can_be(world: World) -> None:
    lease = world.active(hosts(before_end="snapshot"), start=0, end=3, before_end=world.hour(1))
    server = world.cloud.servers.boot("one", "demo", "m1.small", [lease.reservations[0].id])
    world.refuse("images.snapshot")
    run_until(world, world.hour(2))
    assert world.status(lease) == "ACTIVE"
    assert world.event(lease, EventType.BEFORE_END).status != "DONE"
    world.cloud.faults.clear()
    run_for(world, seconds=LONGEST.total_seconds())
    assert (world.event(lease, EventType.BEFORE_END).status, world.get(lease).status_reason) == ("DONE", None)
    assert [image.name for image in world.cloud.images.of_server(server.id)] == ["reserved_one"]


# ---------------------------------------------------------------- the end


@pytest.mark.parametrize("verb", ["aggregates.remove_host", "aggregates.delete", "servers.on_host", "networks.*"])
def test_the_next_lease_waits_for_an_end_that_is_refused_and_starts_when_it_is_not(world: World, verb: str) -> None:
    lease = world.lease(hosts(5), floating_ips(5), start=0, end=3)
    after = world.lease(hosts(5), floating_ips(5), start=3, end=6, caller=ALT)
    run_until(world, world.hour(2.9))
    world.refuse(verb)
    run_until(world, world.hour(4))
    assert (world.status(lease), world.reason(lease)[:18]) == ("ERROR", "The cloud refused:")
    assert "error" in world.statuses(lease)
    waiting = world.get(after)
    assert waiting.status in ("PENDING", "STARTING")
    assert "Waiting for the previous lease to leave" in (waiting.status_reason or "")
    world.cloud.faults.clear()
    run_for(world, minutes=15)
    assert (world.get(lease).status, world.statuses(lease)) == ("TERMINATED", ["deleted", "deleted"])
    assert world.status(after) == "ACTIVE"
    audit(world)
    audit_cloud(world)
