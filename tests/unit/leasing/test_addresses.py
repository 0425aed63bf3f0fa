"""Leased addresses: the tenant may change their tags, but may not keep an address after its lease."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.sandbox import seed
from leasehold.features.audit.job import reconcile
from leasehold.model.states import LeaseStatus
from tests.factory import ALT, NETWORK, floating_ips, run_for, run_manager, run_until
from tests.unit.leasing.looking import AT_ONCE, findings

if TYPE_CHECKING:
    from leasehold.cloud.ports import FloatingIp
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

ADDRESS = "203.0.113.200"


def at(world: World, address: str = ADDRESS) -> FloatingIp | None:
    return world.cloud.networks.floating_ip(NETWORK, address)


def owner(world: World) -> str | None:
    found = at(world)
    return None if found is None else found.project_id


def leased(world: World, end: float = 1) -> Lease:
    """Return an active lease of the address by the project demo, from hour 0 on."""
    lease = world.active(floating_ips(required_floatingips=[ADDRESS]), start=0, end=end)
    assert owner(world) == "demo"
    return lease


def following(world: World) -> Lease:
    """Return a lease of the same address by another project, from hour 1 on."""
    return world.lease(floating_ips(required_floatingips=[ADDRESS]), start=1, end=2, caller=ALT)


def put(world: World, project_id: str, *tags: str) -> None:
    """Put the address into a project with exactly these tags, replacing any earlier owner."""
    found = at(world)
    if found is not None:
        world.cloud.networks.delete_floating_ip(found.id)
    world.cloud.networks.create_floating_ip(NETWORK, seed.SUBNET_ID, ADDRESS, project_id, frozenset(tags))


REPLACED = pytest.mark.parametrize(
    "tags", [(), ("mine",), ("blazar", "reservation:00000000-0000-4000-8000-000000000000")]
)
"""Tags that a tenant may set instead of the lease's tags."""


@REPLACED
@pytest.mark.parametrize("way", ["end", "delete"])
def test_the_end_removes_an_address_whose_tags_were_replaced(world: World, tags: tuple[str, ...], way: str) -> None:
    """The removal needs neither a later lease of the address nor the audit."""
    lease = leased(world)
    put(world, "demo", *tags)
    world.delete(lease) if way == "delete" else world.clock.set(world.hour(1))
    run_manager(world)
    assert (world.exists(lease), at(world)) == (way == "end", None)


@REPLACED
def test_an_address_whose_tags_were_replaced_goes_to_the_next_lease(world: World, tags: tuple[str, ...]) -> None:
    leased(world)
    after = following(world)
    put(world, "demo", *tags)
    run_until(world, world.hour(1.01))
    assert (world.get(after).status, owner(world)) == (LeaseStatus.ACTIVE, "alt")
    run_until(world, world.hour(3))
    assert at(world) is None
    assert not findings(world)


def test_tags_that_were_replaced_are_found_and_put_back_beside_the_owners_own(world: World) -> None:
    lease = leased(world)
    put(world, "demo", "mine")
    (finding,) = findings(world)
    assert f"floating IP {ADDRESS} lacks the lease's tags" in finding.what
    reconcile(world.service, AT_ONCE)
    run_manager(world)
    found = at(world)
    assert found is not None
    assert found.tags == {"mine", "blazar", f"reservation:{lease.reservations[0].id}"}
    assert not findings(world)


def test_an_address_that_its_owner_deleted_comes_back(world: World) -> None:
    leased(world)
    found = at(world)
    assert found is not None
    world.cloud.networks.delete_floating_ip(found.id)
    assert [f"floating IP {ADDRESS} is not in the lease's project" in each.what for each in findings(world)] == [True]
    reconcile(world.service, AT_ONCE)
    run_manager(world)
    assert owner(world) == "demo"
    assert not findings(world)


def test_a_start_removes_what_an_earlier_lease_has_left(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """An older version may have left it there, or a call that took effect late."""
    caplog.set_level(logging.WARNING)
    before = leased(world)
    after = following(world)
    run_until(world, world.hour(0.9))
    world.delete(before)
    run_manager(world)
    put(world, "demo", "mine")
    run_until(world, world.hour(1.01))
    assert (world.get(after).status, owner(world)) == (LeaseStatus.ACTIVE, "alt")
    assert any("removed from project demo" in message for message in caplog.messages)


def test_the_audit_removes_what_an_earlier_lease_has_left(world: World) -> None:
    leased(world)
    run_until(world, world.hour(1.5))
    assert at(world) is None
    put(world, "demo", "mine")
    (finding,) = findings(world)
    assert finding.what == f"The enrolled address {ADDRESS} is in project demo, which has no lease of it."
    reconcile(world.service, AT_ONCE)
    assert at(world) is None
    assert not findings(world)


def test_an_address_that_a_stranger_has_is_the_operators_to_decide(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """No lease gave the address to that project, so it stays there; the lease's owner is not told whose it is."""
    caplog.set_level(logging.WARNING)
    put(world, "stranger")
    lease = world.active(floating_ips(required_floatingips=[ADDRESS]), start=0, end=1)
    assert world.reason(lease) == f"Waiting for the cloud: address {ADDRESS} is still in use by somebody else."
    assert any("project stranger" in message for message in caplog.messages)
    (finding,) = findings(world)
    assert "project stranger" in finding.what
    reconcile(world.service, AT_ONCE)
    assert owner(world) == "stranger"
    put(world, "demo")
    run_for(world, minutes=2)
    assert world.get(lease).status is LeaseStatus.ACTIVE
    assert not findings(world)


def test_who_names_anothers_reservation_in_a_tag_does_not_get_in_its_way(world: World) -> None:
    lease = leased(world, end=2)
    tags = frozenset({"blazar", f"reservation:{lease.reservations[0].id}"})
    other = "203.0.113.150"
    world.cloud.networks.create_floating_ip(NETWORK, seed.SUBNET_ID, other, "alt", tags)
    found = at(world)
    assert found is not None
    world.cloud.networks.delete_floating_ip(found.id)
    reconcile(world.service, AT_ONCE)
    run_manager(world)
    assert owner(world) == "demo"
    run_until(world, world.hour(2.5))
    assert at(world) is None
    left = at(world, other)
    assert left is not None
    assert left.project_id == "alt"


def test_one_address_that_somebody_has_holds_up_no_other(world: World) -> None:
    put(world, "stranger")
    world.active(floating_ips(2, required_floatingips=[ADDRESS]), start=0, end=1)
    assert (owner(world), at(world, "203.0.113.201") is not None) == ("stranger", True)
