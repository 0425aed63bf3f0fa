"""Feature J5: what a lease's heal policy allows, for every kind of reservation; no policy deletes anything."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from leasehold.cloud.sandbox import tables as sandbox
from leasehold.cloud.sandbox.seed import SUBNET_ID as SUBNET
from leasehold.conf.settings import LeaseSettings
from leasehold.manager.monitor import check_once
from leasehold.model.terms.heal_policy import DEFAULT, HealPolicy
from tests.factory import AT_ONCE, NETWORK, flavors, floating_ips, hosts, instances, run_for, run_until
from tests.stateful.audit import audit
from tests.unit.leasing.looking import findings
from tests.unit.leasing.test_heal import flags
from tests.unit.leasing.test_heal_missing import CHANGED, MISSING, WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow


def set_pools(world: World, *pools: tuple[str, str]) -> None:
    """Set what the cloud assigns by itself, as an administrator of the network does, and look once."""
    world.execute(update(sandbox.subnets).values(allocation_pools=[list(pool) for pool in pools]))
    check_once(world.service)


def break_address(world: World, name: str) -> None:
    set_pools(world, (name, name))


def mend_address(world: World, _name: str) -> None:
    set_pools(world)


KINDS: dict[str, tuple[dict[str, Any], Callable[[World, str], None], Callable[[World, str], None]]] = {
    "host": (hosts(), lambda world, name: world.fail(name), lambda world, name: world.recover(name)),
    "instance": (instances(2, 2), lambda world, name: world.fail(name), lambda world, name: world.recover(name)),
    "flavor": (flavors(2, "m1.medium"), lambda world, name: world.fail(name), lambda world, name: world.recover(name)),
    "address": (floating_ips(), break_address, mend_address),
}
EACH = pytest.mark.parametrize("kind", KINDS)
REPLACED = {
    (HealPolicy.REPLACE, False): True,
    (HealPolicy.REPLACE, True): True,
    (HealPolicy.BEFORE_START, False): True,
    (HealPolicy.BEFORE_START, True): False,
    (HealPolicy.ASK, False): False,
    (HealPolicy.ASK, True): False,
    (HealPolicy.NEVER, False): False,
    (HealPolicy.NEVER, True): False,
}
"""Whether another resource takes over, by policy and whether the lease is active."""


def possessions(world: World) -> tuple[set[str], set[str]]:
    """Return the servers, and the addresses of the owner's project."""
    return world.servers(), {
        each.address for each in world.cloud.networks.list_network(NETWORK) if each.project_id == "demo"
    }


def lease_of(world: World, kind: str, start: float, policy: HealPolicy | None) -> tuple[Lease, str]:
    """Return a lease after its owner has used it, and the name of what it holds."""
    lease = world.lease(KINDS[kind][0], start=start, end=2, heal_policy=policy)
    run_for(world, minutes=5)
    if start == 0 and kind != "address":
        world.boot(lease)
    (name,) = world.holds(lease)
    return lease, name


@EACH
@pytest.mark.parametrize(("policy", "active"), REPLACED)
def test_what_a_policy_does_with_a_failure_and_a_recovery(
    world: World, kind: str, policy: HealPolicy, *, active: bool
) -> None:
    lease, name = lease_of(world, kind, 0 if active else 0.5, policy)
    held, there = world.holds(lease), possessions(world)
    _, fail, recover = KINDS[kind]
    fail(world, name)
    run_for(world, minutes=2)
    if REPLACED[policy, active]:
        assert name not in world.holds(lease)
        assert sum(world.holds(lease).values()) == sum(held.values())
        assert flags(world, lease) == (CHANGED if active else WHOLE)
    else:
        assert (world.holds(lease), flags(world, lease)) == (held, MISSING)
    servers, addresses = possessions(world)
    assert servers == there[0]
    assert addresses >= there[1]
    audit(world)
    after = (world.holds(lease), CHANGED if REPLACED[policy, active] and active else WHOLE)
    recover(world, name)
    run_for(world, minutes=2)
    assert (world.holds(lease), flags(world, lease)) == after
    assert possessions(world)[0] == there[0]
    audit(world)
    assert findings(world) == []
    run_until(world, world.hour(2.1))
    assert possessions(world) == (set(), set())
    audit(world)


@pytest.mark.parametrize("policy", list(HealPolicy))
def test_a_lease_that_does_not_choose_follows_the_operators_default_of_the_moment(
    world: World, policy: HealPolicy
) -> None:
    lease, name = lease_of(world, "host", 0, None)
    same = world.with_settings(manager=AT_ONCE.manager, leases=replace(LeaseSettings(), heal_policy=policy))
    same.fail(name)
    assert (name not in world.holds(lease)) is REPLACED[policy, True]


def test_an_owner_who_changes_the_policy_is_served_at_the_next_look(world: World) -> None:
    lease, name = lease_of(world, "host", 0, HealPolicy.NEVER)
    world.fail(name)
    assert flags(world, lease) == MISSING
    generation = world.get(lease).generation
    assert world.amend(lease, heal_policy="replace").heal_policy is HealPolicy.REPLACE
    assert world.get(lease).generation == generation + 1
    check_once(world.service)
    assert name not in world.holds(lease)
    assert flags(world, lease) == CHANGED
    assert world.amend(lease, heal_policy=DEFAULT).heal_policy is None


def test_a_flag_stays_while_the_host_that_the_reservation_keeps_does_not_work(world: World) -> None:
    lease, name = lease_of(world, "host", 0, HealPolicy.NEVER)
    world.fail(name)
    world.amend(lease, end=1.5)
    assert (world.holds(lease), flags(world, lease)) == ({name: 1}, MISSING)
    world.recover(name)
    assert flags(world, lease) == WHOLE


def test_a_named_address_is_replaced_by_none_and_the_others_are(world: World) -> None:
    named = "203.0.113.202"
    lease = world.active(floating_ips(2, required_floatingips=[named]), end=2)
    (other,) = set(world.holds(lease)) - {named}
    set_pools(world, (named, named), (other, other))
    (substitute,) = world.holds(lease)
    assert substitute not in (named, other)
    assert flags(world, lease) == (True, True, True)
    set_pools(world, (other, other))
    assert (set(world.holds(lease)), flags(world, lease)) == ({named, substitute}, CHANGED)
    run_for(world, minutes=2)
    audit(world)
    assert findings(world) == []


def test_an_address_that_somebody_else_has_is_replaced(world: World) -> None:
    lease = world.lease(floating_ips(), start=0.5, end=2)
    (name,) = world.holds(lease)
    taken = world.cloud.networks.create_floating_ip(NETWORK, SUBNET, name, "stranger", frozenset())
    check_once(world.service)
    assert name not in world.holds(lease)
    assert flags(world, lease) == WHOLE
    world.cloud.networks.delete_floating_ip(taken.id)
    check_once(world.service)
    assert name in world.holds(world.lease(floating_ips(required_floatingips=[name]), start=0.5, end=2))


def test_a_tenant_that_changes_the_tags_of_its_address_keeps_it(world: World) -> None:
    """Otherwise a member could collect one address after another."""
    lease = world.active(floating_ips(), end=2)
    (name,) = world.holds(lease)
    found = world.cloud.networks.floating_ip(NETWORK, name)
    assert found is not None
    world.cloud.networks.delete_floating_ip(found.id)
    world.cloud.networks.create_floating_ip(NETWORK, SUBNET, name, "demo", frozenset())
    check_once(world.service)
    assert (set(world.holds(lease)), flags(world, lease)) == ({name}, WHOLE)
