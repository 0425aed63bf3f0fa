"""Whole lives of leases on a cloud that fails at random: after the faults stop, every lease converges."""

from __future__ import annotations

import random
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox.faults import ERRORS, Fault
from leasehold.model.errors import LeaseholdError
from tests.factory import flavors, floating_ips, hosts, instances, make_service, run_for, run_manager
from tests.harness.faults import with_chosen_faults
from tests.harness.stage import HOSTS
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

READS = frozenset(
    {"get", "list", "list_floating_ips", "on_host", "on_hosts", "with_flavor", "names", "classes", "inventories"}
)
SHARE_REFUSED = 0.5
"""The share of refusals among the calls that fail without an effect."""
LIVES = 12
TURNS = 40


class Weather:
    """Chooses faults at a rate from 0 to 1: calls may be slow, fail, be refused, half-done or lost."""

    def __init__(self, seed: int) -> None:
        """Start without faults."""
        self._dice = random.Random(seed)  # noqa: S311  repeatable, not secret
        self.rate = 0.0
        self.struck = dict.fromkeys(ERRORS, 0)

    def __call__(self, verb: str, number: int) -> Fault | None:
        if self._dice.random() >= self.rate:
            return None
        error = self._dice.choice(ERRORS)
        if error == "half" and verb.partition(".")[2] in READS:
            error = "before"
        self.struck[error] += 1
        refused = error == "before" and self._dice.random() < SHARE_REFUSED
        return Fault(verb, latency_ms=self._dice.choice((0, 0, 500, 5000)), error=error, permanent=refused)


def turn(world: World, dice: random.Random, leases: list[Lease]) -> None:
    """Do one random action: create, move, grow or delete a lease, break or repair a host, or wait."""
    now = (world.now() - world.hour(0)) / timedelta(hours=1)
    wishes = dice.sample([hosts(before_end="snapshot"), instances(2), flavors(), floating_ips()], dice.randint(1, 4))
    some = dice.choice(leases) if leases else None
    actions: list[Callable[[], object]] = [
        lambda: leases.append(world.lease(*wishes, start=now + dice.choice((0, 0.2)), end=now + dice.uniform(0.5, 2))),
        lambda: some and world.amend(some, end=now + dice.uniform(0.1, 3)),
        lambda: world.delete(some) if some else None,
        lambda: world.fail(dice.choice(sorted(world.hosts))),
        lambda: world.recover(dice.choice(sorted(world.hosts))),
    ]
    try:
        dice.choices(actions, (5, 3, 2, 1, 2))[0]()
    except (LeaseholdError, CloudError):
        return  # Refused, or the cloud did not answer: the client may retry.


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(LIVES))
def test_everything_comes_right_when_the_faults_stop(tmp_path: Path, seed: int) -> None:
    with make_service(tmp_path, hosts=HOSTS, addresses=range(200, 205)) as fair:
        weather = Weather(seed)
        world, faults = with_chosen_faults(fair, sleep=lambda seconds: fair.clock.advance(seconds=seconds))
        faults.begin(weather)
        dice = random.Random(seed)  # noqa: S311  repeatable, not secret
        leases: list[Lease] = []
        for _ in range(TURNS):
            weather.rate = dice.choice((0.05, 0.2, 0.5))
            turn(world, dice, leases)
            run_for(world, seconds=dice.choice((0, 5, 600)))
            audit(world)
        weather.rate = 0.0
        for name in world.hosts:
            world.recover(name)
        run_for(world, hours=1)
        audit(world)
        audit_cloud(world)
        run_for(world, hours=4)
        audit(world)
        audit_cloud(world)
        assert run_manager(world) == 0
        assert leases
        assert all(weather.struck[error] for error in ERRORS), weather.struck
