"""The cloud fails: half-done calls and lost answers, one refused call, and whole lives with random faults.

After the faults stop, every lease reaches its required state.
"""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.ports import CloudError, CloudTransientError
from leasehold.cloud.sandbox import seed as planted
from leasehold.cloud.sandbox.faults import ERRORS, Fault
from leasehold.model.errors import LeaseholdError
from tests.factory import (
    Clock,
    flavors,
    floating_ips,
    hosts,
    instances,
    made_service,
    make_service,
    run_for,
    run_manager,
    run_until,
)
from tests.harness.draw_scenes import DRAW_SCENES
from tests.harness.faults import with_chosen_faults
from tests.harness.mix import HOSTS
from tests.harness.scenes import MANAGER_SCENES, lease_of
from tests.selection import WHOLE
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from leasehold.cloud.sandbox.cloud import SandboxCloud
    from leasehold.model.lease import Lease
    from tests.factory import World
    from tests.harness.scenes import Scene

ADDRESS = (planted.NETWORK_ID, planted.SUBNET_ID, "203.0.113.200", "demo", frozenset({"a", "b"}))
SOON = timedelta(minutes=1)
MOST_CALLS = 200
"""More calls than any scene makes, so that an endless scene is detected."""
IN_VAIN = ("time out", "best effort in vain")
SCENES = [scene for scene in (*MANAGER_SCENES, *DRAW_SCENES) if not scene.options and scene.name not in IN_VAIN]
"""Those that need no periodic look at the hosts, and in which a lease is granted."""
READS = frozenset(
    {
        *("get", "list", "list_floating_ips", "ports_at", "on_host", "on_hosts", "with_flavor"),
        *("names", "classes", "inventories"),
    }
)
SHARE_REFUSED = 0.5
"""The share of refusals among the calls that fail without an effect."""
LIVES = 12
TURNS = 40


# ---------------------------------------------------------------- kinds of faults


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[SandboxCloud]:
    with make_service(tmp_path) as world:
        yield world.cloud


def test_half_a_call_leaves_the_first_thing_that_it_wrote(cloud: SandboxCloud) -> None:
    cloud.faults.set(Fault("networks.*", error="half", remaining=1))
    with pytest.raises(CloudTransientError, match="half-way"):
        cloud.networks.create_floating_ip(*ADDRESS)
    there = cloud.networks.floating_ip(planted.NETWORK_ID, "203.0.113.200")
    assert there is not None
    assert there.tags == frozenset()
    assert cloud.networks.create_floating_ip(*ADDRESS).tags == {"a", "b"}


def test_a_call_that_writes_one_thing_is_never_half_done(cloud: SandboxCloud) -> None:
    cloud.faults.set(Fault("*", error="half"))
    cloud.aggregates.add_host("freepool", "cmp-01")
    cloud.faults.clear()
    assert "cmp-01" in cloud.aggregates.list()[0].hosts


def test_a_connection_that_breaks_hides_that_all_was_done(cloud: SandboxCloud) -> None:
    cloud.faults.set(Fault("aggregates.*", error="reset"))
    with pytest.raises(CloudTransientError, match="Connection reset by peer"):
        cloud.aggregates.add_host("freepool", "cmp-01")
    cloud.faults.clear()
    assert "cmp-01" in cloud.aggregates.list()[0].hosts


# ---------------------------------------------------------------- one refused call


def play(prepared: Path, moment: datetime, scene: Scene, refused: int | None) -> list[str]:
    """Go on from a database at a moment, refuse one call, and be right a minute later; return the calls."""

    def refuse(verb: str, number: int) -> Fault | None:
        return Fault(verb, error="before", permanent=True) if number == refused else None

    with TemporaryDirectory() as place, made_service(prepared, Path(place), Clock(moment)) as fair:
        world, faults = with_chosen_faults(fair)
        faults.begin(refuse)
        run_until(world, world.now() + SOON)
        calls, lease = list(faults.calls), lease_of(world)
        found = None if lease is None else (lease.status, lease.status_reason)
        assert scene.right(world), (refused, refused is not None and calls[refused], found)
        assert lease is None or lease.status_reason is None, found
        audit(world)
        audit_cloud(world)
        run_for(world, hours=7)
        audit(world)
        audit_cloud(world)
        lease = lease_of(world)
        assert lease is None or lease.status == "TERMINATED"
        return calls


@pytest.mark.slow
@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_one_refused_call_ends_no_promise(tmp_path: Path, scene: Scene) -> None:
    with make_service(tmp_path, hosts=HOSTS, addresses=range(200, 203)) as world:
        scene.setting(world)
    prepared = tmp_path / "leasehold.db"
    calls = play(prepared, world.now(), scene, None)
    assert 0 < len(calls) < MOST_CALLS
    for place in chosen(calls, SCENES.index(scene)):
        play(prepared, world.now(), scene, place)


def chosen(calls: Sequence[str], first: int) -> list[int]:
    """Return the places of the calls to refuse: the first of each verb and each third of all; all if `WHOLE`."""
    return [place for place, verb in enumerate(calls) if WHOLE or verb not in calls[:place] or (place + first) % 3 == 0]


# ---------------------------------------------------------------- random faults


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
