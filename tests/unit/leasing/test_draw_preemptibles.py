"""Preemptible servers stay on a host that is drawn into the reservation pool, until a lease starts (decision 0064)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from leasehold.cloud.sandbox.boots import BootOrder
from leasehold.cloud.sandbox.tables import servers
from leasehold.features.preemption.options import PreemptionSettings
from leasehold.features.preemption.use import warn_preemptibles
from leasehold.model.errors import NotEnoughError
from leasehold.model.resource import HOST
from leasehold.model.terms.lease_type import LeaseType
from tests.boots import begin_boot, claim_boot, land_boot
from tests.factory import at_call, dies_at, hosts, instances, make_service, run_for, run_manager, run_until, work_once
from tests.features.preemption.test_use import events
from tests.unit.leasing.test_membership import SHARED, check_settled, guests

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.cloud.ports import Server
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

TARGET = "cmp-05"
"""A host of nobody's, which has room for what has to move."""
IS_SHARED = f'["==", "$hypervisor_hostname", "{SHARED}"]'
ONLY_SHARED = hosts(1, resource_properties=IS_SHARED)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Yield a service with a host in the reservation pool, and a shared one with two preemptible servers and another.

    The preemptible ones came while the host was in the reservation pool.
    """
    with make_service(tmp_path, hosts=(SHARED,)) as plain:
        made = plain.with_preemptibles()
        run_manager(made)
        for number in range(2):
            assert boot(made, f"spot-{number}", preemptible=True).service_host == SHARED
        made.move(SHARED, "shared")
        run_manager(made)
        assert boot(made, "theirs").service_host == SHARED
        made.enrol("cmp-01")
        run_manager(made)
        yield made


def boot(world: World, name: str, *, preemptible: bool = False) -> Server:
    return world.cloud.servers.boot(name, "alt", "m1.small", preemptible=preemptible)


def names(world: World, host: str = SHARED) -> list[str]:
    return sorted(each.name for each in guests(world, host))


def one(world: World, name: str) -> Server:
    """Return the server of this name on the shared host."""
    (found,) = (each for each in guests(world) if each.name == name)
    return found


def effort(world: World, number: int, **more: Any) -> Lease:
    return world.lease(hosts(number), type=LeaseType.BEST_EFFORT, **{"end": 4, **more})


# ------------------------------------------------------------ drawing


def test_a_draw_moves_the_others_and_a_lease_ends_those_that_stay(world: World) -> None:
    world.cloud.servers.take_to("migrate", 60)
    before = world.servers()
    world.move(SHARED, "reservation")
    run_for(world, seconds=30)
    assert {each.name: each.status for each in guests(world)} == {
        "spot-0": "ACTIVE",
        "spot-1": "ACTIVE",
        "theirs": "MIGRATING",
    }
    assert world.host(SHARED).membership == "drawing"
    run_for(world, seconds=60)
    assert (names(world), world.servers()) == (["spot-0", "spot-1"], before)
    check_settled(world, "cmp-01", SHARED)
    lease = world.active(hosts(2), start=1 / 20)
    run_for(world, minutes=5)
    assert (world.status(lease), names(world)) == ("ACTIVE", [])
    assert [each.name for each in world.cloud.servers.all()] == ["theirs"]


def test_it_is_given_back_and_drawn_again_with_them(world: World) -> None:
    for _ in range(2):
        world.move(SHARED, "reservation")
        run_for(world, seconds=30)
        check_settled(world, "cmp-01", SHARED)
        world.move(SHARED, "shared")
        run_for(world, seconds=30)
        check_settled(world, "cmp-01")
        assert names(world) == ["spot-0", "spot-1"]


@pytest.mark.parametrize("status", ["SHUTOFF", "ERROR", "DELETING"])
def test_a_preemptible_server_in_any_state_is_in_no_draws_way(world: World, status: str) -> None:
    spot = one(world, "spot-0")
    world.execute(update(servers).where(servers.c.id == spot.id).values(status=status))
    world.move(SHARED, "reservation")
    run_for(world, seconds=30)
    assert spot.id in {each.id for each in guests(world)}
    check_settled(world, "cmp-01", SHARED)


def test_slots_of_a_drawn_host_get_their_room_from_them(world: World) -> None:
    world.move(SHARED, "reservation")
    run_for(world, seconds=30)
    size = world.cloud.providers.inventories(SHARED)["MEMORY_MB"].capacity - 2048
    lease = world.active(instances(1, memory_mb=size, resource_properties=IS_SHARED), start=1 / 60)
    run_for(world, minutes=5)
    assert (world.status(lease), len(names(world))) == ("ACTIVE", 1)
    assert world.boot(lease).service_host == SHARED


def test_without_preemptible_servers_all_are_moved(world: World) -> None:
    """The option is off: so they are servers like any other, for Nova's filter too."""
    with_filter = world.with_settings(cloud=replace(world.service.settings.cloud, expect_preemptibles=False))
    assert guests(with_filter)
    with_filter.move(SHARED, "reservation")
    run_for(with_filter, seconds=30)
    assert names(with_filter) == []
    check_settled(with_filter, "cmp-01", SHARED)
    assert len(with_filter.servers()) == 3


