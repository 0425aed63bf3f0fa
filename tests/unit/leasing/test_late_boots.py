"""Late boots: a boot passes the scheduler before a lease ends, and lands when the host is allocated to others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from sqlalchemy import insert

from leasehold.cloud.sandbox import tables
from tests.counts.meter import CallCounter
from tests.factory import ALT, DEMO, hosts, instances, run_for, run_manager, run_until
from tests.unit.leasing.looking import findings

if TYPE_CHECKING:
    from typing import Any

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

CMP_01 = '["==", "$hypervisor_hostname", "cmp-01"]'


def land(
    world: World,
    asked: float,
    project: str = "demo",
    flavor: str = "m1.small",
    *,
    preemptible: bool = False,
    host: str = "cmp-01",
) -> str:
    """Put a server that was requested at the hour `asked` on a host now; return its id."""
    row = {"id": str(uuid4()), "name": "late", "project_id": project, "flavor_id": flavor, "status": "ACTIVE"}
    where = {"service_host": host, "preemptible": preemptible, "created_at": world.hour(asked)}
    world.execute(insert(tables.servers).values({**row, **where}))
    return row["id"]


def over_and_next(world: World, *asked: dict[str, Any]) -> Lease:
    """Return another project's lease on cmp-01 from hour 1.5; a lease of `demo` there ended at hour 1; it is 1.1."""
    world.lease(hosts(resource_properties=CMP_01), start=0, end=1)
    following = world.lease(*asked or [hosts(resource_properties=CMP_01)], start=1.5, end=3, caller=ALT)
    run_until(world, world.hour(1.1))
    return following


def cmp_01_slots(amount: int = 1) -> dict[str, Any]:
    return instances(amount, resource_properties=CMP_01)


@pytest.mark.parametrize("way", ["another project's", "the same project's", "into slots"])
def test_a_late_boot_of_the_lease_before_is_named_and_removed_at_the_next_start(world: World, way: str) -> None:
    before = world.lease(cmp_01_slots() if way == "into slots" else hosts(resource_properties=CMP_01), start=0, end=1)
    caller = DEMO if way == "the same project's" else ALT
    following = world.lease(hosts(resource_properties=CMP_01), start=1.5, end=3, caller=caller)
    run_until(world, world.hour(1.1))
    late = land(world, 0.2, flavor=before.reservations[0].id) if way == "into slots" else land(world, 0.99)
    (found,) = findings(world)
    assert "cmp-01" in found.what
    assert late in found.what
    run_until(world, world.hour(1.6))
    assert world.status(following) == "ACTIVE"
    assert world.servers() == set()
    assert world.members(following.reservations[0].id) == {"cmp-01"}
    assert findings(world) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("asked", "project"),
    [(0.99, "third"), (1.05, "demo"), (-0.5, "demo")],
    ids=["another project's", "after the end", "before the lease"],
)
def test_a_server_that_may_be_somebodys_is_left_alone_and_the_start_says_what_it_waits_for(
    world: World, asked: float, project: str
) -> None:
    following = over_and_next(world)
    server = land(world, asked, project)
    run_until(world, world.hour(1.7))
    found = world.get(following)
    assert found.status == "STARTING"
    assert "1 servers that are not this lease's are still on one of its hosts: 0 of this project, 1 of others" in (
        found.status_reason or ""
    )
    assert project not in (found.status_reason or "")
    assert "cmp-01" not in (found.status_reason or "")
    assert world.servers() == {server}
    [named] = findings(world)
    assert server in named.what
    assert named.mend is None
    world.cloud.servers.delete(server)
    run_for(world, minutes=2)
    assert world.status(following) == "ACTIVE"
    assert findings(world) == []


@pytest.mark.slow
def test_a_server_of_a_project_that_has_another_lease_is_left_alone(world: World) -> None:
    """The server may have been booted on the other lease, and moved here when that lease's host failed."""
    world.lease(hosts(resource_properties='["==", "$hypervisor_hostname", "cmp-02"]'), start=0, end=4)
    following = over_and_next(world)
    server = land(world, 0.99)
    run_until(world, world.hour(1.7))
    assert world.status(following) == "STARTING"
    assert world.servers() == {server}


def test_preemptible_servers_make_room_as_before(world: World) -> None:
    following = over_and_next(world)
    land(world, 1.05, "third", preemptible=True)
    assert findings(world) == []
    run_until(world, world.hour(1.6))
    assert world.status(following) == "ACTIVE"


def test_servers_of_a_lease_that_runs_are_never_strangers(world: World) -> None:
    lease = world.active(hosts(), start=0, end=2)
    server = world.cloud.servers.boot("own", "demo", "m1.small", [lease.reservations[0].id])
    world.clock.advance(minutes=10)
    world.amend(lease, end=2.5)
    run_for(world, minutes=10)
    assert world.servers() == {server.id}
    assert server.created_at == world.now() - timedelta(minutes=20)
    assert findings(world) == []


# ------------------------------------------------------------ hosts that no lease gets as a whole


def test_a_late_boot_on_an_idle_host_is_named(world: World) -> None:
    world.lease(hosts(resource_properties=CMP_01), start=0, end=1)
    run_until(world, world.hour(1.1))
    late = land(world, 0.99)
    [found] = findings(world)
    assert found.what == f"Host cmp-01 has servers without a lease: {late} of project demo."
    assert found.mend is None
    run_for(world, hours=5)
    assert world.servers() == {late}


def test_a_late_boot_on_a_host_of_slots_is_named_and_removed_at_their_start(world: World) -> None:
    following = over_and_next(world, cmp_01_slots())
    late = land(world, 0.99)
    [found] = findings(world)
    assert late in found.what
    run_until(world, world.hour(1.6))
    assert world.status(following) == "ACTIVE"
    assert world.servers() == set()
    assert findings(world) == []


def test_slots_start_beside_servers_that_may_be_somebodys(world: World) -> None:
    following = over_and_next(world, cmp_01_slots())
    unknown = land(world, 1.05)
    run_until(world, world.hour(1.6))
    assert world.status(following) == "ACTIVE"
    assert world.servers() == {unknown}
    [named] = findings(world)
    assert unknown in named.what


def test_slots_of_others_on_the_host_are_nobodys_late_boots(world: World) -> None:
    over = world.lease(cmp_01_slots(), start=0, end=1)
    running = world.active(cmp_01_slots(), start=0, end=4)
    server = world.cloud.servers.boot("own", "demo", running.reservations[0].id)
    world.lease(cmp_01_slots(), start=1.5, end=3)
    run_until(world, world.hour(1.1))
    late = land(world, 0.9, flavor=over.reservations[0].id)
    assert [late in each.what and server.id not in each.what for each in findings(world)] == [True]
    run_until(world, world.hour(1.6))
    assert world.servers() == {server.id}
    assert findings(world) == []


def test_a_cloud_that_cannot_list_servers_delays_no_start_of_slots(world: World) -> None:
    lease = world.lease(cmp_01_slots())
    world.break_down("servers.on_hosts")
    run_manager(world)
    assert world.status(lease) == "ACTIVE"


def test_the_audit_lists_the_servers_of_all_hosts_at_once(world: World) -> None:
    run_manager(world)
    counter = CallCounter(world.cloud, world.engine)
    watched = replace(world, service=replace(world.service, cloud=counter.cloud))
    few = counter.of(lambda: findings(watched))
    world.enrol("cmp-03.example", "cmp-04.example", "cmp-05")
    assert counter.of(lambda: findings(watched)) == few
