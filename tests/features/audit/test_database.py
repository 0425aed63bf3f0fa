"""The audit of the database: silent about consistent rows, it names each inconsistency; lost work is brought back."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import delete, insert, select, update

from leasehold.cloud.ports import CloudPermanentError
from leasehold.db import tables
from leasehold.features.audit.job import reconcile
from leasehold.features.audit.repair import repair
from tests.factory import flavors, floating_ips, hosts, instances, run_for, run_manager, run_until
from tests.unit.leasing.looking import AT_ONCE, Scene, in_database

if TYPE_CHECKING:
    from leasehold.model.finding import Finding
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

LONGEST = timedelta(seconds=300)
"""The longest pause between two attempts that the cloud refuses."""


def named(found: list[Finding]) -> set[tuple[str, str]]:
    return {(str(each.kind), each.subject) for each in found}


def test_rows_that_agree(scene: Scene) -> None:
    assert in_database(scene.world) == []
    scene.world.delete(scene.lease)
    run_until(scene.world, scene.world.hour(7))
    assert in_database(scene.world) == []


@pytest.mark.parametrize("table", [tables.outbox, tables.idempotency_keys])
def test_a_lease_that_the_database_has_lost_is_named_where_something_of_it_is_left(world: World, table: Any) -> None:
    """A crash of a cluster may take a committed transaction, or the rows of one of its tables."""
    lost = world.lease(hosts(1), key="one")
    world.lease(hosts(1), key="two")
    for each in (tables.allocations, tables.events, tables.reservations, tables.tasks, tables.outbox):
        column = each.c.subject if each is tables.tasks else each.c.lease_id
        if each is not table:
            world.execute(delete(each).where(column == lost.id))
    if table is tables.outbox:
        world.execute(delete(tables.idempotency_keys).where(tables.idempotency_keys.c.lease_id == lost.id))
    world.execute(delete(tables.leases).where(tables.leases.c.id == lost.id))
    assert named(in_database(world)) == {("lost", lost.id)}


# ---------------------------------------------------------------- capacity


def promise_again(world: World, lease: Lease, **changes: Any) -> None:
    """Insert a second allocation of a resource of the lease, as a service that decides twice would."""
    with world.service.db.reading() as connection:
        mine = tables.allocations.c.lease_id == lease.id
        row = connection.execute(select(tables.allocations).where(mine)).first()
    assert row is not None
    stored = {name: value for name, value in row._asdict().items() if tables.allocations.c[name].computed is None}
    world.execute(insert(tables.allocations).values({**stored, **changes, "id": None}))


def test_what_is_promised_beyond_capacity_is_named_and_taken_from_no_lease(world: World) -> None:
    whole = world.lease(hosts(2), start=0, end=2)
    slots = world.lease(instances(1, resource_properties='["==", "$vcpus", "16"]'), start=3, end=4)
    end = int(whole.window.end.timestamp())
    promise_again(world, whole, starts_at=end, ends_at=end + 60)
    assert in_database(world) == []
    promise_again(world, whole)
    promise_again(world, slots, slots=10_000)
    twice, beyond = in_database(world)
    assert "as a whole and again" in twice.what
    assert whole.reservations[0].id in twice.what
    assert "VCPU of" in beyond.what
    for each in (twice, beyond):
        assert (each.kind, repair(world.service, each)) == ("overbooked", None)


# ---------------------------------------------------------------- statuses and work

EVENT = tables.events.c.type


@pytest.mark.parametrize(
    ("kind", "said", "spoilt"),
    [
        ("status", "is pending", update(tables.reservations).values(status="pending")),
        ("status", "lost resources and it is not degraded", update(tables.reservations).values(missing_resources=True)),
        ("status", "none of its reservations lost resources", update(tables.leases).values(degraded=True)),
        ("status", "is UNDONE", update(tables.events).where(EVENT == "start_lease").values(status="UNDONE")),
        ("status", "has another time", update(tables.events).where(EVENT == "end_lease").values(time=None)),
        ("status", "it has no event end_lease", delete(tables.events).where(EVENT == "end_lease")),
        ("work", "no task is due", delete(tables.tasks)),
        ("work", "no task is due", update(tables.tasks).values(due_at=None)),
    ],
)
def test_parts_that_disagree_are_named_and_lost_work_is_brought_back(
    scene: Scene, kind: str, said: str, spoilt: Any
) -> None:
    world, lease = scene.world, scene.lease
    columns = spoilt.table.c
    mine = columns.id if spoilt.table is tables.leases else columns.subject if kind == "work" else columns.lease_id
    world.execute(spoilt.where(mine == lease.id))
    found = in_database(world)
    assert (kind, lease.id) in named(found)
    assert any(said in each.what for each in found if each.kind == kind)
    if kind == "work":
        assert [each for each, _ in reconcile(world.service, AT_ONCE)] == found
        run_until(world, world.hour(4.5))
        assert (world.status(lease), in_database(world)) == ("TERMINATED", [])


def test_work_that_nobody_takes_up_is_named_until_it_is_done(scene: Scene) -> None:
    scene.world.clock.set(scene.world.hour(4) + timedelta(minutes=6))
    assert named(in_database(scene.world)) == {("late", scene.lease.id)}
    run_manager(scene.world)
    assert in_database(scene.world) == []


def test_a_task_for_nothing_is_named(world: World) -> None:
    world.execute(insert(tables.tasks).values(kind="lease", subject="nobody", due_at=None, attempts=0))
    assert named(in_database(world)) == {("work", "nobody")}


def give_up(world: World, lease: Lease, **task: object) -> None:
    """Leave the lease's task as an earlier version that gave up retrying left it."""
    mine = tables.tasks.c.subject == lease.id
    world.execute(update(tables.tasks).where(mine).values(attempts=0, refusals=0, **task))
    world.cloud.faults.clear()


