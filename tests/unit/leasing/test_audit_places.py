"""Membership of hosts in aggregates: the audit finds hosts that no lease would bring back, and repairs what it may."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete

from leasehold.cloud.sandbox.tables import hypervisors
from leasehold.db.engine import writing
from leasehold.manager.reconciler import reconcile
from leasehold.resource_types.slots.names import child_provider
from tests.factory import hosts, remove_host, run_manager
from tests.unit.leasing.looking import AT_ONCE, Scene, findings, lease_of_everything, mend

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World


@pytest.fixture
def lease(world: World) -> Lease:
    return lease_of_everything(world)


def test_an_enrolled_host_in_no_place_is_put_into_the_free_pool(world: World) -> None:
    world.cloud.aggregates.remove_host("freepool", "cmp-01")
    world.cloud.providers.delete(child_provider("cmp-01"))
    (found,) = findings(world)
    assert (found.kind, found.subject) == ("place", "1")
    assert all(mend(world))
    run_manager(world)
    assert "cmp-01" in world.members("freepool")
    assert findings(world) == []


def test_the_free_pool_itself_is_made_again(world: World) -> None:
    for host in world.members("freepool"):
        world.cloud.aggregates.remove_host("freepool", host)
    world.cloud.aggregates.delete("freepool")
    assert len(reconcile(world.service, AT_ONCE)) == 5
    run_manager(world)
    assert len(world.members("freepool")) == 5


def test_a_removed_host_that_is_still_in_ours_goes(world: World) -> None:
    remove_host(world.service, "1")
    run_manager(world)
    assert findings(world) == []
    world.cloud.aggregates.add_host("freepool", "cmp-01")
    world.cloud.providers.ensure_child("cmp-01", child_provider("cmp-01"))
    assert {found.subject for found in findings(world)} == {"1"}
    reconcile(world.service, AT_ONCE)
    run_manager(world)
    assert "cmp-01" not in world.members("freepool")
    assert findings(world) == []


def test_a_host_that_was_never_enrolled_is_left_to_a_person(world: World) -> None:
    world.cloud.aggregates.add_host("freepool", "cmp-05")
    (found,) = reconcile(world.service, AT_ONCE)
    assert (found.kind, found.subject, found.mend) == ("place", "cmp-05", None)
    assert "cmp-05" in world.members("freepool")


def test_a_host_in_two_reservations_is_left_to_a_person(world: World, lease: Lease) -> None:
    host = Scene(world, lease).host()
    other = world.lease(hosts(1), start=2.5, end=3)
    run_manager(world)
    ident = other.reservations[0].id
    world.cloud.aggregates.ensure(ident, None, {})
    world.cloud.aggregates.add_host(ident, host)
    found = {str(each.kind): each for each in findings(world)}
    assert "is in the aggregates of several reservations" in found["place"].what
    assert found["place"].mend is None


def test_an_enrolled_host_whose_hypervisor_is_gone_is_left_to_a_person(world: World) -> None:
    world.cloud.aggregates.remove_host("freepool", "cmp-01")
    with writing(world.engine) as connection:
        connection.execute(delete(hypervisors).where(hypervisors.c.id == 1))
    (found,) = reconcile(world.service, AT_ONCE)
    assert (found.subject, found.mend) == ("1", None)
