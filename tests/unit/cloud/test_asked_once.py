"""The cloud of one request: each look-up is made once, and all calls share one deadline."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.asked_once import asked_once
from leasehold.cloud.ports import CloudTransientError
from leasehold.cloud.sandbox.faults import Fault
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.create import create_lease
from leasehold.model.draft import LeaseChanges, LeaseDraft
from leasehold.model.errors import CloudUnavailableError
from tests.factory import DEMO, flavors

if TYPE_CHECKING:
    from tests.factory import World

SILENT = 3600 * 1000
"""Latency, in milliseconds, of a call that never returns."""


@dataclass
class Steady:
    """A steady clock that advances by the duration of each call, and records the durations."""

    seconds: float = 100.0
    slept: list[float] = field(default_factory=list)

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds


@pytest.fixture
def steady(world: World) -> Steady:
    """Return a clock that advances by the latency of each call to the world's cloud."""
    clock = Steady()
    world.cloud.faults._sleep = clock.sleep
    return clock


def test_many_parts_with_one_flavor_are_one_look_up(world: World, steady: Steady) -> None:
    world.cloud.faults.set(Fault("flavors.get", latency_ms=1))
    draft = LeaseDraft("many", world.hour(1), world.hour(2), reservations=(flavors(),) * 20, fingerprint="a")
    with asked_once(world.cloud, 10, steady.now) as cloud:
        assert len(create_lease(replace(world.service, cloud=cloud), DEMO, draft).reservations) == 20
    assert len(steady.slept) == 1


def test_an_amendment_looks_a_flavor_up_once_too(world: World, steady: Steady) -> None:
    lease = world.lease(flavors(), flavors(), flavors(), start=1, end=2)
    changes = tuple({"id": part.id, "flavor_id": "m1.medium"} for part in lease.reservations)
    world.cloud.faults.set(Fault("flavors.get", latency_ms=1))
    with asked_once(world.cloud, 10, steady.now) as cloud:
        amend_lease(replace(world.service, cloud=cloud), lease.id, LeaseChanges(reservations=changes))
    assert len(steady.slept) == 1


def test_the_next_request_asks_again(world: World) -> None:
    with asked_once(world.cloud, 10) as cloud:
        assert cloud.flavors.get("m1.small") is not None
        world.cloud.flavors.delete("m1.small")
        assert cloud.flavors.get("m1.small") is not None
    with asked_once(world.cloud, 10) as cloud:
        assert cloud.flavors.get("m1.small") is None


def test_a_silent_cloud_ends_a_request_at_its_deadline(world: World, steady: Steady) -> None:
    world.cloud.faults.set(Fault("flavors.get", latency_ms=SILENT))
    draft = LeaseDraft("one", world.hour(1), world.hour(2), reservations=(flavors(), flavors()), fingerprint="a")
    with asked_once(world.cloud, 20, steady.now) as cloud, pytest.raises(CloudUnavailableError):
        create_lease(replace(world.service, cloud=cloud), DEMO, draft)
    assert steady.slept == [20.0]


def test_calls_after_the_deadline_are_not_made(world: World, steady: Steady) -> None:
    world.cloud.faults.set(Fault("flavors.list", latency_ms=SILENT))
    with asked_once(world.cloud, 20, steady.now) as cloud:
        for _ in range(3):
            with pytest.raises(CloudTransientError):
                cloud.flavors.list()
        with pytest.raises(CloudTransientError, match="time for calls to the cloud is over"):
            cloud.aggregates.get("freepool")
    assert steady.slept == [20.0]
    world.cloud.faults.clear()
    assert world.cloud.aggregates.get("freepool") is not None
