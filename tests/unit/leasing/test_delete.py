"""Features A12, L9: a lease can be deleted in every state; its resources are free once clean, and its rows stay."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.tables import allocations, leases, outbox, tasks
from leasehold.leasing.delete import delete_lease, delete_seen, wait_until_gone
from leasehold.model.errors import NotFoundError, StaleError
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
from tests.stateful.audit import cloud_state, dump

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

EVERYTHING = (hosts(2), instances(2), flavors(2), floating_ips(2))


def put_in_state(world: World, state: str) -> Lease:
    """Return a lease of every resource type in this state."""
    lease = world.lease(*EVERYTHING, start=1, end=3)
    if state == "prepared":
        run_manager(world)
    if state in ("ACTIVE", "TERMINATED"):
        run_until(world, world.hour(1 if state == "ACTIVE" else 3))
    if state in ("STARTING", "ERROR"):
        run_manager(world)
        world.cloud.faults.set(Fault("networks.*", error="before", permanent=state == "ERROR"))
        run_until(world, world.hour(1))
        run_until_refused_often(world)
        world.cloud.faults.clear()
    if state not in ("PENDING", "prepared"):
        assert world.get(lease).status == state
    return lease


@pytest.mark.parametrize("state", ["PENDING", "prepared", "STARTING", "ACTIVE", "TERMINATED", "ERROR"])
def test_a_deleted_lease_leaves_nothing_in_the_cloud_and_everything_in_the_books(world: World, state: str) -> None:
    beginning = cloud_state(world.engine)
    lease = put_in_state(world, state)
    delete_lease(world.service, lease.id)
    run_for(world, minutes=2)
    assert not world.exists(lease)
    assert cloud_state(world.engine) == beginning
    with world.service.db.reading() as connection:
        row = connection.execute(select(leases).where(leases.c.id == lease.id)).one()
        task = connection.execute(select(tasks).where(tasks.c.subject == lease.id)).one()
        kept = connection.execute(select(allocations).where(allocations.c.lease_id == lease.id)).all()
        told = list(connection.execute(select(outbox.c.event_type).where(outbox.c.lease_id == lease.id)).scalars())
    assert row.deleted_at is not None
    assert (task.due_at, task.claimed_by) == (None, None)
    assert kept
    assert all(held.released_at is not None for held in kept)
    assert told.count("lease.delete") == 1


@pytest.mark.parametrize("state", ["PENDING", "prepared", "TERMINATED", "ACTIVE"])
def test_what_nobody_uses_is_gone_at_once_and_the_rest_within_one_step(world: World, state: str) -> None:
    lease = put_in_state(world, state)
    delete_lease(world.service, lease.id)
    if state == "ACTIVE":
        run_manager(world)
    assert not world.exists(lease)
    start = (world.now() - world.hour(0)) / timedelta(hours=1)
    assert world.lease(hosts(5), start=start, end=start + 1)


def test_the_servers_of_a_deleted_lease_are_removed_before_its_hosts_are_free(world: World) -> None:
    lease = world.active(hosts(1), instances(2), start=0, end=3)
    world.boot(lease, 0)
    world.boot(lease, 1)
    world.cloud.servers.take_to("delete", 300)
    world.clock.advance(minutes=1)
    delete_lease(world.service, lease.id)
    run_for(world, minutes=4)
    assert world.status(lease) == "DELETING"
    run_for(world, minutes=3)
    assert not world.exists(lease)
    assert world.cloud.servers.all() == []


def test_deleting_twice_is_deleting_once(world: World) -> None:
    lease = put_in_state(world, "ACTIVE")
    delete_lease(world.service, lease.id)
    delete_lease(world.service, lease.id)
    run_manager(world)
    with pytest.raises(NotFoundError):
        delete_lease(world.service, lease.id)


def test_a_lease_that_changed_since_it_was_read_is_not_deleted(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=3)
    world.amend(lease, name="other")
    with pytest.raises(StaleError):
        delete_lease(world.service, lease.id, lease.generation)
    assert world.exists(lease)


def test_what_was_read_may_have_changed_or_be_gone_by_the_time_of_the_deletion(world: World) -> None:
    """It is deleted as it is then; what is gone or going is left as it is, and so is its pool."""
    seen = world.get(world.lease(hosts(), start=1, end=3))
    world.amend(seen, end=5)
    delete_seen(world.service, seen)
    assert not world.exists(seen)
    going = world.get(put_in_state(world, "ACTIVE"))
    world.delete(going)
    before = dump(world.engine)
    delete_seen(world.service, going)
    delete_seen(world.service, seen)
    assert dump(world.engine) == before
    world.lease(hosts(), start=1, end=5)


def test_a_database_that_goes_away_while_somebody_waits_takes_no_deletion_back(world: World) -> None:
    """The deletion is committed: an error here would be answered with a 503 that says that nothing has changed."""
    lease = put_in_state(world, "ACTIVE")
    world.delete(lease)
    world.engine.dispose()
    file = Path(world.engine.url.database or "")
    file.rename(file.with_name("away.db"))
    file.mkdir()
    assert not wait_until_gone(world.service, lease.id, 0.1)
