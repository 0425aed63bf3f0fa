"""The audit of the cloud is silent about foreign objects, work under way, and what is repaired between two looks."""

from __future__ import annotations

import pytest
from sqlalchemy import select, update

from leasehold.cloud.ports import CloudTransientError
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db import tables
from leasehold.features.audit.cloud import Pace, audit_cloud
from leasehold.features.audit.repair import repair
from tests.factory import World, floating_ips, hosts, instances, run_for, run_manager
from tests.features.audit.test_cloud import STRANGER, leave_flavor, take_a_host_out
from tests.unit.leasing.looking import Scene, findings

pytestmark = pytest.mark.slow


def test_what_is_not_ours_by_name_and_mark_is_not_looked_at(scene: Scene) -> None:
    scene.cloud.aggregates.ensure("rack-1", None, {"blazar:owner": "demo"})
    scene.cloud.aggregates.ensure(STRANGER, "nova", {"ssd": "true"})
    leave_flavor(scene, "m1.other")
    scene.cloud.providers.ensure_class("CUSTOM_GPU_2")
    scene.cloud.providers.ensure_class("CUSTOM_RESERVATION_DESK")
    assert findings(scene.world) == []


def test_a_lease_in_motion_is_not_drift(world: World) -> None:
    """The audit finds nothing between any two steps of a lease, each of which is hit by a fault."""
    lease = world.lease(hosts(2), instances(2), floating_ips(1), start=0, end=1)
    for moment in (0, 0.5, 1, 1.5):
        world.clock.set(world.hour(moment))
        for _ in range(12):
            assert findings(world) == []
            world.cloud.faults.set(Fault("*", error="after", remaining=1))
            run_manager(world, 1)
            world.cloud.faults.clear()
            run_for(world, seconds=1)
    assert world.status(lease) == "TERMINATED"


def test_work_that_is_due_or_claimed_is_left_to_its_worker(scene: Scene) -> None:
    take_a_host_out(scene)
    world, mine = scene.world, tables.tasks.c.subject == scene.lease.id
    (found,) = findings(world)
    with world.service.db.reading() as connection:
        before = connection.execute(select(tables.tasks).where(mine)).one()._asdict()
    soon = world.hour(2.1)
    for values in ({"due_at": world.now()}, {"claim_until": soon}, {"due_at": soon, "attempts": 1}):
        world.execute(update(tables.tasks).where(mine).values({**before, **values}))
        assert findings(world) == []
        assert repair(world.service, found) is None
    world.execute(update(tables.tasks).where(mine).values(before))
    assert [each.subject for each in findings(world)] == [scene.lease.id]


def test_what_is_mended_between_two_looks_is_no_finding(scene: Scene) -> None:
    host = scene.host()
    take_a_host_out(scene)

    def meanwhile(_seconds: float) -> None:
        scene.cloud.aggregates.add_host(scene.hosts, host)

    assert audit_cloud(scene.world.service, Pace(wait=meanwhile)) == []


def test_a_cloud_that_is_down_accuses_nobody(scene: Scene) -> None:
    scene.world.break_down("aggregates.list")
    with pytest.raises(CloudTransientError):
        findings(scene.world)
