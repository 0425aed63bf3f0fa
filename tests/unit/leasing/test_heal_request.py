"""Feature J5, "ask me": a failure asks the owner, and the owner's request heals; nothing is deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.leasing.healing.heal_request import heal_on_request
from leasehold.manager.monitor import check_once
from leasehold.model.errors import (
    BusyError,
    ConflictError,
    NoReplacementError,
    NotFoundError,
    NothingToHealError,
    StaleError,
    TakesTooLongError,
)
from leasehold.model.terms.heal_policy import HealPolicy
from tests.factory import hosts, instances, run_for, run_manager
from tests.stateful.audit import audit
from tests.unit.leasing.looking import findings
from tests.unit.leasing.test_heal import flags
from tests.unit.leasing.test_heal_missing import CHANGED, MISSING, WHOLE, only

if TYPE_CHECKING:
    from leasehold.model.errors import LeaseholdError
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow
QUESTION = "lease.heal_question"


def refused(world: World, lease: Lease, error: type[LeaseholdError]) -> LeaseholdError:
    """Check that the request is refused with this error and changes nothing."""
    before = world.get(lease)
    with pytest.raises(error) as refusal:
        world.heal_now(lease)
    assert world.get(lease) == before
    return refusal.value


def questions(world: World, lease: Lease) -> int:
    return [kind for kind, _ in world.told(lease)].count(QUESTION)


@pytest.mark.parametrize("request_", [hosts(), instances(2, 2)], ids=["host", "instance"])
def test_a_failure_asks_once_and_the_owners_answer_replaces(world: World, request_: dict[str, Any]) -> None:
    lease = world.active(request_, end=3, heal_policy=HealPolicy.ASK)
    server, held = world.boot(lease), world.holds(lease)
    (failed,) = held
    world.fail(failed)
    for _ in range(3):
        check_once(world.service)
    assert (world.holds(lease), flags(world, lease), questions(world, lease)) == (held, MISSING, 1)
    healed = world.heal_now(lease)
    assert healed == world.get(lease)
    assert failed not in world.holds(lease)
    assert (sum(world.holds(lease).values()), flags(world, lease)) == (sum(held.values()), CHANGED)
    run_manager(world)
    assert server.id in world.servers()
    audit(world)
    assert findings(world) == []
    refused(world, lease, NothingToHealError)
    # The next failure asks again: the policy stays.
    (second,) = world.holds(lease)
    world.fail(second)
    assert questions(world, lease) == 2


def test_a_recovery_before_the_answer_needs_none(world: World) -> None:
    lease = world.active(hosts(), heal_policy=HealPolicy.ASK)
    world.fail("cmp-01")
    world.recover("cmp-01")
    assert (world.holds(lease), flags(world, lease)) == ({"cmp-01": 1}, WHOLE)
    refused(world, lease, NothingToHealError)


def test_without_a_spare_nothing_changes_and_the_refusal_says_what_to_do(world: World) -> None:
    lease = world.active(only("cmp-01"), heal_policy=HealPolicy.ASK)
    world.fail("cmp-01")
    error = refused(world, lease, NoReplacementError)
    assert "again later" in error.message
    assert world.holds(lease) == {"cmp-01": 1}


@pytest.mark.parametrize("policy", list(HealPolicy))
def test_a_lease_that_begins_after_the_healing_interval_is_healed_on_request(world: World, policy: HealPolicy) -> None:
    lease = world.lease(hosts(), start=48, end=50, heal_policy=policy)
    world.fail("cmp-01")
    assert (world.holds(lease), world.get(lease).at_risk) == ({"cmp-01": 1}, True)
    healed = world.heal_now(lease)
    assert "cmp-01" not in world.holds(lease)
    assert (flags(world, lease), healed.at_risk, healed) == (WHOLE, False, world.get(lease))
    assert world.told(lease)[-2:] == [("lease.healed", "PENDING"), ("lease.safe", "PENDING")]
    audit(world)


def test_a_decision_without_time_changes_nothing(world: World) -> None:
    lease = world.active(hosts(), heal_policy=HealPolicy.ASK)
    world.fail("cmp-01")
    leases = replace(world.service.settings.leases, decision_seconds=-1.0)
    hasty = replace(world, service=replace(world.service, settings=replace(world.service.settings, leases=leases)))
    refused(hasty, lease, TakesTooLongError)
    assert "cmp-01" not in world.holds(world.heal_now(lease))


def test_what_is_over_ends_has_changed_or_is_not_there_is_refused(world: World) -> None:
    lease = world.active(hosts(), end=1)
    with pytest.raises(StaleError):
        heal_on_request(world.service, lease.id, if_generation=1)
    world.refuse("servers.delete")
    server = world.boot(lease)
    world.clock.set(world.hour(1))
    run_manager(world)
    assert server.id in world.servers()
    refused(world, lease, BusyError)
    world.cloud.faults.clear()
    run_for(world, minutes=30)
    refused(world, lease, ConflictError)
    with pytest.raises(NotFoundError):
        heal_on_request(world.service, "ffffffff-0000-4000-8000-000000000000")
