"""Enrolling and removing hosts converges the cloud, even if somebody else changed it meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete

from leasehold.cloud.sandbox.faults import Fault
from leasehold.cloud.sandbox.tables import hypervisors
from leasehold.leasing.reading.queries import each_allocation
from leasehold.model.errors import CloudUnavailableError, DuplicateError, InUseError, NotFoundError
from leasehold.model.resource import HOST
from tests.factory import change_host, enrol_host, hosts, instances, remove_host, run_for, run_manager, run_until
from tests.stateful.audit import cloud_state

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World


def has_provider(world: World, name: str) -> bool:
    found = cloud_state(world.engine)["sandbox_providers"]
    return any(f"name='blazar_{name}'" in row for row in found)


@pytest.mark.parametrize("known", [True, False], ids=["known to the cloud", "hypervisor is gone"])
def test_a_removed_host_leaves_the_free_pool_and_its_provider_goes(world: World, *, known: bool) -> None:
    if not known:
        world.execute(delete(hypervisors).where(hypervisors.c.id == 1))
    remove_host(world.service, "1")
    run_manager(world)
    assert "cmp-01" not in world.members("freepool")
    assert not has_provider(world, "cmp-01")


def test_removing_waits_for_a_cloud_that_is_down(world: World) -> None:
    world.cloud.faults.set(Fault("aggregates.remove_host", error="before", remaining=3))
    remove_host(world.service, "1")
    run_for(world, minutes=1)
    assert "cmp-01" not in world.members("freepool")


def test_a_host_enrolled_again_at_once_stays_in_the_free_pool(world: World) -> None:
    remove_host(world.service, "1")
    enrol_host(world.service, "cmp-01", {})
    run_manager(world)
    assert "cmp-01" in world.members("freepool")
    assert has_provider(world, "cmp-01")


def test_a_promised_host_is_not_removed(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=2)
    with pytest.raises(InUseError):
        remove_host(world.service, "1")
    world.delete(lease)
    remove_host(world.service, "1")


def test_a_leased_host_with_servers_is_refused_for_the_lease(world: World) -> None:
    """The servers belong to the lease, so the message must not tell the operator to move them away."""
    lease = world.active(hosts(), start=0, end=1)
    server = world.cloud.servers.boot("inside", "demo", "m1.small", [lease.reservations[0].id])
    assert server.status == "ACTIVE"
    with pytest.raises(InUseError, match="is allocated to leases"):
        remove_host(world.service, "1")


@pytest.mark.slow
def test_a_host_is_removed_once_the_last_lease_has_left_it(world: World) -> None:
    world.lease(hosts(5), start=0, end=1)
    run_until(world, world.hour(0.9))
    world.break_down()
    run_until(world, world.hour(1.1))
    world.cloud.faults.clear()
    with pytest.raises(InUseError):
        remove_host(world.service, "1")
    run_for(world, minutes=2)
    remove_host(world.service, "1")


def test_a_property_that_a_lease_asked_for_does_not_change_under_it(world: World) -> None:
    world.lease(instances(1, resource_properties='["==", "$rack", "r1"]'), start=1, end=2)
    with pytest.raises(InUseError):
        change_host(world.service, "1", {"rack": "r9"})
    assert change_host(world.service, "1", {"floor": "3"}).properties == {"rack": "r1", "floor": "3"}
    assert change_host(world.service, "2", {"rack": "r9"}).properties["rack"] == "r9"


def test_only_empty_known_hosts_are_enrolled_and_once(world: World) -> None:
    with pytest.raises(NotFoundError):
        enrol_host(world.service, "cmp-99", {})
    with pytest.raises(DuplicateError):
        enrol_host(world.service, "cmp-01", {})
    world.cloud.servers.boot("vm", "demo", "m1.small")
    (server,) = world.cloud.servers.all()
    with pytest.raises(InUseError):
        enrol_host(world.service, server.service_host or "", {})


def test_enrolling_is_repeated_after_a_cloud_that_failed_half_way(world: World) -> None:
    world.cloud.faults.set(Fault("aggregates.add_host", error="after", remaining=1))
    with pytest.raises(CloudUnavailableError):
        enrol_host(world.service, "cmp-05", {})
    assert enrol_host(world.service, "cmp-05", {}).id == "5"


# ---------------------------------------------------------------- allocations as v1 lists them


def listed(
    world: World, lease: Lease, lease_id: str | None = None, reservation_id: str | None = None
) -> dict[str, list[str]]:
    """Return the hosts that list allocations of the lease, with the ids of the reservations."""
    found = each_allocation(world.service, HOST, lease_id=lease_id, reservation_id=reservation_id)
    shown = {host.label: [each.reservation_id for each in held if each.lease_id == lease.id] for host, held in found}
    return {label: ids for label, ids in shown.items() if ids}


def test_what_a_lease_had_that_has_ended_is_not_listed(world: World) -> None:
    lease = world.lease(hosts(2), instances(1), start=0, end=2)
    ways: tuple[dict[str, str], ...] = (
        {},
        {"lease_id": lease.id},
        *({"reservation_id": part.id} for part in lease.reservations),
    )
    run_manager(world)
    assert all(listed(world, lease, **way) for way in ways)
    world.clock.advance(hours=1)
    world.amend(lease, end=1)
    run_manager(world)
    assert world.status(lease) == "TERMINATED"
    assert [listed(world, lease, **way) for way in ways] == [{}] * len(ways)


def test_a_host_that_was_replaced_is_not_listed_for_the_lease_any_more(world: World) -> None:
    lease = world.lease(hosts(1), start=0.5, end=5)
    (lost,) = world.holds(lease)
    world.fail(lost)
    (found,) = world.holds(lease)
    assert found != lost
    assert listed(world, lease) == listed(world, lease, lease_id=lease.id) == {found: [lease.reservations[0].id]}
