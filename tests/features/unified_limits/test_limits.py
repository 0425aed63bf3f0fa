"""Limits from Keystone hold in place of the configured ones, in every decision that counts them."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf import ConfigurationError
from leasehold.conf.settings import LeaseSettings, LimitSettings, Settings
from leasehold.enforcement.given import LIMITED
from leasehold.enforcement.outside import OnFailure
from leasehold.features.registry import enforcing
from leasehold.features.unified_limits.options import UnifiedLimitsSettings
from leasehold.model.caller import Caller
from leasehold.model.errors import (
    AmendmentDeniedError,
    LimitExceededError,
    NotEnoughError,
    NotKnownNowError,
    TooManyHoursError,
    TooManyLeasesError,
    TooMuchHeldError,
)
from leasehold.model.use import NAMES
from tests.counts.meter import Meter
from tests.factory import ALT, DEMO, World, floating_ips, hosts, instances, run_for
from tests.features.unified_limits.keeper import CACHED, Keeper
from tests.refused import refused
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.lease import Lease

MATE = Caller("mallory", DEMO.project_id)


def from_keystone(error: Any, name: str, fits: float) -> bool:
    """Say whether an error tells who gives the limit, as what, and what fits."""
    told = {"name": f"reservation:{name}", "source": "Keystone", "fits": fits}
    return told.items() <= error.details.items() and f"(reservation:{name} in Keystone: {fits:g} left)" in error.message


def test_each_limit_has_a_name_and_its_refusal_says_it(world: World) -> None:
    keeper = Keeper()
    world = keeper.limits(world)
    world.lease(hosts(2), start=1, end=3)
    asked: dict[str, tuple[type[LimitExceededError], Any, int, float]] = {
        "leases": (TooManyLeasesError, hosts(), 1, 0),
        "hosts": (TooMuchHeldError, hosts(2), 3, 1),
        "vcpus": (TooMuchHeldError, instances(2, 2), 3, 3),
        "memory_mb": (TooMuchHeldError, instances(2), 1000, 1000),
        "floating_ips": (TooMuchHeldError, floating_ips(2), 1, 1),
        "host_hours_ahead": (TooManyHoursError, hosts(), 5, 1),
        "leases_per_user": (TooManyLeasesError, hosts(), 1, 0),
        "hosts_per_user": (TooMuchHeldError, hosts(), 2, 0),
        "host_hours_ahead_per_user": (TooManyHoursError, hosts(), 5, 1),
    }
    assert asked.keys() == set(LIMITED)
    for name, (kind, reservation, limit, fits) in asked.items():
        keeper.registered, keeper.seconds = {name: limit}, keeper.seconds + CACHED
        assert from_keystone(refused(world, kind, world.lease, reservation, start=1, end=3), name, fits)


def test_what_nobody_has_registered_is_limited_as_configured(world: World) -> None:
    keeper = Keeper({"hosts": 1})
    world = keeper.limits(world, LeaseSettings(limits=LimitSettings(open_leases=2, open_leases_by_project={"alt": 1})))
    for start in (1, 2):
        world.lease(hosts(), start=start, end=start + 1)
    error = refused(world, TooManyLeasesError, world.lease, hosts(), start=4, end=5)
    assert error.details == {"limit": 2, "open": 2}
    world.lease(start=1, end=2, caller=ALT)
    refused(world, TooManyLeasesError, world.lease, start=1, end=2, caller=ALT)
    # What is registered holds, be it more or less, and whatever is configured for single projects.
    keeper.registered, keeper.own, keeper.seconds = {"leases": 0}, {("alt", "leases"): -1}, CACHED
    assert world.lease(start=1, end=2, caller=ALT)
    refused(world, TooManyLeasesError, world.lease, start=4, end=5)


def test_an_amendment_is_limited_only_where_it_asks_for_more(world: World) -> None:
    keeper = Keeper()
    world = keeper.limits(world)
    lease = world.lease(hosts(2), start=1, end=4)
    keeper.registered, keeper.seconds = {"hosts": 1, "host_hours_ahead": 1, "leases": 0}, CACHED
    assert world.amend(lease, name="other")
    assert world.amend(lease, end=3)
    assert from_keystone(refused(world, AmendmentDeniedError, world.amend, lease, end=4), "hosts", 1)
    assert world.amend(lease, {"min": 1, "max": 1})
    assert from_keystone(refused(world, AmendmentDeniedError, world.amend, lease, end=4), "host_hours_ahead", 1)


@pytest.mark.parametrize("on_failure", list(OnFailure))
def test_while_keystone_is_away_new_leases_wait_or_go_by_what_was_known(world: World, on_failure: OnFailure) -> None:
    keeper = Keeper({"hosts": 2}, away=True)
    world = keeper.limits(world, on_failure=on_failure)
    error = refused(world, NotKnownNowError, world.lease, hosts(), start=1, end=2)
    assert (error.code, error.status) == ("leasehold.enforcement.not_known", 503)
    keeper.away, keeper.seconds = False, 10
    lease = world.lease(hosts(), start=1, end=4)
    keeper.away, keeper.seconds = True, 10 + CACHED - 1
    assert world.lease(hosts(), start=1, end=2)
    keeper.seconds += 2
    if on_failure is OnFailure.REFUSE:
        refused(world, NotKnownNowError, world.lease, hosts(), start=2, end=3)
        refused(world, NotKnownNowError, world.amend, lease, end=5)
    else:
        assert world.lease(hosts(), start=2, end=3)
        assert from_keystone(refused(world, TooMuchHeldError, world.lease, hosts(3), start=2, end=3), "hosts", 0)
    # What asks for nothing more needs nobody's answer, nor does a deletion.
    assert world.amend(lease, end=3)
    assert world.amend(lease, name="kept")
    world.delete(lease)


def test_a_project_to_which_no_filter_applies_is_not_asked_about(world: World) -> None:
    keeper = Keeper({"leases": 0}, away=True)
    world = keeper.limits(world, LeaseSettings(limits=LimitSettings(exempt_projects=frozenset({"demo"}))))
    assert world.lease(hosts(), start=1, end=2)
    assert keeper.asked == 0


def test_no_request_costs_a_statement_more_and_keystone_is_asked_once_in_half_a_minute(world: World) -> None:
    keeper = Keeper({"hosts": 4, "leases": 9})
    world.lease(hosts(), start=1, end=2)
    plain = Meter(world.engine).of(lambda: world.lease(hosts(), start=1, end=2))["statements"]
    world = keeper.limits(world)
    world.lease(hosts(), start=2, end=3)
    assert Meter(world.engine).of(lambda: world.lease(hosts(), start=2, end=3))["statements"] == plain
    keeper.seconds = CACHED / 2 - 1
    world.lease(hosts(), start=3, end=4)
    assert keeper.asked == 1
    keeper.seconds += 1
    world.lease(hosts(), start=4, end=5)
    assert keeper.asked == 2


def test_an_offer_for_an_amendment_that_asks_for_less_keeps_the_order_of_the_locks(world: World) -> None:
    """The factory's databases refuse a transaction that locks a project after a pool."""
    rack = {"resource_properties": '["==", "$rack", "r2"]'}
    world.lease(hosts(1, 5, **rack), start=1, end=4, caller=ALT)
    lease = world.lease(hosts(2), start=1, end=2)
    world = Keeper({"host_hours_ahead": 9, "hosts": 9}).limits(
        world, LeaseSettings(limits=LimitSettings(open_leases=None, totals={}))
    )
    error = refused(world, NotEnoughError, world.amend, lease, {"min": 1, "max": 1, **rack})
    assert error.refusal.nearest.start == world.hour(4)


