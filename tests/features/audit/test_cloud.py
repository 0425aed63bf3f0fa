"""The audit of the cloud: each change by hand is found, and repaired unless only an operator can decide what is right.

A host is named by its number where it is enrolled; cmp-05 is not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest
from sqlalchemy import delete, insert, select, update

from leasehold.cloud.ports import Inventory
from leasehold.cloud.sandbox.tables import aggregate_hosts, aggregates, hypervisors, inventories, providers, traits
from leasehold.db import tables
from leasehold.features.audit.job import reconcile
from leasehold.features.audit.repair import repair
from leasehold.model.windows import to_seconds
from leasehold.resource_types.slots.names import FLAVOR_KEY, RESERVATION_KEY, child_provider, resource_class
from tests.factory import NETWORK, hosts, remove_host, run_for, run_manager
from tests.stateful.audit import cloud_state
from tests.unit.leasing.looking import AT_ONCE, Scene, findings, mend

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.factory import World

pytestmark = pytest.mark.slow

STRANGER = "00000000-0000-4000-8000-000000000000"


class Spoilt(NamedTuple):
    """A change by hand, and the finding that names it."""

    kind: str
    subject: Callable[[Scene], str]
    said: str
    by: Callable[[Scene], object]


# ---------------------------------------------------------------- what is repaired


def take_out(s: Scene, name: str) -> None:
    for host in s.world.members(name):
        s.cloud.aggregates.remove_host(name, host)


def delete_aggregate(s: Scene, name: str) -> None:
    take_out(s, name)
    s.cloud.aggregates.delete(name)


def take_a_host_out(s: Scene) -> None:
    s.cloud.aggregates.remove_host(s.hosts, s.host())


def put_a_host_back(s: Scene) -> None:
    host = s.host()
    s.cloud.aggregates.remove_host(s.hosts, host)
    s.cloud.aggregates.add_host("freepool", host)


def name_another_owner(s: Scene) -> None:
    s.cloud.aggregates.ensure(s.hosts, s.cloud.aggregates.get(s.hosts).zone, {"blazar:owner": "alt"})


def delete_an_address(s: Scene) -> None:
    for address in s.cloud.networks.list_floating_ips(f"reservation:{s.lease.reservations[3].id}"):
        s.cloud.networks.delete_floating_ip(address.id)


def set_inventory(s: Scene, inventory: Inventory) -> None:
    s.cloud.providers.set_inventory(s.provider(), resource_class(s.slots), inventory)


def claim_a_host(scene: Scene) -> None:
    """Leave a claim, as a work that breaks off does."""
    scene.cloud.providers.claim_rest("cmp-07")


def leave_a_host(s: Scene) -> None:
    s.cloud.aggregates.remove_host("freepool", "cmp-07")
    s.cloud.providers.delete(child_provider("cmp-07"))


def leave_aggregate(s: Scene, ident: str) -> None:
    s.cloud.aggregates.ensure(ident, f"blazar_{ident}", {"blazar:owner": "demo"})


def leave_aggregate_with_host(s: Scene, ident: str) -> None:
    host = s.free()
    leave_aggregate(s, ident)
    s.cloud.aggregates.add_host(ident, host)
    s.cloud.aggregates.remove_host("freepool", host)


def leave_slots(s: Scene, ident: str) -> None:
    s.cloud.aggregates.ensure(ident, None, {RESERVATION_KEY: ident, "blazar:owner": "demo"})
    s.cloud.aggregates.add_host(ident, "cmp-06")


def leave_flavor(s: Scene, ident: str) -> None:
    specs = {FLAVOR_KEY: ident}
    source = s.cloud.flavors.get("m1.small")
    s.cloud.flavors.ensure(replace(source, id=ident, name=ident, public=False, extra_specs=specs))


def leave_class(s: Scene, ident: str) -> None:
    s.cloud.providers.ensure_class(resource_class(ident))
    s.cloud.providers.set_inventory(child_provider("cmp-06"), resource_class(ident), Inventory(1))


def leave_address(s: Scene, ident: str) -> None:
    subnet = s.cloud.networks.get(NETWORK).subnets[0].id
    tags = frozenset({"blazar", f"reservation:{ident}"})
    s.cloud.networks.create_floating_ip(NETWORK, subnet, "203.0.113.204", "demo", tags)


LEFT = [leave_aggregate, leave_slots, leave_flavor, leave_class, leave_address]
DRIFT: dict[str, tuple[str, Callable[[Scene], object]]] = {
    "host taken out": ("is not in aggregate", take_a_host_out),
    "host put back": ("is in aggregate freepool", put_a_host_back),
    "host in two": ("is in aggregate freepool", lambda s: s.cloud.aggregates.add_host("freepool", s.host())),
    "no aggregate of hosts": ("does not exist", lambda s: delete_aggregate(s, s.hosts)),
    "no aggregate of slots": ("does not exist", lambda s: delete_aggregate(s, s.slots)),
    "another owner": ("lacks the metadata blazar:owner=demo", name_another_owner),
    "another zone": ("is in zone nova and not in", lambda s: s.cloud.aggregates.ensure(s.hosts, "nova", {})),
    "no flavor": ("does not exist; project demo may not use", lambda s: s.cloud.flavors.delete(s.slots)),
    "flavor of another size": (
        "is not as the reservation needs it",
        lambda s: s.cloud.flavors.ensure(replace(s.flavor(), vcpus=2)),
    ),
    "flavor for every host": (
        "is not as the reservation needs it",
        lambda s: s.cloud.flavors.ensure(replace(s.flavor(), extra_specs={})),
    ),
    "flavor of nobody": ("project demo may not use", lambda s: s.cloud.flavors.revoke(s.slots, "demo")),
    "no inventory": (
        "has no inventory of",
        lambda s: s.cloud.providers.remove_inventory(s.provider(), resource_class(s.slots)),
    ),
    "larger inventory": (
        "has another inventory (99 instead of",
        lambda s: set_inventory(s, Inventory(99, max_unit=1)),
    ),
    "no provider": ("does not exist", lambda s: s.cloud.providers.delete(s.provider())),
    "slots taken off": ("is not in aggregate", lambda s: take_out(s, s.slots)),
    "no address": ("is not in the lease's project", delete_an_address),
}
REPAIRED = {
    **{name: Spoilt("drift", lambda s: s.lease.id, *row) for name, row in DRIFT.items()},
    "flavor of a lease to come": Spoilt(
        "drift", lambda s: s.coming.id, "does not exist", lambda s: s.cloud.flavors.delete(s.coming.reservations[1].id)
    ),
    "aggregate of a lease to come": Spoilt(
        "drift", lambda s: s.coming.id, "does not exist", lambda s: delete_aggregate(s, s.coming.reservations[0].id)
    ),
    **{
        each.__name__: Spoilt("leftover", lambda s: s.left, "is over", lambda s, leave=each: leave(s, s.left))  # type: ignore[misc]
        for each in [*LEFT, leave_aggregate_with_host]
    },
    "host that is claimed": Spoilt("place", lambda _: "7", "is still claimed at Placement", claim_a_host),
    "host in no place": Spoilt("place", lambda _: "7", "is in no aggregate of ours", leave_a_host),
}


def each_of(table: dict[str, Spoilt]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("spoilt", table.values(), ids=table.keys())


@each_of(REPAIRED)
def test_what_is_changed_by_hand_is_found_and_repaired(scene: Scene, spoilt: Spoilt) -> None:
    """An audit with `--repair` repairs the change the first time, the periodic audit the second time."""
    world = scene.world
    before = cloud_state(world.engine)
    for repaired in (lambda: all(mend(world)), lambda: reconcile(world.service, AT_ONCE)):
        spoilt.by(scene)
        changed = cloud_state(world.engine)
        assert changed != before
        found = [each for each in findings(world) if each.kind == spoilt.kind]
        assert [each.subject for each in found] == [spoilt.subject(scene)]
        assert spoilt.said in found[0].what
        assert cloud_state(world.engine) == changed, "the audit changed the cloud"
        assert repaired()
        run_manager(world)
        assert cloud_state(world.engine) == before
        assert findings(world) == []


def test_the_free_pool_itself_is_made_again(scene: Scene) -> None:
    free = scene.world.members("freepool")
    delete_aggregate(scene, "freepool")
    assert {found.subject for found, _ in reconcile(scene.world.service, AT_ONCE)} == {"6", "7", "12"}
    run_manager(scene.world)
    assert scene.world.members("freepool") == free


def test_a_removed_host_that_is_still_in_ours_goes(world: World) -> None:
    remove_host(world.service, "1")
    run_manager(world)
    world.cloud.aggregates.add_host("freepool", "cmp-01")
    world.cloud.providers.ensure_child("cmp-01", child_provider("cmp-01"))
    assert [found.subject for found in findings(world)] == ["1", "1"]
    reconcile(world.service, AT_ONCE)
    run_manager(world)
    assert "cmp-01" not in world.members("freepool")
    assert findings(world) == []


def test_what_a_deleted_lease_left_is_removed_once_its_cleanup_is_done(scene: Scene) -> None:
    world = scene.world
    world.delete(scene.over)
    leave_class(scene, scene.left)
    assert findings(world) == []
    run_manager(world)
    leave_class(scene, scene.left)
    (found,) = findings(world)
    assert f"of lease {scene.over.id} is over" in found.what
    assert str(repair(world.service, found)).startswith("Removed: ")
    assert findings(world) == []


def test_a_repair_is_in_the_history(scene: Scene) -> None:
    take_a_host_out(scene)
    mend(scene.world)
    with scene.world.service.db.reading() as connection:
        last = connection.execute(select(tables.outbox).order_by(tables.outbox.c.id.desc())).first()
    assert last is not None
    assert (last.event_type, last.lease_id) == ("lease.repair", scene.lease.id)


# ---------------------------------------------------------------- what is left to an operator


def put_in_with_servers(s: Scene) -> None:
    """Nova refuses a host whose servers would change zone; writing to the database bypasses this check."""
    server = s.cloud.servers.boot("theirs", "alt", "m1.small")
    number = select(aggregates.c.id).where(aggregates.c.name == s.hosts).scalar_subquery()
    s.world.execute(insert(aggregate_hosts).values(aggregate_id=number, service_host=server.service_host))


def end_allocations_under_a_server(s: Scene) -> None:
    s.world.boot(s.lease)
    mine = tables.allocations.c.reservation_id == s.hosts
    s.world.execute(update(tables.allocations).where(mine).values(ends_at=to_seconds(s.world.now())))


def lose_a_provider(s: Scene) -> None:
    child = s.provider()
    s.cloud.providers.delete(child)
    root = select(providers.c.id).where(providers.c.name == child.removeprefix("blazar_")).scalar_subquery()
    for table in (inventories, traits):
        s.world.execute(delete(table).where(table.c.provider_id == root))
    s.world.execute(delete(providers).where(providers.c.name == child.removeprefix("blazar_")))


def put_a_host_into_another_reservation(s: Scene) -> None:
    # Nova lets a host be in one zone only, and such a reservation has none.
    other = s.world.active(hosts(1, on_end="give_back"), start=2.5, end=3).reservations[0].id
    s.cloud.aggregates.add_host(other, s.host())


def lose_a_hypervisor(s: Scene) -> None:
    s.cloud.aggregates.remove_host("freepool", "cmp-07")
    s.world.execute(delete(hypervisors).where(hypervisors.c.hypervisor_hostname == "cmp-07"))


def leave_aggregate_with_server(s: Scene) -> None:
    leave_aggregate(s, s.left)
    s.cloud.aggregates.add_host(s.left, "cmp-05")
    assert s.cloud.servers.boot("theirs", "demo", "m1.small", [s.left]).service_host == "cmp-05"


FOR_A_PERSON = {
    **{
        each.__name__: Spoilt(
            "leftover",
            lambda _: STRANGER,
            "is not in the database",
            lambda s, leave=each: leave(s, STRANGER),  # type: ignore[misc]
        )
        for each in LEFT
    },
    "leftover with a server": Spoilt("leftover", lambda s: s.left, "is over", leave_aggregate_with_server),
    "host that was never enrolled": Spoilt(
        "place", lambda _: "cmp-05", "is not enrolled", lambda s: s.cloud.aggregates.add_host("freepool", "cmp-05")
    ),
    "no hypervisor": Spoilt("place", lambda _: "7", "is in no aggregate of ours", lose_a_hypervisor),
    "host in two reservations": Spoilt(
        "place", lambda _: "1", "is in the aggregates of several reservations", put_a_host_into_another_reservation
    ),
    "host put in with servers": Spoilt(
        "drift", lambda s: s.lease.id, "by hand, and servers run on it", put_in_with_servers
    ),
    "server without allocation": Spoilt("drift", lambda s: s.lease.id, "runs on", end_allocations_under_a_server),
    "no root provider": Spoilt(
        "drift", lambda s: s.lease.id, "the cloud refuses to converge it: there is no provider", lose_a_provider
    ),
}


@each_of(FOR_A_PERSON)
def test_what_only_an_operator_can_decide_is_named_and_left_as_it_is(scene: Scene, spoilt: Spoilt) -> None:
    world = scene.world
    spoilt.by(scene)
    before = cloud_state(world.engine)
    (found,) = [each for each in findings(world) if each.kind == spoilt.kind]
    assert (found.subject, repair(world.service, found)) == (spoilt.subject(scene), None)
    assert spoilt.said in found.what
    assert (found.mend is None) is (spoilt.by is not leave_aggregate_with_server)
    if spoilt.by is not put_a_host_into_another_reservation:
        assert (found, None) in reconcile(world.service, AT_ONCE)
        run_manager(world)
        assert cloud_state(world.engine) == before
        assert world.status(scene.lease) == "ACTIVE"


def test_a_host_that_came_in_by_hand_goes_once_its_servers_are_gone(scene: Scene) -> None:
    world = scene.world
    put_in_with_servers(scene)
    (server,) = world.cloud.servers.all()
    world.execute(update(tables.tasks).where(tables.tasks.c.subject == scene.lease.id).values(due_at=world.now()))
    run_manager(world)
    assert (world.servers(), world.status(scene.lease)) == ({server.id}, "ACTIVE")
    world.cloud.servers.delete(server.id)
    run_for(world, minutes=2)
    assert server.service_host not in world.members(scene.hosts)
    assert findings(world) == []


def test_a_leftover_goes_once_its_servers_are_gone(scene: Scene) -> None:
    leave_aggregate_with_server(scene)
    (server,) = scene.world.cloud.servers.all()
    scene.world.cloud.servers.delete(server.id)
    assert all(mend(scene.world))
    assert scene.world.members(scene.left) == set()
