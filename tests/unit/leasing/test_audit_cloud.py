"""The audit of the cloud finds and repairs manual changes, and ignores leases with work under way."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete, insert, select, update

from leasehold.cloud.ports import CloudTransientError, Inventory
from leasehold.cloud.sandbox.faults import Fault
from leasehold.cloud.sandbox.tables import aggregate_hosts, aggregates, inventories, providers, traits
from leasehold.db import tables
from leasehold.db.engine import reading, writing
from leasehold.leasing.audit.cloud import Pace, audit_cloud
from leasehold.leasing.audit.repair import repair
from leasehold.leasing.queries import list_leases
from leasehold.manager.reconciler import reconcile
from leasehold.model.windows import to_seconds
from leasehold.resource_types.slots.names import resource_class
from tests.factory import floating_ips, hosts, instances, run_for, run_manager
from tests.stateful.audit import cloud_state
from tests.unit.leasing.looking import AT_ONCE, Scene, findings, lease_of_everything, mend

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.lease import Lease
    from tests.factory import World


@pytest.fixture
def lease(world: World) -> Lease:
    return lease_of_everything(world)


def take_a_host_out(scene: Scene) -> None:
    scene.cloud.aggregates.remove_host(scene.hosts, scene.host())


def put_a_host_back(scene: Scene) -> None:
    host = scene.host()
    scene.cloud.aggregates.remove_host(scene.hosts, host)
    scene.cloud.aggregates.add_host("freepool", host)


def put_a_host_into_two_places(scene: Scene) -> None:
    scene.cloud.aggregates.add_host("freepool", scene.host())


def delete_the_aggregate(scene: Scene) -> None:
    for host in scene.world.members(scene.hosts):
        scene.cloud.aggregates.remove_host(scene.hosts, host)
    scene.cloud.aggregates.delete(scene.hosts)


def delete_the_aggregate_of_slots(scene: Scene) -> None:
    for host in scene.world.members(scene.slots):
        scene.cloud.aggregates.remove_host(scene.slots, host)
    scene.cloud.aggregates.delete(scene.slots)


def name_another_owner(scene: Scene) -> None:
    aggregate = scene.cloud.aggregates.get(scene.hosts)
    scene.cloud.aggregates.ensure(scene.hosts, aggregate.zone, {"blazar:owner": "alt"})


def change_the_zone(scene: Scene) -> None:
    scene.cloud.aggregates.ensure(scene.hosts, "nova", {})


def delete_the_flavor(scene: Scene) -> None:
    scene.cloud.flavors.delete(scene.slots)


def change_the_flavor(scene: Scene) -> None:
    scene.cloud.flavors.ensure(replace(scene.flavor(), vcpus=2))


def loosen_the_flavor(scene: Scene) -> None:
    scene.cloud.flavors.ensure(replace(scene.flavor(), extra_specs={}))


def revoke_the_flavor(scene: Scene) -> None:
    scene.cloud.flavors.revoke(scene.slots, "demo")


def remove_an_inventory(scene: Scene) -> None:
    scene.cloud.providers.remove_inventory(scene.provider(), resource_class(scene.slots))


def enlarge_an_inventory(scene: Scene) -> None:
    scene.cloud.providers.set_inventory(scene.provider(), resource_class(scene.slots), Inventory(99, max_unit=1))


def delete_a_provider(scene: Scene) -> None:
    scene.cloud.providers.delete(scene.provider())


def take_slots_off_a_host(scene: Scene) -> None:
    scene.cloud.aggregates.remove_host(scene.slots, min(scene.world.members(scene.slots)))


def delete_an_address(scene: Scene) -> None:
    part = scene.lease.reservations[3].id
    for address in scene.cloud.networks.list_floating_ips(f"reservation:{part}"):
        scene.cloud.networks.delete_floating_ip(address.id)


DRIFT: list[tuple[Callable[[Scene], None], str]] = [
    (take_a_host_out, "is not in aggregate"),
    (put_a_host_back, "is in aggregate freepool"),
    (put_a_host_into_two_places, "is in aggregate freepool"),
    (delete_the_aggregate, "does not exist"),
    (delete_the_aggregate_of_slots, "does not exist"),
    (name_another_owner, "lacks the metadata blazar:owner=demo"),
    (change_the_zone, "is in zone nova and not in"),
    (delete_the_flavor, "does not exist; project demo may not use"),
    (change_the_flavor, "is not as the reservation needs it"),
    (loosen_the_flavor, "is not as the reservation needs it"),
    (revoke_the_flavor, "project demo may not use"),
    (remove_an_inventory, "has no inventory of"),
    (enlarge_an_inventory, "has another inventory (99 instead of"),
    (delete_a_provider, "does not exist"),
    (take_slots_off_a_host, "is not in aggregate"),
    (delete_an_address, "is not in the lease's project"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("change", "said"), DRIFT, ids=lambda value: getattr(value, "__name__", None))
def test_what_is_changed_by_hand_is_found_and_mended(
    world: World, lease: Lease, change: Callable[[Scene], None], said: str
) -> None:
    """An audit with `--repair` repairs the change the first time, the periodic audit the second time."""
    before = cloud_state(world.engine)
    change(Scene(world, lease))
    changed = cloud_state(world.engine)
    assert changed != before
    found = [each for each in findings(world) if each.kind == "drift"]
    assert [each.subject for each in found] == [lease.id]
    assert said in found[0].what
    assert cloud_state(world.engine) == changed, "the audit changed the cloud"
    assert all(mend(world))
    run_manager(world)
    assert cloud_state(world.engine) == before
    change(Scene(world, lease))
    assert lease.id in {each.subject for each in reconcile(world.service, AT_ONCE)}
    run_manager(world)
    assert cloud_state(world.engine) == before
    assert findings(world) == []


def test_a_lease_to_come_is_kept_ready_too(world: World, lease: Lease) -> None:
    coming = next(each for each in list_leases(world.service, None) if each.status == "PENDING")
    world.cloud.flavors.delete(coming.reservations[1].id)
    world.cloud.aggregates.delete(coming.reservations[0].id)
    before = {found.subject for found in findings(world)}
    assert before == {coming.id}
    assert all(mend(world))
    run_manager(world)
    assert findings(world) == []


def test_a_repair_is_in_the_history(world: World, lease: Lease) -> None:
    take_a_host_out(Scene(world, lease))
    mend(world)
    with reading(world.engine) as connection:
        last = connection.execute(select(tables.outbox).order_by(tables.outbox.c.id.desc())).first()
    assert last is not None
    assert (last.event_type, last.lease_id) == ("lease.repair", lease.id)


def test_a_host_that_came_in_by_hand_goes_once_its_servers_are_gone(world: World, lease: Lease) -> None:
    """Only an operator knows whose servers they are, so the lease keeps its status and the servers keep running."""
    server = world.cloud.servers.boot("theirs", "alt", "m1.small")
    assert server.service_host is not None
    part = lease.reservations[0].id
    with writing(world.engine) as connection:
        # Nova refuses a host whose servers would change zone; writing to the database bypasses this check.
        number = connection.execute(select(aggregates.c.id).where(aggregates.c.name == part)).scalar_one()
        connection.execute(insert(aggregate_hosts), {"aggregate_id": number, "service_host": server.service_host})
    (found,) = findings(world)
    assert (found.kind, found.subject, found.mend) == ("drift", lease.id, None)
    assert f"host {server.service_host} was put into aggregate {part} by hand, and servers run on it" in found.what
    assert mend(world) == [None]
    with writing(world.engine) as connection:
        connection.execute(update(tables.tasks).where(tables.tasks.c.subject == lease.id).values(due_at=world.now()))
    run_manager(world)
    assert [each.id for each in world.cloud.servers.all()] == [server.id]
    assert world.get(lease).status == "ACTIVE"
    world.cloud.servers.delete(server.id)
    run_for(world, minutes=2)
    assert server.service_host not in world.members(part)
    assert findings(world) == []


def test_what_would_delete_servers_is_left_to_a_person(world: World, lease: Lease) -> None:
    """The allocation ended without release and no task is due: only an operator knows whose server it is."""
    scene = Scene(world, lease)
    server = world.cloud.servers.boot("ours", lease.project_id, "m1.small", [scene.hosts])
    with writing(world.engine) as connection:
        mine = tables.allocations.c.reservation_id == scene.hosts
        connection.execute(update(tables.allocations).where(mine).values(ends_at=to_seconds(world.now())))
    (found,) = findings(world)
    assert (found.kind, found.subject, found.mend) == ("drift", lease.id, None)
    assert f"server {server.id} runs on" in found.what
    assert mend(world) == [None]
    run_manager(world)
    assert [each.id for each in world.cloud.servers.all()] == [server.id]


def test_what_a_lease_wants_and_the_cloud_cannot_give(world: World, lease: Lease) -> None:
    host = Scene(world, lease).provider()
    world.cloud.providers.delete(host)
    with writing(world.engine) as connection:
        name = host.removeprefix("blazar_")
        number = connection.execute(select(providers.c.id).where(providers.c.name == name)).scalar_one()
        for table in (inventories, traits):
            connection.execute(delete(table).where(table.c.provider_id == number))
        connection.execute(delete(providers).where(providers.c.id == number))
    found = [each for each in findings(world) if each.kind == "drift"]
    assert [(each.subject, each.mend) for each in found] == [(lease.id, None)]
    assert "the cloud refuses to converge it: there is no provider" in found[0].what


# ---------------------------------------------------------------- work under way


def test_a_lease_in_motion_is_not_drift(world: World) -> None:
    """The audit finds nothing between any two steps of a lease, each of which is hit by a fault."""
    lease = world.lease(hosts(2), instances(2), floating_ips(1), start=0, end=1)
    for moment in (0, 0.5, 1, 1.5):
        world.clock.set(world.hour(moment))
        for _ in range(12):
            assert findings(world) == []
            world.cloud.faults.set(Fault("*", error="after", remaining=1))
            run_manager(world, 1)
            world.cloud.faults.clear()
            run_for(world, seconds=1)
    assert world.get(lease).status == "TERMINATED"


def test_work_that_is_due_or_claimed_is_left_to_its_worker(world: World, lease: Lease) -> None:
    take_a_host_out(Scene(world, lease))
    (found,) = findings(world)
    for values in (
        {"due_at": world.now()},
        {"claim_until": world.hour(2.1)},
        {"due_at": world.hour(2.1), "attempts": 1},
    ):
        with writing(world.engine) as connection:
            mine = tables.tasks.c.subject == lease.id
            before = connection.execute(select(tables.tasks).where(mine)).one()
            connection.execute(update(tables.tasks).where(mine).values(**values))
        assert findings(world) == []
        assert repair(world.service, found) is None
        with writing(world.engine) as connection:
            connection.execute(update(tables.tasks).where(mine).values(**before._mapping))
    assert [each.subject for each in findings(world)] == [lease.id]


def test_what_is_mended_between_two_looks_is_no_finding(world: World, lease: Lease) -> None:
    scene = Scene(world, lease)
    host = scene.host()
    take_a_host_out(scene)

    def meanwhile(_seconds: float) -> None:
        world.cloud.aggregates.add_host(scene.hosts, host)

    assert audit_cloud(world.service, Pace(wait=meanwhile)) == []


def test_a_cloud_that_is_down_accuses_nobody(world: World, lease: Lease) -> None:
    world.cloud.faults.set(Fault("aggregates.list", error="before"))
    with pytest.raises(CloudTransientError):
        findings(world)