def test_without_an_account_for_limits_the_service_does_not_start(world: World) -> None:
    settings = Settings().having(UnifiedLimitsSettings(enabled=True))
    with pytest.raises(ConfigurationError, match=r"\[unified_limits\] enabled: name in this section the account"):
        enforcing(settings, world.cloud)
    assert enforcing(Settings(), world.cloud) == ()


@dataclass
class Ledger:
    """What was granted, hour by hour: an account of its own, without the code under test."""

    granted: dict[str, tuple[Caller, Mapping[str, int], int, int]] = field(default_factory=dict)

    def allows(self, most: Mapping[str, int], caller: Caller, asked: Mapping[str, int], start: int, end: int) -> bool:
        of_project = [each for each in self.granted.values() if each[0].project_id == caller.project_id]
        for suffix, held in (("", of_project), ("_per_user", [each for each in of_project if each[0] == caller])):
            found = {"leases": len(held) + 1}
            for name, amount in asked.items():
                at = [sum(each[1].get(name, 0) for each in held if each[2] <= hour < each[3]) for hour in range(12)]
                found[name] = max(at[start:end]) + amount
            if "hosts" in asked:
                hours = sum(each[1].get("hosts", 0) * (each[3] - each[2]) for each in held)
                found["host_hours_ahead"] = hours + asked["hosts"] * (end - start)
            if any(amount > most.get(name + suffix, amount) >= 0 for name, amount in found.items()):
                return False
        return True


REQUESTS = (
    (hosts(), {"hosts": 1}),
    (hosts(2), {"hosts": 2}),
    (instances(2, 2), {"vcpus": 4, "memory_mb": 1024}),
    (floating_ips(), {"floating_ips": 1}),
)
LIKELY = {"leases": 6, "hosts": 2, "vcpus": 6, "memory_mb": 1600, "floating_ips": 2, "host_hours_ahead": 9}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_exactly_what_the_limits_of_the_moment_allow_is_granted(world: World, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - a reproducible choice, no secret.
    configured = {name: LIKELY[name] + 1 for name in NAMES}
    limits = LimitSettings(
        open_leases=configured["leases"], totals={name: configured[name] for name in NAMES if name != "leases"}
    )
    keeper, ledger, made, verdicts = Keeper(), Ledger(), dict[str, "Lease"](), set()
    world = keeper.limits(world, LeaseSettings(limits=limits, rebinding_seconds=0.0))
    for _ in range(70):
        deed = random.random()
        if deed < 0.15:
            name = random.choice(LIMITED)
            value = random.choice([-1, 0, LIKELY[name.removesuffix("_per_user")], 2 * LIKELY["leases"]])
            if random.random() < 0.5:
                keeper.registered[name] = value
            else:
                keeper.own[random.choice([DEMO, ALT]).project_id, name] = value
            keeper.seconds += CACHED
        elif deed < 0.3 and made:
            ident = random.choice(sorted(made))
            del ledger.granted[ident]
            world.delete(made.pop(ident))
            run_for(world, seconds=0)
        else:
            caller, (reservation, asked) = random.choice([DEMO, MATE, ALT]), random.choice(REQUESTS)
            start = random.randint(1, 6)
            end = start + random.randint(1, 4)
            own = {name: most for (project, name), most in keeper.own.items() if project == caller.project_id}
            allowed = ledger.allows(configured | keeper.registered | own, caller, asked, start, end)
            try:
                lease = world.lease(reservation, start=start, end=end, caller=caller)
            except LimitExceededError:
                assert not allowed
                verdicts.add(False)
            except NotEnoughError:
                assert allowed
            else:
                assert allowed
                verdicts.add(True)
                made[lease.id], ledger.granted[lease.id] = lease, (caller, asked, start, end)
    assert verdicts == {True, False}
    audit(world)
