"""Feature A8: a cloud outage delays a lease but never loses it; a permanent refusal is reported as an error."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

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
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow


def test_a_lease_waits_in_starting_while_the_cloud_is_down_and_starts_when_it_is_back(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "leasehold.manager")
    lease = world.lease(hosts(), instances(), start=1, end=3)
    run_until(world, world.hour(0.9))
    world.break_down()
    run_until(world, world.hour(1) + timedelta(minutes=10))
    waiting = world.get(lease)
    assert waiting.status == "STARTING"
    assert (waiting.status_reason or "").startswith("Waiting for the cloud: ")
    world.cloud.faults.clear()
    run_for(world, seconds=world.service.settings.manager.retry_most_seconds)
    active = world.get(lease)
    assert (active.status, active.status_reason) == ("ACTIVE", None)
    waits = f"Lease {lease.id}: start will be tried again: Waiting for the cloud: "
    assert any(message.startswith(waits) for message in caplog.messages)
    assert caplog.messages[-1] == f"Lease {lease.id}: start done"


def test_a_lease_whose_cloud_stays_down_until_its_end_says_so_and_is_cleaned_when_it_is_back(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=3)
    world.break_down()
    run_until(world, world.hour(3.5))
    assert world.status(lease) == "TERMINATING"
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
    lease = world.active(hosts(5), start=0, end=3)
    world.break_down()
    world.delete(lease)
    run_for(world, minutes=5)
    assert world.status(lease) == "DELETING"
    world.cloud.faults.clear()
    run_for(world, minutes=1)
    assert not world.exists(lease)
    assert world.lease(hosts(5), start=0.2, end=1)


def failed(world: World) -> Lease:
    """Return a lease in ERROR, because the cloud refused its address; now the cloud works."""
    world.refuse("networks.*")
    lease = world.lease(hosts(), instances(2), floating_ips(), start=0, end=3)
    run_until_refused_often(world)
    assert (world.status(lease), world.statuses(lease)) == ("ERROR", ["active", "active", "error"])
    world.cloud.faults.clear()
    return lease


def test_a_refused_start_is_an_error_with_a_reason_and_what_started_stays(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    lease = failed(world)
    assert world.reason(lease).startswith("The cloud refused: ")
    assert len(world.members(lease.reservations[0].id)) == 1
    (record,) = (each for each in caplog.records if each.name == "leasehold.manager.task_runner")
    said = f"Lease {lease.id}: start fails, and will be tried again: The cloud refused: "
    assert (record.levelno, record.getMessage()[: len(said)]) == (logging.WARNING, said)


def test_an_amendment_gives_a_failed_lease_another_try_and_a_new_name_does_not(world: World) -> None:
    lease = failed(world)
    assert world.amend(lease, name="broken").status == "ERROR"
    assert run_manager(world) == 0
    world.clock.advance(minutes=2)
    again = world.amend(lease, end=4)
    assert (again.status, again.status_reason) == ("STARTING", None)
    run_manager(world)
    assert (world.status(lease), set(world.statuses(lease))) == ("ACTIVE", {"active"})
    run_until(world, world.hour(4))
    assert world.status(lease) == "TERMINATED"


@pytest.mark.parametrize("way", ["end", "end now", "delete", "delete after an amendment"])
def test_a_failed_lease_that_is_over_leaves_nothing(world: World, way: str) -> None:
    """The first attempt left resources in the cloud, although the lease was never active."""
    lease = failed(world)
    if way == "end":
        world.clock.set(world.hour(3))
    elif way == "end now":
        world.clock.advance(minutes=2)
        assert world.amend(lease, end=0.05).status == "ERROR"
    else:
        if way == "delete after an amendment":
            world.amend(lease, end=4)
        world.delete(lease)
        assert world.exists(lease)
    run_manager(world)
    if way in ("end", "end now"):
        assert world.status(lease) == "TERMINATED"
    else:
        assert not world.exists(lease)
    assert [aggregate.name for aggregate in world.cloud.aggregates.list()] == ["freepool"]
    assert len(world.members("freepool")) == 5
    assert world.cloud.providers.inventories("blazar_cmp-01") == {}


def test_a_host_that_a_failed_start_had_taken_is_nobodys_until_it_is_given_back(world: World) -> None:
    """The owner amends the lease to other hosts while the first host is still in the lease's aggregate."""
    world.refuse("aggregates.remove_host")
    lease = world.lease(hosts(), start=0, end=3)
    run_until_refused_often(world)
    assert world.status(lease) == "ERROR"
    assert world.members(lease.reservations[0].id) == {"cmp-01"}
    world.cloud.faults.clear()
    world.break_down()
    world.amend(lease, {"resource_properties": '["==", "$rack", "r2"]'})
    other = world.lease(hosts(), start=1 / 60, end=1)
    assert set(world.holds(other)) == {"cmp-02"}
    world.cloud.faults.clear()
    run_for(world, minutes=1)
    assert world.members(lease.reservations[0].id) == {"cmp-06"} == set(world.holds(lease))
    assert set(world.holds(world.lease(hosts(), start=1 / 12, end=1))) == {"cmp-01"}


def test_an_end_that_is_refused_in_part_still_gives_back_what_only_takes_time(world: World) -> None:
    lease = world.lease(hosts(5), floating_ips(), start=0, end=3)
    run_until(world, world.hour(2.9))
    world.refuse("networks.*")
    world.break_down("servers.on_host")
    run_until(world, world.hour(3) + timedelta(minutes=1))
    world.cloud.faults.clear()
    world.refuse("networks.*")
    run_for(world, minutes=5)
    failed = world.get(lease)
    assert failed.status == "ERROR"
    assert [str(part.status) for part in failed.reservations] == ["deleted", "error"]
    assert len(world.members("freepool")) == 5


def test_a_request_that_needs_a_cloud_that_is_down_is_unavailable_and_not_an_error_of_ours(world: World) -> None:
    world.break_down()
    with pytest.raises(CloudUnavailableError):
        world.lease(flavors(), start=0, end=1)


def test_an_end_that_is_refused_before_the_lease_ever_started_fails_both(world: World) -> None:
    lease = world.lease(hosts(), start=0, end=1)
    world.break_down()
    run_until(world, world.hour(0.99))
    world.cloud.faults.clear()
    world.refuse("aggregates.*")
    world.clock.set(world.hour(1))
    run_until_refused_often(world)
    failed = world.get(lease)
    assert failed.status == "ERROR"
    assert {event.type: str(event.status) for event in failed.events} == {
        "start_lease": "ERROR",
        "before_end_lease": "UNDONE",
        "end_lease": "ERROR",
    }
