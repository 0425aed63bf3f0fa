"""Which servers are reported as having outlived their lease or vanished before its end, and which not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.factory import floating_ips, hosts, make_service, run_for, run_manager
from tests.harness.cloud_checks import misplaced_servers
from tests.harness.tables import read_tables

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.factory import World

FLAVOR = "m1.small"
PROJECT = "demo"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, hosts=["cmp-01"], addresses=[200]) as made:
        yield made


def reported(world: World, **running: str) -> list[str]:
    return list(misplaced_servers(read_tables(world.engine), world.cloud.servers.all(), running))


def test_a_server_whose_slow_removal_has_come_to_its_end_is_not_left(world: World) -> None:
    lease = world.lease(hosts(), end=1)
    run_manager(world)
    part = lease.reservations[0].id
    assert world.cloud.servers.boot(part, PROJECT, FLAVOR, [part]).service_host == "cmp-01"
    world.cloud.servers.take_to("delete", 4)
    run_for(world, hours=1)
    assert world.get(lease).status == "TERMINATING"
    run_for(world, minutes=1)
    assert world.get(lease).status == "TERMINATED"
    assert reported(world) == []


@pytest.mark.parametrize("deleted", [False, True])
def test_a_server_that_runs_when_its_lease_is_over_is_left(world: World, *, deleted: bool) -> None:
    lease = world.lease(hosts(), end=1)
    run_for(world, hours=1)
    server = world.cloud.servers.boot(lease.reservations[0].id, PROJECT, FLAVOR)
    assert server.service_host is not None
    if deleted:
        world.cloud.servers.take_to("delete", 4)
        world.cloud.servers.delete(server.id)
        world.delete(lease)
    [found] = reported(world)
    assert server.id in found
    assert lease.id in found


def test_a_server_beside_a_lease_of_an_address_belongs_to_its_user_also_after_it(world: World) -> None:
    lease = world.lease(floating_ips(), end=1)
    run_manager(world)
    part = lease.reservations[0].id
    # The pool of unleased hosts is closed to ordinary servers, so it runs on a host that was never enrolled.
    server = world.cloud.servers.boot(part, PROJECT, FLAVOR)
    assert server.service_host is not None
    run_for(world, hours=1)
    assert reported(world, **{server.id: part}) == []


def test_a_server_that_is_gone_before_its_lease_is_lost(world: World) -> None:
    lease = world.lease(hosts(), end=1)
    run_manager(world)
    part = lease.reservations[0].id
    server = world.cloud.servers.boot(part, PROJECT, FLAVOR, [part])
    assert reported(world, **{server.id: part}) == []
    world.cloud.servers.delete(server.id)
    [found] = reported(world, **{server.id: part})
    assert server.id in found
    assert lease.id in found
    run_for(world, hours=1)
    assert reported(world, **{server.id: part}) == []
