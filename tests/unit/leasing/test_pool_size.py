"""Feature F3: the reservation pool follows the leases that wait; `model/placing/pool_size.py` decides what moves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from leasehold.cloud.sandbox.tables import servers
from leasehold.leasing.resources import pool_size
from leasehold.leasing.resources.resource import change
from leasehold.model.placing.pool_size import Size
from leasehold.model.resource import HOST
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import AT_ONCE, hosts, instances, make_service, run_for
from tests.jobs import job_of
from tests.stateful.audit import audit, audit_cloud, dump

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.leasing.service import Service
    from leasehold.model.lease import Lease
    from leasehold.model.placing.pool_size import PoolPlan
    from tests.factory import World

pytestmark = pytest.mark.slow

LEAD = timedelta(hours=1)


def planned(service: Service) -> PoolPlan:
    (found,) = pool_size.planned(service)
    return found


def follow(service: Service) -> PoolPlan:
    (found,) = pool_size.follow(service)
    return found


def sized(floor: int = 0, ceiling: int | None = None) -> Any:
    manager = replace(AT_ONCE.manager, pool_seconds=30.0, pool_sizes={HOST: Size(floor, ceiling, LEAD)})
    return replace(AT_ONCE, manager=manager)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Yield a service with a host in the reservation pool, and three shared ones, of which one has servers."""
    with make_service(tmp_path, settings=sized(), hosts=("cmp-01",)) as made:
        made.cloud.servers.boot("theirs", "alt", "m1.small")
        made.share("cmp-09", "cmp-02", "cmp-06")
        yield made


def wait_for(world: World, *asked: Any, **more: Any) -> Lease:
    more = {"start": 0, "end": 4, "deadline": world.now() + timedelta(hours=8), **more}
    return world.lease(*asked, type=LeaseType.WAITLIST, **more)


def pooled(world: World) -> set[str]:
    return {each.label for each in world.listed() if each.pooled}


def test_hosts_are_drawn_for_a_lease_that_waits_and_given_back_after_it(world: World) -> None:
    lease = wait_for(world, hosts(3), end=1)
    found = planned(world.service)
    assert [each.label for each in found.draw] == ["cmp-02", "cmp-06"]
    assert found.why[0].startswith("Leases that wait: 1; what 0 of them ask for")
    assert set(found.reasons.values()) == {f"Lease {lease.id} waits for it"}
    follow(world.service)
    run_for(world, seconds=30)
    assert (world.status(lease), pooled(world)) == ("ACTIVE", {"cmp-01", "cmp-02", "cmp-06"})
    assert follow(world.service).draw == ()
    run_for(world, hours=1, minutes=5)
    assert world.status(lease) == "TERMINATED"
    assert {each.label for each in follow(world.service).give_back} == {"cmp-01", "cmp-02", "cmp-06"}
    run_for(world, seconds=30)
    assert pooled(world) == set()
    audit(world)
    audit_cloud(world)


def test_a_plan_changes_nothing(world: World) -> None:
    wait_for(world, hosts(3))
    before = dump(world.engine)
    planned(world.service)
    assert dump(world.engine) == before


def test_the_floor_is_kept_and_the_ceiling_is_not_passed(world: World) -> None:
    sized_world = world.with_settings(manager=sized(floor=4, ceiling=3).manager)
    follow(sized_world.service)
    run_for(world, seconds=30)
    assert pooled(world) == {"cmp-01", "cmp-02", "cmp-06"}


def test_a_host_is_drawn_first_whose_servers_stay_because_they_are_preemptible(world: World) -> None:
    wait_for(world, hosts(2))
    assert [each.label for each in planned(world.service).draw] == ["cmp-02"]
    world.execute(update(servers).values(preemptible=True))
    # None would move, but a lease there would end one.
    assert [each.label for each in planned(world.service).draw] == ["cmp-02"]
    for label in ("cmp-02", "cmp-06"):
        world.disable(label)
    (found,) = planned(world.service).draw
    assert (found.label, found.servers) == ("cmp-09", 0)


