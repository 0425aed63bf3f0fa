"""Every failed step is retried: ERROR gives the current reason, and clears when its cause is gone (design §5)."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from leasehold.cloud.ports import CloudPermanentError
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db import tables
from leasehold.db.engine import reading, writing
from leasehold.leasing.audit.cloud import Pace
from leasehold.leasing.audit.db import audit_database
from leasehold.manager.reconciler import reconcile
from leasehold.model.states import EventType
from tests.factory import (
    ALT,
    flavors,
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

    from leasehold.model.finding import Finding
    from leasehold.model.lease import Lease
    from tests.factory import World

LONGEST = timedelta(seconds=300)
"""The longest pause between two attempts that the cloud refuses."""
AT_ONCE = Pace(0, 0)


def refuse(world: World, verb: str, times: int | None = None) -> None:
    world.cloud.faults.set(Fault(verb, error="before", permanent=True, remaining=times))


def findings(world: World) -> list[Finding]:
    with reading(world.engine) as connection:
        return audit_database(connection, world.now())


def statuses(world: World, lease: Lease) -> list[str]:
    return [str(part.status) for part in world.get(lease).reservations]


# ---------------------------------------------------------------- temporary refusals


def test_ten_leases_due_in_one_minute_are_active_a_second_after_each_was_refused(world: World) -> None:
    """A Placement process that does not know a new resource class yet answers 400; a second later, it knows it."""
    leases = [world.lease(instances(), start=1, end=2) for _ in range(10)]
    run_until(world, world.hour(0.99))
    refuse(world, "providers.set_inventory", 10)
    run_until(world, world.hour(1))
    assert {world.get(lease).status for lease in leases} == {"STARTING"}
    assert {(world.get(lease).status_reason or "")[:18] for lease in leases} == {"The cloud refused:"}
    run_for(world, seconds=1)
    assert {(world.get(lease).status, world.get(lease).status_reason) for lease in leases} == {("ACTIVE", None)}


def test_pauses_between_refusals_grow_from_a_second_to_minutes(world: World) -> None:
    refuse(world, "aggregates.add_host")
    world.lease(hosts(), start=0, end=3)
    moments: list[datetime] = []
    while len(moments) < 8:
        assert run_manager(world) == 1
        moments.append(world.now())
        due = next_moment_of_work(world)
        assert due is not None
        world.clock.set(due)
    pauses = [(later - earlier).total_seconds() for earlier, later in pairwise(moments)]
    assert pauses == [1, 4, 16, 64, 256, 300, 300]


def test_an_error_tells_what_is_wrong_now(world: World) -> None:
    refuse(world, "aggregates.add_host")
    lease = world.lease(hosts(), start=0, end=3)
    run_until_refused_often(world)
    assert "aggregates.add_host" in (world.get(lease).status_reason or "")
    world.cloud.faults.clear()
    refuse(world, "servers.on_host")
    run_for(world, seconds=LONGEST.total_seconds())
    assert world.get(lease).status == "ERROR"
    assert "servers.on_host" in (world.get(lease).status_reason or "")
    world.cloud.faults.clear()
    world.cloud.faults.set(Fault("*", error="before"))
    run_for(world, seconds=LONGEST.total_seconds())
    assert world.get(lease).status == "ERROR"
    assert (world.get(lease).status_reason or "").startswith("Waiting for the cloud: ")


def test_an_error_heals_when_its_cause_goes_away(world: World) -> None:
    refuse(world, "networks.create_floating_ip")
    lease = world.lease(hosts(), instances(), floating_ips(), start=0, end=3)
    run_until(world, world.hour(1))
    assert (world.get(lease).status, statuses(world, lease)) == ("ERROR", ["active", "active", "error"])
    host = lease.reservations[0].id
    assert world.cloud.servers.boot("used", "demo", "m1.small", [host]).status == "ACTIVE"
    run_for(world, hours=1)
    assert (world.get(lease).status, statuses(world, lease)) == ("ERROR", ["active", "active", "error"])
    audit(world)
    world.cloud.faults.clear()
    run_for(world, seconds=LONGEST.total_seconds())
    healed = world.get(lease)
    assert (healed.status, healed.status_reason) == ("ACTIVE", None)
    assert statuses(world, lease) == ["active", "active", "active"]
    start = healed.event(EventType.START)
    assert start is not None
    assert start.status == "DONE"
    assert [server.name for server in world.cloud.servers.all()] == ["used"]
    audit_cloud(world)
    run_until(world, world.hour(3))
    assert world.get(lease).status == "TERMINATED"


def test_a_lease_in_error_keeps_what_it_was_promised(world: World) -> None:
    refuse(world, "aggregates.add_host")
    lease = world.lease(hosts(2), start=0, end=3)
    run_until_refused_often(world)
    assert world.get(lease).status == "ERROR"
    mine = set(world.holds(lease))
    assert not mine & set(world.holds(world.lease(hosts(3), start=1, end=2)))


def test_a_warning_that_is_refused_is_given_when_it_can_be(world: World) -> None:
    lease = world.lease(hosts(before_end="snapshot"), start=0, end=3, before_end=world.hour(1))
    run_manager(world)
    server = world.cloud.servers.boot("one", "demo", "m1.small", [lease.reservations[0].id])
    refuse(world, "images.snapshot")
    run_until(world, world.hour(2))
    warning = world.get(lease).event(EventType.BEFORE_END)
    assert warning is not None
    assert world.get(lease).status == "ACTIVE"
    assert warning.status != "DONE"
    world.cloud.faults.clear()
    run_for(world, seconds=LONGEST.total_seconds())
    warning = world.get(lease).event(EventType.BEFORE_END)
    assert warning is not None
    assert (warning.status, world.get(lease).status_reason) == ("DONE", None)
    assert [image.name for image in world.cloud.images.of_server(server.id)] == ["reserved_one"]


# ---------------------------------------------------------------- the end


@pytest.mark.parametrize("verb", ["aggregates.remove_host", "aggregates.delete", "servers.on_host", "networks.*"])
@pytest.mark.slow
def test_the_next_lease_waits_for_an_end_that_is_refused_and_starts_when_it_is_not(world: World, verb: str) -> None:
    lease = world.lease(hosts(5), floating_ips(5), start=0, end=3)
    after = world.lease(hosts(5), floating_ips(5), start=3, end=6, caller=ALT)
    run_until(world, world.hour(2.9))
    refuse(world, verb)
    run_until(world, world.hour(4))
    assert world.get(lease).status == "ERROR"
    waiting = world.get(after)
    assert waiting.status in ("PENDING", "STARTING")
    assert "Waiting for the previous lease to leave" in (waiting.status_reason or "")
    world.cloud.faults.clear()
    run_for(world, minutes=15)
    assert (world.get(lease).status, statuses(world, lease)) == ("TERMINATED", ["deleted", "deleted"])
    assert world.get(after).status == "ACTIVE"
    audit(world)
    audit_cloud(world)


def test_the_audit_names_what_is_kept_by_a_lease_whose_end_is_refused(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    lease = world.lease(hosts(2), floating_ips(), start=0, end=3)
    run_until(world, world.hour(2.9))
    refuse(world, "aggregates.remove_host")
    refuse(world, "networks.*")
    run_until(world, world.hour(3.1))
    (found,) = findings(world)
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
    assert findings(world) == []


def test_a_deletion_that_is_refused_is_named_and_goes_on(world: World) -> None:
    refuse(world, "aggregates.add_host")
    lease = world.lease(hosts(), start=0, end=3)
    run_until_refused_often(world)
    assert world.get(lease).status == "ERROR"
    world.delete(lease)
    refuse(world, "aggregates.delete")
    run_until_refused_often(world)
    assert world.get(lease).status == "DELETING"
    assert [(each.kind, each.subject) for each in findings(world)] == [("kept", lease.id)]
    world.cloud.faults.clear()
    run_for(world, seconds=LONGEST.total_seconds())
    assert not world.exists(lease)
    assert findings(world) == []


def test_an_end_delayed_by_a_cloud_that_is_away_is_named_after_a_while(world: World) -> None:
    lease = world.lease(hosts(), start=0, end=1)
    run_until(world, world.hour(0.9))
    world.cloud.faults.set(Fault("*", error="before"))
    run_until(world, world.hour(1.1))
    assert findings(world) == []
    run_until(world, world.hour(1.3))
    assert [(each.kind, each.subject) for each in findings(world)] == [("kept", lease.id)]
    world.cloud.faults.clear()
    run_for(world, minutes=1)
    assert findings(world) == []


# ---------------------------------------------------------------- tasks left by an earlier version


def leave(world: World, lease: Lease, **task: object) -> None:
    """Leave the lease's task as an earlier version that gave up retrying left it."""
    with writing(world.engine) as connection:
        mine = tables.tasks.c.subject == lease.id
        connection.execute(update(tables.tasks).where(mine).values(attempts=0, refusals=0, **task))


