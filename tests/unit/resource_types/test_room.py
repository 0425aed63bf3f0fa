"""Slots that begin get their room from preemptible servers, which go only as far as their room is needed."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.observing import Observation
from leasehold.cloud.ports import LARGEST, CloudTransientError, Inventory
from leasehold.cloud.sandbox.faults import Fault
from leasehold.conf.settings import CloudSettings
from leasehold.model.states import ReservationStatus
from leasehold.resource_types.driver import Wanted
from tests.unit.resource_types.pool import OURS
from tests.unit.resource_types.scene import FREEPOOL, PROJECT, holding, job
from tests.unit.resource_types.test_converge import INSTANCE_REQUEST, INSTANCES
from tests.unit.resource_types.test_emptying import HOST, NUMBER, names_on, scene_with_preemptibles

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from leasehold.resource_types.driver import Convergence
    from tests.unit.resource_types.scene import Scene

pytestmark = pytest.mark.slow

ACTIVE = Wanted.ACTIVE
SIZE = 4
"""The host has 16 VCPUs, enough for four slots of this size or for four preemptible servers of `m1.large`."""


@pytest.fixture
def scene(scene_engine: Engine) -> Scene:
    return one_free_host(scene_engine)


def one_free_host(engine: Engine) -> Scene:
    scene = scene_with_preemptibles(engine)
    for other in ("cmp-01", "cmp-02"):
        scene.cloud.aggregates.remove_host(FREEPOOL, other)
    return scene


def slots(amount: int, **more: Any) -> Convergence[Any]:
    return job(INSTANCES, replace(INSTANCE_REQUEST, vcpus=SIZE), holding(NUMBER, amount), **more)


def fill(scene: Scene, amount: int) -> list[str]:
    """Boot preemptible servers on the host, the oldest first, and return their names."""
    for number in range(amount):
        server = scene.cloud.servers.boot(f"p-{number}", "alt", "m1.large", preemptible=True)
        assert server.service_host == HOST
        scene.clock.advance(seconds=1)
    return names_on(scene)


def boots(scene: Scene, amount: int) -> list[str]:
    return [scene.cloud.servers.boot(f"s-{number}", PROJECT, OURS).status for number in range(amount)]


@pytest.mark.parametrize(("there", "wanted", "stay"), [(0, 4, 0), (3, 1, 3), (3, 2, 2), (3, 4, 0), (2, 2, 2)])
def test_the_newest_preemptible_servers_go_as_far_as_needed(scene: Scene, there: int, wanted: int, stay: int) -> None:
    before = fill(scene, there)
    INSTANCES.driver.converge(scene.cloud, slots(wanted), ACTIVE)
    assert names_on(scene) == before[:stay]
    assert boots(scene, wanted + 1) == ["ACTIVE"] * wanted + ["ERROR"]


@pytest.mark.parametrize(
    ("strategy", "stay"), [("fewest_servers", ["small-0", "small-1"]), ("newest_first", ["large"])], ids=str
)
def test_the_operators_choose_which_servers_go(scene: Scene, strategy: str, stay: list[str]) -> None:
    """The slot needs the room of the large server, or of several small ones, which are newer."""
    for name, flavor in (("large", "m1.large"), ("small-0", "m1.medium"), ("small-1", "m1.medium")):
        scene.clock.advance(seconds=1)
        scene.cloud.servers.boot(name, "alt", flavor, preemptible=True)
    wanted = slots(3, settings=CloudSettings(displacement_strategy=strategy))
    INSTANCES.driver.converge(scene.cloud, wanted, ACTIVE)
    assert names_on(scene) == stay


def test_the_room_that_other_slots_have_not_used_yet_is_theirs(scene: Scene) -> None:
    INSTANCES.driver.converge(scene.cloud, slots(2), ACTIVE)
    scene.cloud.aggregates.remove_host(OURS, HOST)
    fill(scene, 2)
    scene.cloud.aggregates.add_host(OURS, HOST)
    other = str(OURS).replace("1", "2")
    mine = slots(1)
    mine = replace(mine, reservation=replace(mine.reservation, id=other))
    INSTANCES.driver.converge(scene.cloud, mine, ACTIVE)
    assert names_on(scene) == ["p-0"]
    assert boots(scene, 2) == ["ACTIVE"] * 2


def test_a_start_waits_for_its_room_and_ends_no_more_than_it_needs(scene: Scene) -> None:
    fill(scene, 3)
    scene.cloud.servers.take_to("delete", 30)
    for _ in range(2):
        with pytest.raises(CloudTransientError, match="1 preemptible servers are still being removed"):
            INSTANCES.driver.converge(scene.cloud, slots(2), ACTIVE)
        assert [each.status for each in scene.cloud.servers.on_host(HOST)] == ["ACTIVE", "ACTIVE", "DELETING"]
    scene.clock.advance(seconds=30)
    INSTANCES.driver.converge(scene.cloud, slots(2), ACTIVE)
    assert names_on(scene) == ["p-0", "p-1"]


def test_no_preemptible_server_comes_to_a_host_with_slots(scene: Scene) -> None:
    INSTANCES.driver.converge(scene.cloud, slots(1), ACTIVE)
    for project in ("alt", PROJECT):
        assert scene.cloud.servers.boot("p", project, "m1.small", preemptible=True).status == "ERROR"


@pytest.mark.parametrize("error", ["before", "after"])
def test_an_attempt_that_breaks_off_anywhere_is_completed_by_the_next(scene_engine: Engine, error: str) -> None:
    hits = 0
    # A listing that fails delays nothing, so that not each of these calls breaks the attempt off.
    for call in range(1, 20):
        scene = one_free_host(scene_engine)
        fill(scene, 3)
        hits += scene.interrupted(INSTANCES, slots(2), ACTIVE, call, error)
        INSTANCES.driver.converge(scene.cloud, slots(2), ACTIVE)
        assert names_on(scene) == ["p-0", "p-1"]
    assert 10 < hits < 19


def test_running_slots_and_clouds_without_preemptible_servers_ask_for_nothing(scene: Scene) -> None:
    INSTANCES.driver.converge(scene.cloud, slots(1), ACTIVE)
    scene.cloud.faults.set(Fault("servers.on_hosts", error="before"))
    running = slots(1)
    running = replace(running, reservation=replace(running.reservation, status=ReservationStatus.ACTIVE))
    INSTANCES.driver.converge(scene.cloud, running, ACTIVE)
    INSTANCES.driver.converge(scene.cloud, slots(1, settings=CloudSettings(expect_preemptibles=False)), ACTIVE)


def test_a_dry_run_says_which_servers_would_go(scene: Scene) -> None:
    fill(scene, 3)
    changes = Observation(scene.cloud).changes(lambda cloud: INSTANCES.driver.converge(cloud, slots(2), ACTIVE))
    assert [each.hurts for each in changes if each.verb == "servers.delete"] == [False]
    assert len(names_on(scene)) == 3


@pytest.mark.parametrize(
    ("inventory", "capacity"),
    [
        (Inventory(8, reserved=1, allocation_ratio=1.5), 10),
        (Inventory(8, allocation_ratio=3.4e38), LARGEST),
        (Inventory(8, allocation_ratio=math.inf), LARGEST),
        (Inventory(8, reserved=8, allocation_ratio=math.inf), 0),
        (Inventory(8, reserved=9, allocation_ratio=math.inf), -LARGEST),
        (Inventory(8, allocation_ratio=math.nan), 0),
    ],
)
def test_any_ratio_of_placement_makes_a_capacity_that_can_be_kept(inventory: Inventory, capacity: int) -> None:
    assert inventory.capacity == capacity