def test_slots_that_wait_count_as_one_host(world: World) -> None:
    wait_for(world, instances(1, 2000))
    assert planned(world.service).draw == ()
    world.active(hosts(1), end=8)
    assert [each.label for each in planned(world.service).draw] == ["cmp-02"]


def test_hosts_are_drawn_that_have_what_the_lease_asks_for(world: World) -> None:
    change(world.service, HOST, world.host("cmp-09").id, {"rack": "b2"})
    asked: dict[str, Any] = {
        "resource_properties": '["==", "$rack", "b2"]',
        "hypervisor_properties": '["==", "$reservable", "True"]',
    }
    lease = wait_for(world, hosts(1, **asked), end=1)
    found = follow(world.service)
    assert ([each.label for each in found.draw], [each.label for each in found.give_back]) == (["cmp-09"], ["cmp-01"])
    run_for(world, minutes=2)
    assert (world.status(lease), pooled(world)) == ("ACTIVE", {"cmp-09"})
    audit(world)
    audit_cloud(world)


def test_no_host_is_drawn_that_is_for_other_projects(world: World) -> None:
    world.restrict({"others"}, "cmp-02")
    wait_for(world, hosts(2))
    assert [each.label for each in planned(world.service).draw] == ["cmp-06"]


def test_nothing_is_drawn_in_vain(world: World) -> None:
    change(world.service, HOST, world.host("cmp-09").id, {"rack": "b2"})
    lease = wait_for(world, hosts(2, resource_properties='["==", "$rack", "b2"]'))
    found = planned(world.service)
    assert found.draw == ()
    assert f"Nothing is drawn for lease {lease.id}: it needs 2" in found.why[-1]


def test_a_host_makes_room_below_the_ceiling_unless_something_is_promised_on_it(world: World) -> None:
    change(world.service, HOST, world.host("cmp-09").id, {"rack": "b2"})
    small = world.with_settings(manager=sized(ceiling=1).manager)
    wait_for(small, hosts(1, resource_properties='["==", "$rack", "b2"]'))
    assert [each.label for each in planned(small.service).draw] == ["cmp-09"]
    world.lease(hosts(1), start=100, end=101)
    assert (planned(small.service).draw, planned(small.service).give_back) == ((), ())
    assert pooled(world) == {"cmp-01"}


def test_a_host_that_could_not_be_emptied_is_not_drawn_again_at_once(world: World) -> None:
    for label in ("cmp-02", "cmp-06"):
        world.disable(label)
    wait_for(world, hosts(2))
    world.refuse("servers.migrate")
    assert [each.label for each in follow(world.service).draw] == ["cmp-09"]
    run_for(world, minutes=5)
    world.cloud.faults.clear()
    assert world.host("cmp-09").membership_reason
    assert planned(world.service).draw == ()
    run_for(world, hours=1)
    assert [each.label for each in planned(world.service).draw] == ["cmp-09"]


def test_one_manager_at_a_time_looks(world: World) -> None:
    other = world.with_settings()
    lease = wait_for(world, hosts(2))
    job_of(other.service, "pool size").run_once()
    drawing = [each.label for each in world.listed() if each.membership == "drawing"]
    assert drawing == ["cmp-02"]
    world.delete(lease)
    wait_for(world, hosts(4))
    job_of(world.service, "pool size").run_once()
    assert [each.label for each in world.listed() if each.membership == "drawing"] == drawing
    world.clock.advance(seconds=28)
    job_of(world.service, "pool size").run_once()
    assert len([each for each in world.listed() if each.membership == "drawing"]) == 3
    other.engine.dispose()


def test_a_cloud_that_is_away_ends_a_round_and_nothing_else(world: World, caplog: pytest.LogCaptureFixture) -> None:
    wait_for(world, hosts(2))
    world.break_down("servers.on_hosts")
    job_of(world.service, "pool size").run_once()
    assert "The job pool size waits for the cloud" in caplog.text
    assert pooled(world) == {"cmp-01"}
