"""Stacking: how many leases, hosts and host hours ahead a user, or a project, may have."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.model.caller import Caller
from leasehold.model.errors import (
    AmendmentDeniedError,
    LimitExceededError,
    NotEnoughError,
    TooManyHoursError,
    TooManyLeasesError,
    TooMuchHeldError,
)
from tests.factory import ALT, DEMO, World, floating_ips, hosts, run_for
from tests.refused import refused
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from leasehold.model.lease import Lease

MATE = Caller("mallory", DEMO.project_id)
"""Another user of the same project."""
ELSEWHERE = Caller(DEMO.user_id, ALT.project_id)


def limited(world: World, **limits: Any) -> World:
    return world.with_settings(leases=LeaseSettings(limits=LimitSettings(**limits)))


def test_a_user_has_so_many_leases_open_in_a_project_and_no_more(world: World) -> None:
    world = limited(world, user_open_leases=1)
    lease = world.lease(hosts(), start=1, end=2)
    error = refused(world, TooManyLeasesError, world.lease, start=5, end=6)
    assert (error.code, error.status) == ("leasehold.enforcement.open_leases", 403)
    assert error.details == {"limit": 1, "open": 1, "of": "user"}
    for caller in (MATE, ELSEWHERE):
        assert world.lease(start=5, end=6, caller=caller)
    assert world.amend(lease, end=3)
    world.delete(lease)
    assert world.lease(start=5, end=6)


def test_a_user_has_so_many_hosts_at_one_moment_and_no_more(world: World) -> None:
    world = limited(world, user_hosts=2)
    lease = world.lease(hosts(2), start=1, end=2)
    error = refused(world, TooMuchHeldError, world.lease, hosts(), start=1, end=2)
    assert error.details == {"what": "hosts", "limit": 2, "asked": 1, "held": 2, "of": "user"}
    assert world.lease(floating_ips(), start=1, end=2)
    assert world.lease(hosts(2), start=1, end=2, caller=MATE)
    later = world.lease(hosts(2), start=2, end=3)
    refused(world, AmendmentDeniedError, world.amend, lease, end=2.5)
    refused(world, AmendmentDeniedError, world.amend, lease, {"min": 3, "max": 3})
    assert world.amend(lease, {"min": 1, "max": 1})
    assert world.amend(later, start=2.5)
    assert world.amend(lease, end=2.5)


@pytest.mark.parametrize(("limit", "caller"), [("user_host_hours", DEMO), ("project_host_hours", MATE)])
def test_host_hours_ahead_are_limited_and_those_that_have_passed_do_not_count(
    world: World, limit: str, caller: Caller
) -> None:
    world = limited(world, **{limit: 10})
    lease = world.active(hosts(2), start=0, end=4)
    error = refused(world, TooManyHoursError, world.lease, hosts(), start=5, end=7.5, caller=caller)
    assert (error.code, error.status, error.field) == ("leasehold.enforcement.hours", 403, "reservations")
    assert error.details == {"limit": 10, "asked": 2.5, "held": 8.0, "of": limit.split("_", maxsplit=1)[0]}
    assert world.lease(hosts(), start=5, end=7, caller=caller)
    refused(world, AmendmentDeniedError, world.amend, lease, end=5)
    run_for(world, hours=1)
    assert world.amend(lease, end=5)
    refused(world, TooManyHoursError, world.lease, hosts(), start=10, end=11, caller=caller)
    assert world.lease(hosts(), start=10, end=11, caller=ELSEWHERE)


def test_what_is_over_a_limit_that_came_later_may_be_lessened_and_renamed(world: World) -> None:
    lease = world.lease(hosts(4), start=1, end=9)
    world = limited(world, user_open_leases=0, user_hosts=1, user_host_hours=1, project_host_hours=1)
    assert world.amend(lease, name="other")
    assert world.amend(lease, end=8)
    assert world.amend(lease, {"min": 3, "max": 3})
    refused(world, AmendmentDeniedError, world.amend, lease, end=9)


def test_an_offer_for_an_amendment_that_asks_for_less_keeps_the_order_of_the_locks(world: World) -> None:
    """The factory's databases refuse a transaction that locks a project after a pool."""
    rack = {"resource_properties": '["==", "$rack", "r2"]'}
    world.lease(hosts(1, 5, **rack), start=1, end=4, caller=ALT)
    lease = world.lease(hosts(2), start=1, end=2)
    world = limited(world, user_host_hours=9, open_leases=None, totals={})
    error = refused(world, NotEnoughError, world.amend, lease, {"min": 1, "max": 1, **rack})
    assert error.refusal.nearest.start == world.hour(4)


def test_an_exempt_project_may_pile_up_what_it_wants(world: World) -> None:
    limits = LimitSettings(user_open_leases=0, user_hosts=0, exempt_projects=frozenset({DEMO.project_id}))
    world = world.with_settings(leases=LeaseSettings(limits=limits))
    assert world.lease(hosts(2))
    refused(world, TooManyLeasesError, world.lease, caller=ALT)


@dataclass
class Ledger:
    """What was granted, hour by hour: an account of its own, without the code under test."""

    most: dict[str, int]
    granted: dict[str, tuple[Caller, int, int, int]] = field(default_factory=dict)

    def allows(self, caller: Caller, amount: int, start: int, end: int, now: int) -> bool:
        project = [each for each in self.granted.values() if each[0].project_id == caller.project_id and each[3] > now]
        mine = [each for each in project if each[0] == caller]
        at_once = max(sum(each[1] for each in mine if each[2] <= hour < each[3]) for hour in range(start, end))
        ahead = {
            name: sum(each[1] * (each[3] - max(each[2], now)) for each in held) + amount * (end - start)
            for name, held in (("user_host_hours", mine), ("project_host_hours", project))
        }
        return (
            len(mine) < self.most["user_open_leases"]
            and at_once + amount <= self.most["user_hosts"]
            and all(hours <= self.most[name] for name, hours in ahead.items())
        )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_exactly_what_the_limits_allow_is_granted(world: World, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - a reproducible choice, no secret.
    most = {"user_open_leases": 4, "user_hosts": 2, "user_host_hours": 12, "project_host_hours": 18}
    world, ledger, now, made = limited(world, **most), Ledger(most), 0, dict[str, "Lease"]()
    verdicts = set()
    for _ in range(60):
        deed = random.random()
        if deed < 0.15:
            run_for(world, hours=1)
            now += 1
        elif deed < 0.3 and ledger.granted:
            ident = random.choice(sorted(ledger.granted))
            if ledger.granted.pop(ident)[3] > now:
                world.delete(made[ident])
                run_for(world, seconds=0)
        else:
            caller, amount, start = random.choice([DEMO, MATE]), random.randint(1, 2), now + random.randint(0, 6)
            end = start + random.randint(1, 4)
            allowed = ledger.allows(caller, amount, start, end, now)
            verdicts.add(allowed)
            if allowed:
                lease = world.lease(hosts(amount), start=start, end=end, caller=caller)
                made[lease.id], ledger.granted[lease.id] = lease, (caller, amount, start, end)
            else:
                refused(world, LimitExceededError, world.lease, hosts(amount), start=start, end=end, caller=caller)
    assert verdicts == {True, False}
    audit(world)
