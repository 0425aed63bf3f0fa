"""Which servers the soak reports as having outlived their lease or vanished before its end, and which not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.factory import hosts, make_service, run_for, run_manager
from tests.soak.leftovers import left_over, lost

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.factory import World

FLAVOR = "m1.small"
PROJECT = "demo"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, hosts=["cmp-01"]) as made:
        yield made


def left(world: World) -> list[str]:
    return left_over(world.engine.url.render_as_string(hide_password=False), world.now)


def test_a_server_whose_slow_removal_has_come_to_its_end_is_not_left(world: World) -> None:
    lease = world.lease(hosts(), end=1)
    run_manager(world)
    part = lease.reservations[0].id
    assert world.cloud.servers.boot(part, PROJECT, FLAVOR, [part]).service_host == "cmp-01"
    world.cloud.servers.take_to_delete(4)
    run_for(world, hours=1)
    assert world.get(lease).status == "TERMINATING"
    run_for(world, minutes=1)
    assert world.get(lease).status == "TERMINATED"
    assert left(world) == []


@pytest.mark.parametrize("deleted", [False, True])
def test_a_server_that_runs_when_its_lease_is_over_is_left(world: World, *, deleted: bool) -> None:
    lease = world.lease(hosts(), end=1)
    run_for(world, hours=1)
    server = world.cloud.servers.boot(lease.reservations[0].id, PROJECT, FLAVOR)
    assert server.service_host is not None
    if deleted:
        world.cloud.servers.take_to_delete(4)
        world.cloud.servers.delete(server.id)
        world.delete(lease)
    [found] = left(world)
    assert server.id in found
    assert lease.id in found


def test_a_server_that_is_gone_before_its_lease_is_lost(world: World) -> None:
    lease = world.lease(hosts(), end=1)
    run_manager(world)
    part = lease.reservations[0].id
    server = world.cloud.servers.boot(part, PROJECT, FLAVOR, [part])
    url = world.engine.url.render_as_string(hide_password=False)
    assert lost(url, {server.id: part}, world.now) == []
    world.cloud.servers.delete(server.id)
    [found] = lost(url, {server.id: part}, world.now)
    assert server.id in found
    assert lease.id in found
    run_for(world, hours=1)
    assert lost(url, {server.id: part}, world.now) == []