def test_an_end_that_was_given_up_is_a_finding_and_is_brought_to_an_end(world: World) -> None:
    lease = world.lease(hosts(), floating_ips(), start=0, end=3)
    run_until(world, world.hour(2.9))
    refuse(world, "aggregates.remove_host")
    run_until(world, world.hour(3.1))
    leave(world, lease, due_at=None)
    world.cloud.faults.clear()
    assert {(each.kind, each.subject) for each in findings(world)} == {("work", lease.id), ("kept", lease.id)}
    assert any("still keeps cmp-01" in each.what for each in findings(world))
    reconcile(world.service, AT_ONCE)
    run_manager(world)
    assert world.get(lease).status == "TERMINATED"
    assert findings(world) == []


def test_a_start_that_was_given_up_until_the_end_is_a_finding_and_is_tried_again(world: World) -> None:
    refuse(world, "aggregates.add_host")
    lease = world.lease(hosts(), start=0, end=3)
    run_until_refused_often(world)
    leave(world, lease, due_at=lease.window.end)
    world.cloud.faults.clear()
    assert [(each.kind, each.subject) for each in findings(world)] == [("work", lease.id)]
    reconcile(world.service, AT_ONCE)
    run_manager(world)
    assert world.get(lease).status == "ACTIVE"
    assert findings(world) == []


@pytest.mark.parametrize("late", [False, True], ids=["ended", "never started"])
def test_what_an_ended_lease_keeps_is_given_back(world: World, late: bool) -> None:  # noqa: FBT001 - parametrized
    lease = world.lease(hosts(2), flavors(), start=0, end=1)
    if late:
        world.clock.advance(hours=1)
    run_until(world, world.hour(1))
    before = world.get(lease)
    assert before.status == ("ERROR" if late else "TERMINATED")
    with writing(world.engine) as connection:
        mine = tables.allocations.c.lease_id == lease.id
        connection.execute(update(tables.allocations).where(mine).values(released_at=None))
    (found,) = reconcile(world.service, AT_ONCE)
    assert (found.kind, found.subject) == ("kept", lease.id)
    refuse(world, "aggregates.get", 2)
    run_for(world, minutes=1)
    assert findings(world) == []
    after = world.get(lease)
    assert (after.status, after.status_reason, after.events) == (before.status, before.status_reason, before.events)
