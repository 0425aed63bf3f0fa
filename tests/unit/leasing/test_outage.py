"""Feature A8: a cloud outage delays a lease but never loses it; a permanent refusal is reported as an error."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.sandbox.faults import Fault
from leasehold.model.errors import CloudUnavailableError
from tests.factory import (
    flavors,
    floating_ips,
    hosts,
    instances,
    run_for,
    run_manager,
    run_until,
    run_until_refused_often,
)

if TYPE_CHECKING:
    from tests.factory import World

DOWN = Fault("*", error="before")


def forever(verb: str) -> Fault:
    return Fault(verb, error="before", permanent=True)


def test_a_lease_waits_in_starting_while_the_cloud_is_down_and_starts_when_it_is_back(world: World) -> None:
    lease = world.lease(hosts(), instances(), start=1, end=3)
    run_until(world, world.hour(0.9))
    world.cloud.faults.set(DOWN)
    run_until(world, world.hour(1) + timedelta(minutes=10))
    waiting = world.get(lease)
    assert waiting.status == "STARTING"
    assert (waiting.status_reason or "").startswith("Waiting for the cloud: ")
    world.cloud.faults.clear()
    run_for(world, seconds=world.service.settings.manager.retry_most_seconds)
    active = world.get(lease)
    assert (active.status, active.status_reason) == ("ACTIVE", None)


@pytest.mark.slow
def test_the_pauses_between_two_tries_grow_up_to_the_longest(world: World) -> None:
    world.cloud.faults.set(DOWN)
    world.lease(hosts(), start=0, end=3)
    tries = 0
    end = world.now() + timedelta(hours=1)
    while world.now() < end:
        tries += run_manager(world)
        world.clock.advance(seconds=1)
    assert 60 <= tries <= 70


@pytest.mark.slow
def test_a_lease_whose_cloud_stays_down_until_its_end_says_so_and_is_cleaned_when_it_is_back(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=3)
    world.cloud.faults.set(DOWN)
    run_until(world, world.hour(3.5))
    assert world.get(lease).status == "TERMINATING"
    world.cloud.faults.clear()
    run_for(world, minutes=2)
    over = world.get(lease)
    assert over.status == "ERROR"
    assert "time passed before it could start" in (over.status_reason or "")
    assert world.holds(lease) == {}
    assert len(world.members("freepool")) == 5
    world.delete(lease)
    run_manager(world)
    assert not world.exists(lease)


def test_a_lease_deleted_while_the_cloud_is_down_keeps_its_hosts_closed_until_they_are_clean(world: World) -> None:
    lease = world.lease(hosts(5), start=0, end=3)
    run_manager(world)
    world.cloud.faults.set(DOWN)
    world.delete(lease)
    run_for(world, minutes=5)
    assert world.get(lease).status == "DELETING"
    world.cloud.faults.clear()
    run_for(world, minutes=1)
    assert not world.exists(lease)
    assert world.lease(hosts(5), start=0.2, end=1)


def test_a_refused_start_is_an_error_with_a_reason_and_what_started_stays(world: World) -> None:
    world.cloud.faults.set(forever("networks.*"))
    lease = world.lease(hosts(), floating_ips(), start=0, end=3)
    run_until_refused_often(world)
    failed = world.get(lease)
    assert failed.status == "ERROR"
    assert (failed.status_reason or "").startswith("The cloud refused: ")
    assert [str(part.status) for part in failed.reservations] == ["active", "error"]
    assert len(world.members(lease.reservations[0].id)) == 1


def test_an_amendment_gives_a_failed_lease_another_try(world: World) -> None:
    world.cloud.faults.set(forever("networks.*"))
    lease = world.lease(hosts(), floating_ips(), start=0, end=3)
    run_until_refused_often(world)
    world.cloud.faults.clear()
    world.clock.advance(minutes=20)
    again = world.amend(lease, end=4)
    assert (again.status, again.status_reason) == ("STARTING", None)
    run_manager(world)
    active = world.get(lease)
    assert active.status == "ACTIVE"
    assert {str(part.status) for part in active.reservations} == {"active"}
    run_until(world, world.hour(4))
    assert world.get(lease).status == "TERMINATED"


def test_a_failed_lease_that_is_tried_again_and_then_deleted_leaves_nothing(world: World) -> None:
    """The first attempt left resources in the cloud, although the lease was never active."""
    world.cloud.faults.set(forever("networks.*"))
    lease = world.lease(hosts(), instances(2), floating_ips(), start=0, end=3)
    run_until_refused_often(world)
    world.cloud.faults.clear()
    world.amend(lease, end=4)
    world.delete(lease)
    assert world.exists(lease)
    run_manager(world)
    assert not world.exists(lease)
    assert [aggregate.name for aggregate in world.cloud.aggregates.list()] == ["freepool"]
    assert len(world.members("freepool")) == 5
    assert world.cloud.providers.inventories("blazar_cmp-01") == {}


def test_a_failed_lease_ends_at_its_time_and_is_cleaned(world: World) -> None:
    world.cloud.faults.set(forever("networks.*"))
    lease = world.lease(hosts(), floating_ips(), start=0, end=3)
    run_until_refused_often(world)
    run_until(world, world.hour(2.99))
    assert world.get(lease).status == "ERROR"
    world.cloud.faults.clear()
    world.clock.set(world.hour(3))
    run_manager(world)
    assert world.get(lease).status == "TERMINATED"
    assert world.cloud.aggregates.get(lease.reservations[0].id) is None


def test_a_failed_lease_that_is_ended_now_is_not_tried_again(world: World) -> None:
    world.cloud.faults.set(forever("aggregates.add_host"))
    lease = world.lease(hosts(), start=0, end=3)
    run_until_refused_often(world)
    world.cloud.faults.clear()
    world.clock.advance(minutes=29)
    assert world.amend(lease, end=0.5).status == "ERROR"
    run_manager(world)
    assert world.get(lease).status == "TERMINATED"


def test_a_host_that_a_failed_start_had_taken_is_nobodys_until_it_is_given_back(world: World) -> None:
    """The owner amends the lease to other hosts while the first host is still in the lease's aggregate."""
    world.cloud.faults.set(forever("aggregates.remove_host"))
    lease = world.lease(hosts(), start=0, end=3)
    run_until_refused_often(world)
    assert world.get(lease).status == "ERROR"
    assert world.members(lease.reservations[0].id) == {"cmp-01"}
    world.cloud.faults.clear()
    world.cloud.faults.set(DOWN)
    wish = {"id": lease.reservations[0].id, "resource_properties": '["==", "$rack", "r2"]'}
    world.amend(lease, reservations=(wish,))
    other = world.lease(hosts(), start=1 / 60, end=1)
    assert set(world.holds(other)) == {"cmp-02"}
    world.cloud.faults.clear()
    run_for(world, minutes=1)
    assert world.members(lease.reservations[0].id) == {"cmp-06"} == set(world.holds(lease))
    assert set(world.holds(world.lease(hosts(), start=1 / 12, end=1))) == {"cmp-01"}


