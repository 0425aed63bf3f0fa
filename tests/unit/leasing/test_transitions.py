"""Feature A7: a lease's transitions, and the statuses of its reservations and events (contract lifecycle §1)."""

from __future__ import annotations

import logging
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import select

from leasehold.db.tables import outbox
from leasehold.model.errors import BusyError, InvalidInputError
from leasehold.model.states import EventType
from tests.factory import START, World, floating_ips, hosts, instances, killed_in_a_step, run_manager, run_until


def state(world: World, lease: Any) -> tuple[str, set[str], str, str]:
    """Return the statuses of the lease, its reservations, start and end, as in the contract's combination table."""
    start, end = (str(world.event(lease, kind).status) for kind in (EventType.START, EventType.END))
    return world.status(lease), set(world.statuses(lease)), start, end


def test_a_lease_goes_from_pending_over_active_to_terminated(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """The manager logs one line for each step."""
    caplog.set_level(logging.INFO, "leasehold.manager")
    lease = world.lease(hosts(), floating_ips(), start=1, end=3)
    assert state(world, lease) == ("PENDING", {"pending"}, "UNDONE", "UNDONE")
    run_until(world, world.hour(1))
    assert state(world, lease) == ("ACTIVE", {"active"}, "DONE", "UNDONE")
    run_until(world, world.hour(3))
    assert state(world, lease) == ("TERMINATED", {"deleted"}, "DONE", "DONE")
    assert caplog.messages == [f"Lease {lease.id}: {step} done" for step in ("start", "before_end", "end")]


def test_an_active_reservation_names_the_aggregate_that_it_has(world: World) -> None:
    """What a driver answers about the cloud is kept with the reservation (contract resources §3)."""
    lease = world.active(hosts(), instances())
    present = {each.name: each.id for each in world.cloud.aggregates.list()}
    named = {part.id: part.cloud["aggregate_id"] for part in world.get(lease).reservations}
    assert named == {part.id: present[part.id] for part in lease.reservations}


def test_a_start_under_way_is_starting_and_an_end_under_way_terminating(world: World) -> None:
    lease = world.lease(hosts(), start=0, end=3)
    killed_in_a_step(world)
    assert state(world, lease) == ("STARTING", {"pending"}, "IN_PROGRESS", "UNDONE")
    run_until(world, world.hour(2.5))
    world.clock.set(world.hour(3))
    killed_in_a_step(world)
    assert state(world, lease) == ("TERMINATING", {"active"}, "DONE", "IN_PROGRESS")
    run_until(world, world.hour(3.5))
    assert state(world, lease) == ("TERMINATED", {"deleted"}, "DONE", "DONE")


@pytest.mark.parametrize("moment", [0.0, 3.0])
def test_a_lease_in_the_middle_of_a_step_is_busy_and_unchanged(world: World, moment: float) -> None:
    lease = world.lease(hosts(), start=0, end=3)
    run_until(world, world.hour(moment - 0.001)) if moment else None
    world.clock.set(world.hour(moment))
    killed_in_a_step(world)
    before = world.get(lease)
    for changes in ({"name": "x"}, {"end": 4}, {"before_end": 2.5}):
        with pytest.raises(BusyError):
            world.amend(lease, **changes)
    assert world.get(lease) == before


def test_a_lease_without_reservations_starts_and_ends(world: World) -> None:
    lease = world.lease(start=1, end=3)
    run_until(world, world.hour(1))
    assert state(world, lease) == ("ACTIVE", set(), "DONE", "UNDONE")
    run_until(world, world.hour(3))
    assert state(world, lease) == ("TERMINATED", set(), "DONE", "DONE")


def test_a_lease_whose_whole_time_passed_unmanaged_ends_in_error_and_says_why(world: World) -> None:
    lease = world.lease(hosts(), instances(2), floating_ips(), start=1, end=3)
    world.clock.set(world.hour(4))
    run_manager(world)
    assert state(world, lease) == ("ERROR", {"deleted"}, "ERROR", "DONE")
    assert world.reason(lease).startswith("The lease's time passed before it could start.")
    assert world.cloud.aggregates.list() == [world.cloud.aggregates.get("freepool")]
    world.delete(lease)
    run_manager(world)
    assert not world.exists(lease)


def test_a_lease_cut_to_nothing_before_its_start_has_simply_ended(world: World) -> None:
    lease = world.lease(hosts(5), start=1, end=3)
    world.amend(lease, end=1)
    other = world.lease(hosts(5), start=1, end=3)
    run_until(world, world.hour(1))
    assert state(world, lease) == ("TERMINATED", {"deleted"}, "DONE", "DONE")
    assert state(world, other) == ("ACTIVE", {"active"}, "DONE", "UNDONE")


def test_a_terminated_lease_can_only_be_renamed(world: World) -> None:
    lease = world.active(hosts(), start=0, end=3)
    world.clock.advance(minutes=30, seconds=20)
    world.amend(lease, end=0.5)
    run_manager(world)
    assert world.status(lease) == "TERMINATED"
    with pytest.raises(InvalidInputError, match="only be renamed"):
        world.amend(lease, end=2)
    assert world.amend(lease, name="archive").name == "archive"


def test_a_lease_in_error_gives_no_warning_and_ends(world: World) -> None:
    world.refuse("aggregates.add_host")
    lease = world.lease(hosts(), start=0, end=3)
    run_until(world, world.hour(2.9))
    assert state(world, lease) == ("ERROR", {"error"}, "ERROR", "UNDONE")
    assert world.event(lease, EventType.BEFORE_END).status == "UNDONE"
    world.cloud.faults.clear()
    world.clock.set(world.hour(3))
    run_manager(world)
    assert state(world, lease) == ("TERMINATED", {"deleted"}, "ERROR", "DONE")


def test_every_move_that_is_notified_follows_the_table(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=4)
    run_until(world, world.hour(1))
    world.amend(lease, end=5)
    run_until(world, world.hour(5))
    world.delete(lease)
    run_manager(world)
    with world.service.db.reading() as connection:
        rows = connection.execute(select(outbox).where(outbox.c.lease_id == lease.id).order_by(outbox.c.id)).all()
    assert world.told(lease) == [
        ("lease.create", "PENDING"),
        ("lease.starting", "STARTING"),
        ("lease.event.start_lease", "ACTIVE"),
        ("lease.update", "ACTIVE"),
        ("lease.event.before_end_lease", "ACTIVE"),
        ("lease.warning.done", "ACTIVE"),
        ("lease.ending", "TERMINATING"),
        ("lease.event.end_lease", "TERMINATED"),
        ("lease.delete", "DELETING"),
    ]
    assert all(earlier.created_at <= later.created_at for earlier, later in pairwise(rows))
    assert rows[0].created_at == START
    assert rows[1].created_at == START + timedelta(hours=1)
