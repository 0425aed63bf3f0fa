"""Several reservations of a lease: a change takes nothing that a sibling uses, or holds and need not give up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.sandbox.faults import Fault
from leasehold.model.errors import NotEnoughError
from tests.factory import flavors, floating_ips, hosts, instances, run_manager, run_until, run_until_refused_often
from tests.stateful.audit import audit, audit_cloud
from tests.unit.leasing.test_amend import change, refused

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

LARGE = '[">=", "$vcpus", "8"]'
"""Matches cmp-01 and cmp-02, with 8 VCPUs each, and gpu-03, with 16."""
HOST = hosts(1, resource_properties=LARGE)
INSTANCE = instances(1, 5)
FLAVOR = flavors(1, "m1.xlarge")
"""`INSTANCE` and `FLAVOR` slots are so large that cmp-01 and cmp-02 have room for only one slot each."""
TOO_MANY = {"physical:host": 3, "virtual:instance": 5, "flavor:instance": 4}
"""Amounts that would need all three large hosts."""


def only(host: str) -> str:
    return f'["==", "$hypervisor_hostname", "{host}"]'


kinds = [pytest.param(HOST, id="host"), pytest.param(INSTANCE, id="instance"), pytest.param(FLAVOR, id="flavor")]


def growth(request: Mapping[str, Any], amount: int) -> dict[str, Any]:
    """Return the change that sets the amount of a reservation."""
    return {"min": amount, "max": amount} if "min" in request else {"amount": amount}


def places(world: World, lease: Lease) -> list[set[str]]:
    return [set(world.holds(lease, position)) for position in range(len(lease.reservations))]


@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("other", kinds)
@pytest.mark.parametrize("grows", kinds)
def test_what_grows_goes_where_no_sibling_is(
    world: World, grows: Mapping[str, Any], other: Mapping[str, Any], position: int
) -> None:
    lease = world.active(*([grows, other] if position == 0 else [other, grows]), end=3)
    assert places(world, lease) == [{"cmp-01"}, {"cmp-02"}]
    too_much = change(lease, position, **growth(grows, TOO_MANY[grows["resource_type"]]))
    refused(world, NotEnoughError, lambda: world.amend(lease, **too_much))
    world.amend(lease, **change(lease, position, **growth(grows, 2)))
    run_manager(world)
    expected = [{"cmp-01"}, {"cmp-02"}]
    expected[position] = expected[position] | {"gpu-03"}
    assert places(world, lease) == expected
    audit(world)
    audit_cloud(world)


@pytest.mark.parametrize("position", [0, 1])
def test_addresses_that_grow_leave_a_sibling_its_own(world: World, position: int) -> None:
    lease = world.active(floating_ips(2), floating_ips(1), end=3)
    before = places(world, lease)
    most = 5 - len(before[1 - position])
    refused(world, NotEnoughError, lambda: world.amend(lease, **change(lease, position, amount=most + 1)))
    world.amend(lease, **change(lease, position, amount=most))
    assert places(world, lease)[1 - position] == before[1 - position]
    assert len(places(world, lease)[position]) == most


def test_a_host_that_a_sibling_is_leaving_is_not_taken(world: World) -> None:
    """The failed host works again, but servers of the reservation that healing moved away still run on it."""
    lease = world.active(instances(1, 5), HOST, end=3)
    server = world.cloud.servers.boot("server", "demo", "m1.small", [lease.reservations[1].id])
    world.fail("cmp-02")
    run_manager(world)
    world.recover("cmp-02")
    assert places(world, lease) == [{"cmp-01"}, {"gpu-03"}]
    refused(world, NotEnoughError, lambda: world.amend(lease, **change(lease, amount=2)))
    world.cloud.servers.delete(server.id)
    run_until(world, world.hour(1))
    world.amend(lease, **change(lease, amount=2))
    run_manager(world)
    assert places(world, lease) == [{"cmp-01", "cmp-02"}, {"gpu-03"}]
    audit(world)
    audit_cloud(world)


def test_siblings_on_one_host_fill_it_together(world: World) -> None:
    """Capacity that a reservation keeps is counted once, together with the capacity that it gains."""
    lease = world.active(instances(2), instances(2), end=3)
    world.amend(lease, reservations=[{"id": part.id, "amount": 4} for part in lease.reservations])
    assert [world.holds(lease, position) for position in (0, 1)] == [{"cmp-01": 4}, {"cmp-01": 4}]


def test_siblings_whose_start_failed_do_not_wait_for_one_another(world: World) -> None:
    """Each has its host in the cloud: if they swapped hosts, each would wait for the other to leave."""
    lease = world.lease(hosts(1), hosts(1), end=3)
    world.cloud.faults.set(Fault("aggregates.remove_host", error="after", permanent=True))
    run_until_refused_often(world)
    assert world.get(lease).status == "ERROR"
    world.cloud.faults.clear()
    wishes = [
        {"id": part.id, "resource_properties": only(f"cmp-0{2 - n}")} for n, part in enumerate(lease.reservations)
    ]
    refused(world, NotEnoughError, lambda: world.amend(lease, reservations=wishes))
    wishes = [{"id": part.id, "resource_properties": LARGE} for part in lease.reservations]
    world.amend(lease, reservations=wishes)
    run_manager(world)
    assert world.get(lease).status == "ACTIVE"
    assert places(world, lease) == [{"cmp-01"}, {"cmp-02"}]


# ---------------------------------------------------------------- reservations that are not in use yet


@pytest.mark.parametrize("first", kinds)
def test_who_has_to_move_leaves_a_sibling_its_place(world: World, first: Mapping[str, Any]) -> None:
    lease = world.lease(first, HOST, start=1, end=2)
    world.lease(hosts(1), start=2, end=3)
    assert places(world, lease) == [{"cmp-01"}, {"cmp-02"}]
    world.amend(lease, end=3)
    assert places(world, lease) == [{"gpu-03"}, {"cmp-02"}]


def test_a_pending_reservation_that_grows_leaves_a_sibling_its_place(world: World) -> None:
    lease = world.lease(HOST, HOST, start=1, end=2)
    world.amend(lease, **change(lease, min=2, max=2))
    assert places(world, lease) == [{"cmp-01", "gpu-03"}, {"cmp-02"}]


def test_siblings_move_where_the_lease_fits_no_other_way(world: World) -> None:
    lease = world.lease(hosts(1), hosts(1), start=1, end=2)
    assert places(world, lease) == [{"cmp-01"}, {"cmp-02"}]
    world.amend(lease, **change(lease, resource_properties=only("cmp-02")))
    assert places(world, lease) == [{"cmp-02"}, {"cmp-01"}]


def test_only_those_move_that_are_in_the_way(world: World) -> None:
    """The first must move and matches two hosts, the second stays, the fourth must make room for the third."""
    lease = world.lease(HOST, HOST, hosts(1), hosts(1), start=1, end=2)
    assert places(world, lease) == [{"cmp-01"}, {"cmp-02"}, {"cmp-06"}, {"cmp-07"}]
    world.lease(hosts(1, resource_properties=only("cmp-01")), start=2, end=3)
    changes = change(lease, 2, resource_properties=only("cmp-07"))["reservations"]
    world.amend(lease, end=3, reservations=changes)
    assert places(world, lease) == [{"gpu-03"}, {"cmp-02"}, {"cmp-07"}, {"cmp-06"}]