def test_renaming_a_failed_lease_tries_nothing(world: World) -> None:
    world.cloud.faults.set(forever("aggregates.add_host"))
    lease = world.lease(hosts(), start=0, end=3)
    run_until_refused_often(world)
    assert world.amend(lease, name="broken").status == "ERROR"
    assert run_manager(world) == 0


def test_an_end_that_the_cloud_refuses_keeps_the_host_closed_and_is_done_when_it_does_no_more(world: World) -> None:
    lease = world.lease(hosts(5), start=0, end=3)
    run_until(world, world.hour(2.9))
    world.cloud.faults.set(forever("aggregates.remove_host"))
    run_until(world, world.hour(3.5))
    failed = world.get(lease)
    assert failed.status == "ERROR"
    assert (failed.status_reason or "").startswith("The cloud refused: sandbox aggregates.remove_host")
    assert {str(part.status) for part in failed.reservations} == {"error"}
    world.cloud.faults.clear()
    run_for(world, seconds=world.service.settings.manager.retry_refused_seconds)
    over = world.get(lease)
    assert (over.status, over.status_reason) == ("TERMINATED", None)
    assert {str(part.status) for part in over.reservations} == {"deleted"}
    assert len(world.members("freepool")) == 5


def test_an_end_that_is_refused_in_part_still_gives_back_what_only_takes_time(world: World) -> None:
    lease = world.lease(hosts(5), floating_ips(), start=0, end=3)
    run_until(world, world.hour(2.9))
    world.cloud.faults.set(forever("networks.*"))
    world.cloud.faults.set(Fault("servers.on_host", error="before"))
    run_until(world, world.hour(3) + timedelta(minutes=1))
    world.cloud.faults.clear()
    world.cloud.faults.set(forever("networks.*"))
    run_for(world, minutes=5)
    failed = world.get(lease)
    assert failed.status == "ERROR"
    assert [str(part.status) for part in failed.reservations] == ["deleted", "error"]
    assert len(world.members("freepool")) == 5


def test_a_request_that_needs_a_cloud_that_is_down_is_unavailable_and_not_an_error_of_ours(world: World) -> None:
    world.cloud.faults.set(DOWN)
    with pytest.raises(CloudUnavailableError):
        world.lease(flavors(), start=0, end=1)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("verb", ["aggregates.add_host", "aggregates.remove_host", "providers.set_inventory"])
@pytest.mark.parametrize("calls", [1, 2, 3])
@pytest.mark.slow
def test_a_call_that_fails_half_way_is_made_up_for(world: World, verb: str, moment: str, calls: int) -> None:
    """Each host ends up in exactly one aggregate, wherever the start and the end failed."""
    lease = world.lease(hosts(2), instances(3, 2, resource_properties='[">=", "$vcpus", "8"]'), start=0, end=1)
    world.cloud.faults.set(Fault(verb, error=moment, remaining=calls))  # type: ignore[arg-type]  # parametrized
    run_for(world, minutes=5)
    assert world.get(lease).status == "ACTIVE"
    leased = world.members(lease.reservations[0].id)
    assert leased == set(world.holds(lease))
    assert not leased & world.members("freepool")
    world.cloud.faults.set(Fault(verb, error=moment, remaining=calls))  # type: ignore[arg-type]  # parametrized
    run_until(world, world.hour(1.2))
    assert world.get(lease).status == "TERMINATED"
    assert len(world.members("freepool")) == 5


def test_an_end_that_is_refused_before_the_lease_ever_started_fails_both(world: World) -> None:
    lease = world.lease(hosts(), start=0, end=1)
    world.cloud.faults.set(DOWN)
    run_until(world, world.hour(0.99))
    world.cloud.faults.clear()
    world.cloud.faults.set(forever("aggregates.*"))
    world.clock.set(world.hour(1))
    run_until_refused_often(world)
    failed = world.get(lease)
    assert failed.status == "ERROR"
    assert {event.type: str(event.status) for event in failed.events} == {
        "start_lease": "ERROR",
        "before_end_lease": "UNDONE",
        "end_lease": "ERROR",
    }