def test_who_cannot_be_moved_is_named_without_those_that_stay(world: World) -> None:
    world.cloud.servers.take_to("migrate", 7200)
    world.move(SHARED, "reservation")
    run_for(world, minutes=32)
    assert world.host(SHARED).membership_reason == "It was not empty after 1800 seconds: It still has 1 server."
    run_for(world, hours=3)
    check_settled(world, "cmp-01")
    assert names(world) == ["spot-0", "spot-1"]


# ------------------------------------------------------------ boots on their way


def order(name: str) -> BootOrder:
    return BootOrder(name, "alt", "m1.small", (), preemptible=False)


def test_a_boot_on_its_way_keeps_the_host_from_being_drawn(world: World) -> None:
    """Nobody knows yet whether it is preemptible: it is waited for, and then moved, because it is not."""
    early, late = (begin_boot(world.cloud.servers, order(name)) for name in ("early", "late"))
    assert {early.server.service_host, late.server.service_host} == {SHARED}
    early = claim_boot(world.cloud.servers, early)
    world.move(SHARED, "reservation")
    run_for(world, seconds=30)
    assert (world.host(SHARED).membership, names(world)) == ("drawing", ["spot-0", "spot-1"])
    assert claim_boot(world.cloud.servers, late).server.status == "ERROR"
    land_boot(world.cloud.servers, early)
    run_for(world, seconds=30)
    assert names(world) == ["spot-0", "spot-1"]
    check_settled(world, "cmp-01", SHARED)


CALLS = 9
"""Disable, claim, list, claim again, provider, release, aggregate, add, enable."""


UNTIL_THE_LAST_CLAIM = 4


@pytest.mark.parametrize("number", range(1, UNTIL_THE_LAST_CLAIM + 1))
def test_who_takes_the_room_of_one_that_stayed_is_seen(world: World, number: int) -> None:
    """A preemptible server is deleted at a call of the draw, and a boot that had passed the scheduler takes its room.

    After the last claim it would be as after the draw: nobody looks any more, and a start waits for the server.
    """
    servers, claimed = world.cloud.servers, []
    late = begin_boot(servers, order("late"))
    ready(world)

    def meanwhile() -> None:
        servers.delete(one(world, "spot-0").id)
        claimed.append(claim_boot(servers, late))

    at_call(world, number, lambda: work_once(world), meanwhile)
    assert world.host(SHARED).membership == "drawing"
    land_boot(servers, claimed[0])
    assert "late" in names(world)
    run_for(world, seconds=30)
    assert names(world) == ["spot-1"]
    check_settled(world, "cmp-01", SHARED)


# ------------------------------------------------------------ what breaks off


def ready(world: World) -> None:
    """Let the host have preemptible servers only, and ask for it."""
    world.cloud.servers.delete(one(world, "theirs").id)
    world.move(SHARED, "reservation")


@pytest.mark.parametrize("number", range(1, CALLS + 1))
def test_another_manager_goes_on_after_one_that_died_at_any_call(world: World, number: int) -> None:
    ready(world)

    assert dies_at(world, number, lambda: work_once(world))
    with pytest.raises(NotEnoughError):
        world.lease(hosts(2), start=1, end=2)
    run_for(world, minutes=1)
    assert names(world) == ["spot-0", "spot-1"]
    check_settled(world, "cmp-01", SHARED)


@pytest.mark.parametrize("number", range(1, CALLS + 1))
def test_a_call_that_takes_effect_late_is_undone(world: World, number: int) -> None:
    """A manager is suspended in a call until its claim has expired; meanwhile another one has done everything."""
    ready(world)
    assert at_call(world, number, lambda: work_once(world), lambda: run_for(world, minutes=1)) >= number
    run_for(world, minutes=1)
    assert names(world) == ["spot-0", "spot-1"]
    check_settled(world, "cmp-01", SHARED)


@pytest.mark.parametrize("number", range(1, CALLS + 1))
def test_a_draw_survives_a_cloud_that_goes_away_at_any_call(world: World, number: int) -> None:
    """Each call from this one on fails, until the next run of the task."""
    world.move(SHARED, "reservation")
    before = world.servers()
    at_call(world, number, lambda: work_once(world), world.break_down)
    run_for(world, minutes=3)
    assert (names(world), world.servers()) == (["spot-0", "spot-1"], before)
    check_settled(world, "cmp-01", SHARED)


