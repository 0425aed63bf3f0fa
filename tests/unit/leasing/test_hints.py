"""How servers get into a lease: by a reservation's id, by its flavor, and by the lease's id where that is clear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.resource_types.driver import LEASE_KEY
from tests.factory import flavors, hosts, instances, run_manager

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World


def boots(world: World, lease: Lease, *hints: str, flavor: str = "m1.small", project: str | None = None) -> bool:
    """Say whether a boot with these hints runs, and then on a host of the lease."""
    server = world.cloud.servers.boot("server", project or lease.project_id, flavor, hints)
    if server.service_host is None:
        return False
    assert any(server.service_host in world.members(part.id) for part in lease.reservations)
    world.cloud.servers.delete(server.id)
    return True


def test_a_lease_is_a_hint_where_it_has_one_reservation(world: World) -> None:
    one, two = world.active(hosts()), world.active(hosts(), hosts())
    (part,) = one.reservations
    assert boots(world, one, one.id)
    assert boots(world, one, part.id)
    assert not boots(world, one, one.id, project="alt")
    assert not boots(world, two, two.id)
    assert boots(world, two, two.reservations[1].id)
    # It is a hint for as long as it is there, also for a server that moves.
    server = world.cloud.servers.boot("moves", one.project_id, "m1.small", [one.id])
    with pytest.raises(Exception, match="cannot move: No valid host was found"):
        world.cloud.servers.migrate(server.id)
    assert world.cloud.servers.find(server.id)[0].service_host == server.service_host


@pytest.mark.parametrize("asked", [instances(2), flavors(2)])
def test_a_hint_beside_its_own_flavor_does_no_harm(world: World, asked: dict[str, str]) -> None:
    lease, other = world.active(asked), world.active(hosts())
    flavor = lease.reservations[0].id
    for hints in ((), (flavor,), (lease.id,), (flavor, lease.id)):
        assert boots(world, lease, *hints, flavor=flavor)
    assert not boots(world, lease, other.id, flavor=flavor)
    assert not boots(world, lease, flavor)


def test_an_aggregate_that_was_there_before_stays_as_it_is(world: World) -> None:
    """Blazar's, and those of leases that an older version has started, are not touched for this."""
    lease = world.active(hosts())
    made = world.cloud.aggregates.get(lease.reservations[0].id)
    assert made is not None
    assert made.metadata[LEASE_KEY] == lease.id
    world.cloud.aggregates.ensure(made.name, made.zone, {LEASE_KEY: None})
    world.amend(lease, {"max": "2", "min": "2"})
    run_manager(world)
    again = world.cloud.aggregates.get(made.name)
    assert again is not None
    assert (LEASE_KEY in again.metadata, len(again.hosts)) == (False, 2)