def test_an_end_that_was_given_up_is_a_finding_and_is_brought_to_an_end(world: World) -> None:
    lease = world.lease(hosts(), floating_ips(), start=0, end=3)
    run_until(world, world.hour(2.9))
    world.refuse("aggregates.remove_host")
    run_until(world, world.hour(3.1))
    give_up(world, lease, due_at=None)
    assert named(in_database(world)) == {("work", lease.id), ("kept", lease.id)}
    assert any("still keeps cmp-01" in each.what for each in in_database(world))
    reconcile(world.service, AT_ONCE)
    run_manager(world)
    assert (world.status(lease), in_database(world)) == ("TERMINATED", [])


def test_a_start_that_was_given_up_until_the_end_is_a_finding_and_is_tried_again(world: World) -> None:
    world.refuse("aggregates.add_host")
    lease = world.active(hosts(), end=3)
    run_for(world, minutes=1)
    assert world.status(lease) == "ERROR"
    give_up(world, lease, due_at=lease.window.end)
    assert named(in_database(world)) == {("work", lease.id)}
    reconcile(world.service, AT_ONCE)
    run_manager(world)
    assert (world.status(lease), in_database(world)) == ("ACTIVE", [])


# ---------------------------------------------------------------- resources that are kept


@pytest.mark.parametrize("way", ["ended", "never started", "deleted"])
def test_what_a_lease_that_is_over_keeps_is_given_back(world: World, way: str) -> None:
    lease = world.lease(hosts(2), flavors(), start=0, end=1)
    if way == "never started":
        world.clock.advance(hours=1)
    run_until(world, world.hour(1))
    if way == "deleted":
        world.delete(lease)
        run_manager(world)
    before = None if way == "deleted" else world.get(lease)
    mine = tables.allocations.c.lease_id == lease.id
    world.execute(update(tables.allocations).where(mine).values(released_at=None))
    (found,) = in_database(world)
    assert (found.kind, found.subject) == ("kept", lease.id)
    assert "cmp-01, cmp-02" in found.what
    assert [each for each, _ in reconcile(world.service, AT_ONCE)] == [found]
    world.refuse("aggregates.get", 2)
    run_for(world, minutes=1)
    assert in_database(world) == []
    if before is not None:
        after = world.get(lease)
        assert (after.status, after.status_reason, after.events) == (before.status, before.status_reason, before.events)
        assert after.status == ("ERROR" if way == "never started" else "TERMINATED")


def test_what_is_kept_by_a_lease_whose_end_is_refused_is_named(world: World, caplog: pytest.LogCaptureFixture) -> None:
    lease = world.lease(hosts(2), floating_ips(), start=0, end=3)
    run_until(world, world.hour(2.9))
    world.refuse("aggregates.remove_host")
    world.refuse("networks.*")
    run_until(world, world.hour(3.1))
    (found,) = in_database(world)
    assert (found.kind, found.subject) == ("kept", lease.id)
    what = f"Lease {lease.id} of project demo is ERROR, over since 2031-05-01 12:00, and still keeps "
    assert found.what.startswith(f"{what}203.0.113.200, cmp-01, cmp-02. The cloud refused: sandbox aggregates.remove")
    assert "tried again by itself, next at 2031-05-01 12:" in found.remedy
    caplog.clear()
    with pytest.raises(CloudPermanentError):
        # The finding is logged although the cloud cannot be read.
        reconcile(world.service, AT_ONCE)
    assert caplog.messages == [f"Audit: {found.what} {found.remedy}"]
    world.cloud.faults.clear()
    run_for(world, seconds=LONGEST.total_seconds())
    assert in_database(world) == []


def test_a_deletion_that_is_refused_is_named_and_goes_on(world: World) -> None:
    lease = world.active(hosts(), end=3)
    world.refuse("aggregates.delete")
    world.clock.advance(minutes=10)
    world.delete(lease)
    run_for(world, minutes=1)
    assert world.status(lease) == "DELETING"
    assert named(in_database(world)) == {("kept", lease.id)}
    world.cloud.faults.clear()
    run_for(world, seconds=LONGEST.total_seconds())
    assert not world.exists(lease)
    assert in_database(world) == []


def test_an_end_delayed_by_a_cloud_that_is_away_is_named_after_a_while(world: World) -> None:
    lease = world.lease(hosts(), start=0, end=1)
    run_until(world, world.hour(0.9))
    world.break_down()
    run_until(world, world.hour(1.1))
    assert in_database(world) == []
    run_until(world, world.hour(1.3))
    assert named(in_database(world)) == {("kept", lease.id)}
    world.cloud.faults.clear()
    run_for(world, minutes=1)
    assert in_database(world) == []
