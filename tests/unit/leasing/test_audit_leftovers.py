"""The audit finds and removes leftovers of ended leases in the cloud; foreign and unknown objects stay."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import Inventory
from leasehold.manager.reconciler import reconcile
from leasehold.resource_types.slots.names import FLAVOR_KEY, RESERVATION_KEY, child_provider, resource_class
from tests.factory import NETWORK, hosts, run_manager, run_until
from tests.stateful.audit import cloud_state
from tests.unit.leasing.looking import AT_ONCE, findings, lease_of_everything, mend

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.lease import Lease
    from tests.factory import World


STRANGER = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def lease(world: World) -> Lease:
    return lease_of_everything(world)


def leave_an_aggregate(world: World, ident: str) -> None:
    world.cloud.aggregates.ensure(ident, f"blazar_{ident}", {"blazar:owner": "demo"})


def leave_an_aggregate_of_slots(world: World, ident: str) -> None:
    world.cloud.aggregates.ensure(ident, None, {RESERVATION_KEY: ident, "blazar:owner": "demo"})
    world.cloud.aggregates.add_host(ident, "cmp-06")


def leave_a_flavor(world: World, ident: str) -> None:
    source = world.cloud.flavors.get("m1.small")
    assert source is not None
    specs = {FLAVOR_KEY: ident}
    world.cloud.flavors.ensure(replace(source, id=ident, name=ident, public=False, extra_specs=specs))


def leave_a_class(world: World, ident: str) -> None:
    world.cloud.providers.ensure_class(resource_class(ident))
    world.cloud.providers.set_inventory(child_provider("cmp-06"), resource_class(ident), Inventory(1))


def leave_an_address(world: World, ident: str) -> None:
    network = world.cloud.networks.get(NETWORK)
    assert network is not None
    tags = frozenset({"blazar", f"reservation:{ident}"})
    world.cloud.networks.create_floating_ip(NETWORK, network.subnets[0].id, "203.0.113.204", "demo", tags)


LEFT = [leave_an_aggregate, leave_an_aggregate_of_slots, leave_a_flavor, leave_a_class, leave_an_address]
EACH_LEFT = pytest.mark.parametrize("leave", LEFT, ids=lambda value: value.__name__)


@EACH_LEFT
@pytest.mark.slow
def test_what_a_lease_that_is_over_left_is_removed(
    world: World, lease: Lease, leave: Callable[[World, str], None]
) -> None:
    """After the lease's end an audit with `--repair` removes it, after its deletion the periodic audit."""
    over = world.lease(hosts(1), start=2, end=3)
    run_until(world, world.hour(3.5))
    before = cloud_state(world.engine)
    leave(world, over.reservations[0].id)
    (found,) = findings(world)
    assert (found.kind, found.subject) == ("leftover", over.reservations[0].id)
    assert over.id in found.what
    (done,) = mend(world)
    assert done is not None
    assert done.startswith("Removed: ")
    assert cloud_state(world.engine) == before
    world.delete(over)
    leave(world, over.reservations[0].id)
    assert findings(world) == [], "the cleanup of the deleted lease is still due"
    run_manager(world)
    leave(world, over.reservations[0].id)
    assert reconcile(world.service, AT_ONCE) == [found]
    assert cloud_state(world.engine) == before
    assert findings(world) == []


@EACH_LEFT
def test_what_nobody_knows_is_reported_and_never_removed(
    world: World, lease: Lease, leave: Callable[[World, str], None]
) -> None:
    leave(world, STRANGER)
    before = cloud_state(world.engine)
    (found,) = findings(world)
    assert (found.kind, found.subject, found.mend) == ("leftover", STRANGER, None)
    assert mend(world) == [None]
    assert cloud_state(world.engine) == before


def test_what_is_not_ours_by_name_and_mark_is_not_looked_at(world: World, lease: Lease) -> None:
    world.cloud.aggregates.ensure("rack-1", None, {"blazar:owner": "demo"})
    world.cloud.aggregates.ensure(STRANGER, "nova", {"ssd": "true"})
    leave_a_flavor(world, "m1.other")
    world.cloud.providers.ensure_class("CUSTOM_GPU_2")
    world.cloud.providers.ensure_class("CUSTOM_RESERVATION_DESK")
    assert findings(world) == []


def test_the_hosts_of_an_aggregate_that_is_left_come_home(world: World, lease: Lease) -> None:
    over = world.lease(hosts(1), start=2, end=3)
    run_until(world, world.hour(3.5))
    before = cloud_state(world.engine)
    ident = over.reservations[0].id
    leave_an_aggregate(world, ident)
    world.cloud.aggregates.add_host(ident, "cmp-07")
    world.cloud.aggregates.remove_host("freepool", "cmp-07")
    assert [found.subject for found in findings(world)] == [ident]
    assert all(mend(world))
    assert cloud_state(world.engine) == before


def test_a_leftover_with_servers_is_left_to_a_person(world: World, lease: Lease) -> None:
    over = world.lease(hosts(1), start=2, end=3)
    run_until(world, world.hour(3.5))
    ident = over.reservations[0].id
    leave_an_aggregate(world, ident)
    world.cloud.aggregates.add_host(ident, "cmp-05")
    server = world.cloud.servers.boot("theirs", "demo", "m1.small", [ident])
    assert (server.status, server.service_host) == ("ACTIVE", "cmp-05")
    assert mend(world) == [None]
    assert [each.id for each in world.cloud.servers.all()] == [server.id]
    world.cloud.servers.delete(server.id)
    assert all(mend(world))
