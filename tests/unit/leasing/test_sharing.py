"""Feature I7: the project of a lease lets others use what it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.ports import CloudPermanentError
from leasehold.model.errors import InUseError
from tests.factory import flavors, hosts, instances, make_service, run_for
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

KINDS = pytest.mark.parametrize(
    "asked",
    [hosts(1), hosts(1, on_end="give_back"), instances(2), flavors(2)],
    ids=["hosts", "hosts that stay", "instances", "flavors"],
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, hosts=("cmp-01", "cmp-02")) as made:
        yield made


def boots(world: World, lease: Lease, project: str = "alt") -> str | None:
    """Boot a server of a project in the lease; return the id of one that runs there, None for one that is refused."""
    part = lease.reservations[0]
    flavor, hint = ("m1.small", [part.id]) if part.resource_type == "physical:host" else (part.id, [])
    try:
        server = world.cloud.servers.boot("theirs", project, flavor, hint)
    except CloudPermanentError:
        return None
    if server.service_host is None:
        world.cloud.servers.delete(server.id)
        return None
    return server.id


def share(world: World, lease: Lease, *projects: str) -> Lease:
    after = world.amend(lease, shared_with=projects)
    run_for(world, seconds=1)
    return after


def checked(world: World) -> None:
    audit(world)
    audit_cloud(world)


@KINDS
def test_another_project_uses_it_until_it_may_no_longer(world: World, asked: dict[str, Any]) -> None:
    lease = world.active(asked, end=2)
    assert boots(world, lease) is None
    assert share(world, lease, "alt", "third").shared_with == ["alt", "third"]
    checked(world)
    theirs, own = boots(world, lease), world.boot(lease).id
    assert theirs is not None
    assert boots(world, lease, "fourth") is None
    share(world, lease, "third")
    assert boots(world, lease) is None
    # What runs there stays until it is deleted, or the lease ends.
    run_for(world, minutes=5)
    assert world.servers() == {theirs, own}
    assert share(world, lease).shared_with == []
    checked(world)


@pytest.mark.parametrize("asked", [hosts(1), instances(2), flavors(2)], ids=["hosts", "instances", "flavors"])
def test_the_end_is_the_end_for_all(world: World, asked: dict[str, Any]) -> None:
    lease = world.lease(asked, start=1, end=2)
    share(world, lease, "alt")
    run_for(world, minutes=61)
    assert boots(world, lease) is not None
    run_for(world, hours=1)
    assert (world.status(lease), world.servers()) == ("TERMINATED", set())
    checked(world)


@pytest.mark.parametrize("asked", [hosts(1), instances(3)], ids=["hosts", "instances"])
def test_while_servers_live_on_nobody_adds_one(world: World, asked: dict[str, Any]) -> None:
    lease = world.active({**asked, "on_end": "recycle", "recycle_seconds": 7200}, end=1)
    share(world, lease, "alt")
    theirs = boots(world, lease)
    run_for(world, minutes=61)
    assert world.servers() == {theirs}
    assert boots(world, lease) is None
    run_for(world, hours=3)
    assert world.servers() == set()
    checked(world)


def test_the_servers_of_others_keep_a_host_in_use(world: World) -> None:
    lease = world.active(hosts(2), end=2)
    share(world, lease, "alt")
    theirs = [boots(world, lease) for _ in range(2)]
    assert None not in theirs
    while {each.service_host for each in world.cloud.servers.all()} != {"cmp-01", "cmp-02"}:
        boots(world, lease)
    with pytest.raises(InUseError) as caught:
        world.amend(lease, {"min": 1, "max": 1}, shrinks=True)
    assert (caught.value.details, "servers of other projects" in caught.value.message) == ({"servers": []}, True)


def test_nothing_but_the_sharing_changes(world: World) -> None:
    lease = world.active(hosts(1), end=2)
    held = world.holds(lease)
    generation = share(world, lease, "alt").generation
    assert share(world, lease, "alt").generation == generation
    assert world.amend(lease, end=3).shared_with == ["alt"]
    assert (world.holds(lease), world.told(lease)[-1]) == (held, ("lease.update", "ACTIVE"))
