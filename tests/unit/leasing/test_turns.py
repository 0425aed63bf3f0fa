"""Feature D2: a lease starts on a host only after the earlier lease there has ended and released it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.leasing.steps.lifecycle import Outcome, Result, begin
from leasehold.leasing.steps.outcome import complete
from leasehold.model.errors import NotEnoughError
from tests.factory import (
    ALT,
    claim_one,
    floating_ips,
    hosts,
    instances,
    killed_in_a_step,
    run_for,
    run_manager,
    run_until,
)

if TYPE_CHECKING:
    from leasehold.db.task import Claim
    from leasehold.leasing.steps.lifecycle import Step
    from tests.factory import World

pytestmark = pytest.mark.slow


def test_the_second_lease_waits_until_the_servers_of_the_first_are_gone(world: World) -> None:
    first = world.lease(hosts(5), start=0, end=1)
    second = world.lease(hosts(5), start=1, end=2, caller=ALT)
    run_manager(world)
    world.boot(first)
    world.cloud.servers.take_to("delete", 300)
    run_until(world, world.hour(1) + timedelta(minutes=4))
    assert world.status(first) == "TERMINATING"
    waiting = world.get(second)
    assert waiting.status in {"STARTING", "PENDING"}
    assert "Waiting for the previous lease to leave" in (waiting.status_reason or "")
    run_for(world, minutes=2)
    assert world.status(first) == "TERMINATED"
    assert world.status(second) == "ACTIVE"
    assert len(world.members(second.reservations[0].id)) == 5


@pytest.mark.parametrize(
    ("vcpus", "waits"), [(9, True), (8, False)], ids=["more than both have room for", "room for both"]
)
def test_slots_wait_for_those_of_an_earlier_lease_where_there_is_no_room_for_both(
    world: World,
    vcpus: int,
    *,
    waits: bool,
) -> None:
    """Both leases match only one host, which has 16 VCPUs."""
    asked = instances(1, vcpus, resource_properties='["==", "$vcpus", "16"]')
    first = world.lease(asked, start=0, end=1)
    second = world.lease(asked, start=1, end=2, caller=ALT)
    assert world.holds(first) == world.holds(second) == {"gpu-03": 1}
    own = second.reservations[0].id
    run_manager(world)
    world.boot(first)
    world.cloud.servers.take_to("delete", 300)
    run_until(world, world.hour(1) + timedelta(minutes=4))
    assert world.status(first) == "TERMINATING"
    found = world.get(second)
    if waits:
        assert (found.status, found.status_reason) == ("PENDING", "Waiting for the previous lease to leave gpu-03.")
        assert world.members(own) == set()
    else:
        assert (found.status, found.status_reason) == ("ACTIVE", None)
    run_for(world, minutes=2)
    assert (world.get(first).status, world.get(second).status) == ("TERMINATED", "ACTIVE")
    assert world.members(own) == {"gpu-03"}


@pytest.mark.parametrize("most", [1, 2, 3])
def test_two_leases_due_at_the_same_time_take_their_turns_whichever_is_worked_on_first(world: World, most: int) -> None:
    first = world.lease(hosts(5), floating_ips(5), start=0, end=1)
    second = world.lease(hosts(5), floating_ips(5), start=1, end=2, caller=ALT)
    run_until(world, world.hour(0.9))
    world.clock.set(world.hour(1))
    while run_manager(world, most):
        pass
    run_for(world, seconds=5)
    assert world.status(first) == "TERMINATED"
    assert world.status(second) == "ACTIVE"
    assert world.members(first.reservations[0].id) == set()
    assert len(world.cloud.networks.list_floating_ips(f"reservation:{second.reservations[1].id}")) == 5


def test_the_part_of_a_waiting_lease_that_could_start_is_taken_back_when_it_is_deleted(world: World) -> None:
    first = world.lease(hosts(4), start=0, end=1)
    second = world.lease(hosts(4), instances(2), start=1, end=2)
    run_manager(world)
    for _ in range(4):
        world.boot(first)
    world.cloud.servers.take_to("delete", 300)
    run_until(world, world.hour(1) + timedelta(seconds=1))
    assert world.status(second) == "STARTING"
    assert world.members(second.reservations[1].id)
    world.delete(second)
    run_for(world, minutes=10)
    assert not world.exists(second)
    assert [aggregate.name for aggregate in world.cloud.aggregates.list()] == ["freepool"]


def test_a_host_that_is_not_released_is_not_granted_for_now_but_is_for_later(world: World) -> None:
    first = world.active(hosts(), start=0, end=1)
    world.boot(first)
    world.cloud.servers.take_to("delete", 300)
    run_until(world, world.hour(1) + timedelta(minutes=1))
    with pytest.raises(NotEnoughError) as refused:
        world.lease(hosts(5), start=61 / 60, end=2)
    assert refused.value.refusal.largest == 4
    assert world.lease(hosts(5), start=1.5, end=2)


def test_a_manager_that_dies_is_replaced_when_its_claim_runs_out(world: World) -> None:
    lease = world.lease(hosts(2), instances(2), start=0, end=1)
    killed_in_a_step(world, "aggregates.remove_host")
    assert run_manager(world) == 0
    world.clock.advance(seconds=world.service.settings.manager.claim_seconds + 1)
    assert run_manager(world)
    assert world.status(lease) == "ACTIVE"
    assert not world.members("freepool") & world.members(lease.reservations[0].id)


def test_a_missed_lease_is_cleared_away_before_the_next_one_starts(world: World) -> None:
    first = world.lease(hosts(5), start=1, end=2)
    second = world.lease(instances(4), start=2, end=4)
    run_manager(world)
    world.clock.set(world.hour(2.5))
    run_for(world, seconds=5)
    assert world.status(first) == "ERROR"
    assert world.status(second) == "ACTIVE"


def test_servers_are_removed_from_all_hosts_at_the_same_time(world: World) -> None:
    lease = world.active(hosts(5), start=0, end=1)
    for _ in range(30):
        world.cloud.servers.boot("slow", "demo", "m1.small", [lease.reservations[0].id])
    assert len({server.service_host for server in world.cloud.servers.all()}) > 1
    world.cloud.servers.take_to("delete", 300)
    run_until(world, world.hour(1) + timedelta(minutes=7))
    assert world.status(lease) == "TERMINATED"


def begun(world: World) -> tuple[Claim, Step]:
    """Begin the start of a lease, as a worker does; nothing is written of its success."""
    world.lease(hosts(1), start=0, end=2)
    claim = claim_one(world)
    assert claim is not None
    step = begin(world.service, claim)
    assert step is not None
    return claim, step


def succeeded(step: Step) -> list[Outcome]:
    return [Outcome(job.name, Result.DONE) for job in step.jobs]


def test_a_start_whose_lease_was_deleted_meanwhile_is_looked_at_again(world: World) -> None:
    claim, step = begun(world)
    world.delete(step.lease)
    assert complete(world.service, claim, step, succeeded(step))
    assert world.status(step.lease) == "DELETING"
    assert run_manager(world)
    assert not world.exists(step.lease)


def test_a_start_whose_claim_was_lost_records_nothing(world: World) -> None:
    claim, step = begun(world)
    world.clock.advance(seconds=world.service.settings.manager.claim_seconds + 1)
    another = claim_one(world)
    assert another is not None
    before = world.get(step.lease)
    assert not complete(world.service, claim, step, succeeded(step))
    assert world.get(step.lease) == before
    again = begin(world.service, another)
    assert again is not None
    assert complete(world.service, another, again, succeeded(again))
    assert not complete(world.service, claim, step, succeeded(step))
    assert begin(world.service, claim) is None