def test_the_calls_are_counted(world: World) -> None:
    """So that the tests above try each of them."""
    ready(world)
    assert at_call(world, 0, lambda: work_once(world), lambda: None) == CALLS


# ------------------------------------------------------------ best effort


def test_best_effort_needs_room_for_those_that_move_alone(world: World) -> None:
    """No other host is shared, so nobody would have room for those that stay."""
    with pytest.raises(NotEnoughError) as refused:
        effort(world, 2)
    assert refused.value.message.endswith("because their servers do not fit on the others.")
    world.cloud.servers.delete(one(world, "theirs").id)
    lease = effort(world, 2)
    assert lease.status == "IN_PROGRESS"
    run_for(world, seconds=30)
    assert (world.status(lease), world.holds(lease)) == ("ACTIVE", {"cmp-01": 1, SHARED: 1})
    assert names(world) == []


@pytest.mark.parametrize("status", ["SHUTOFF", "ERROR"])
def test_best_effort_draws_a_host_whose_preemptible_server_could_not_be_moved(world: World, status: str) -> None:
    world.share(TARGET)
    run_manager(world)
    world.execute(update(servers).where(servers.c.id == one(world, "spot-0").id).values(status=status))
    lease = world.lease(ONLY_SHARED, type=LeaseType.BEST_EFFORT)
    run_for(world, seconds=30)
    assert (world.status(lease), world.holds(lease)) == ("ACTIVE", {SHARED: 1})
    assert (names(world), [each.name for each in world.cloud.servers.all()]) == ([], ["theirs"])


def test_the_deadline_is_that_of_the_grant_and_not_of_the_start_that_ends_servers(world: World) -> None:
    ready(world)
    world.move(SHARED, "shared")
    run_manager(world)
    world.cloud.servers.take_to("delete", 480)
    lease = effort(world, 2, deadline=world.hour(1 / 30))
    run_for(world, minutes=3)
    assert (world.status(lease), {each.status for each in guests(world)}) == ("STARTING", {"DELETING"})
    run_for(world, minutes=7)
    assert (world.status(lease), names(world)) == ("ACTIVE", [])


def test_servers_on_a_host_that_was_drawn_are_told_and_ended_before_a_later_start(world: World) -> None:
    features = {PreemptionSettings: PreemptionSettings(timedelta(minutes=10))}
    leases = replace(world.service.settings.leases, lead_time_by_type={HOST: timedelta(minutes=10)})
    world = world.with_settings(features=features, leases=leases).with_preemptibles()
    world.share(TARGET)
    run_manager(world)
    world.cloud.servers.take_to("delete", 480)
    lease = world.lease(ONLY_SHARED, type=LeaseType.BEST_EFFORT, start=2, end=3)
    run_for(world, seconds=30)
    assert (world.status(lease), names(world)) == ("PENDING", ["spot-0", "spot-1"])
    for minutes, told, states in ((21, 0, {"ACTIVE"}), (19, 2, {"ACTIVE"}), (10, 2, {"DELETING"})):
        run_until(world, world.hour(2) - timedelta(minutes=minutes))
        warn_preemptibles(world.service)
        assert (len(events(world)), {each.status for each in guests(world)}) == (told, states)
    assert {each.payload["ends_at"] for each in events(world)} == {world.hour(11 / 6).isoformat()}
    run_until(world, world.hour(2))
    assert (world.status(lease), names(world)) == ("ACTIVE", [])


CALLS_OF_A_LEASE = 28
"""How many calls to the cloud it takes from the request to the active lease."""


@pytest.mark.parametrize("number", range(1, CALLS_OF_A_LEASE + 1))
def test_a_best_effort_lease_survives_managers_that_die_at_any_call(world: World, number: int) -> None:
    ready(world)
    world.move(SHARED, "shared")
    run_manager(world)
    lease = effort(world, 2)

    assert dies_at(world, number, lambda: run_for(world, minutes=1))
    run_for(world, minutes=5)
    assert (world.status(lease), world.holds(lease)) == ("ACTIVE", {"cmp-01": 1, SHARED: 1})
    assert names(world) == []


def test_the_calls_of_a_lease_are_counted(world: World) -> None:
    """So that the test above tries each of them."""
    ready(world)
    world.move(SHARED, "shared")
    run_manager(world)
    effort(world, 2)
    assert at_call(world, 0, lambda: run_for(world, minutes=1), lambda: None) == CALLS_OF_A_LEASE
