"""Whole lives of leases on a cloud that fails at random: after the faults stop, every lease converges."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox.cloud import SandboxCloud
from leasehold.cloud.sandbox.faults import ERRORS
from leasehold.model.errors import LeaseholdError
from tests.factory import flavors, floating_ips, hosts, instances, make_service, run_for, run_manager
from tests.fault.weather import Weather
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

LIVES = 12
TURNS = 40


def stormy(world: World, seed: int) -> tuple[World, Weather]:
    """Return the world with random faults in its cloud."""
    weather = Weather(world.engine, seed, sleep=lambda seconds: world.clock.advance(seconds=seconds))
    for name in ("hypervisors", "aggregates", "flavors", "servers", "images", "providers", "networks"):
        getattr(world.cloud, name).faults = weather
    cloud = replace(world.cloud, faults=weather)
    assert isinstance(cloud, SandboxCloud)
    return replace(world, cloud=cloud), weather


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
    with make_service(
        tmp_path, hosts=("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03"), addresses=range(200, 205)
    ) as fair:
        world, weather = stormy(fair, seed)
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
