"""A worker that lost its claim makes no more calls, and its last call is cleaned up; a slow worker keeps going."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.conf.settings import ManagerSettings, Settings
from tests.factory import Clock, during_a_step, floating_ips, hosts, instances, make_service, run_for, run_manager
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.factory import World

pytestmark = pytest.mark.slow

INSTANT = Settings(manager=ManagerSettings(claim_seconds=1e-6))
"""A claim so short that the worker checks it before every call."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(
        tmp_path, clock=Clock(), settings=INSTANT, hosts=("cmp-01", "cmp-02"), addresses=(200, 201)
    ) as made:
        yield made


def test_a_worker_that_was_overtaken_does_nothing_more(world: World) -> None:
    lease = world.lease(hosts(), instances(), floating_ips(), start=0, end=1)

    def overtake() -> None:
        """Let another manager start the lease, and its owner delete it, while this manager is stuck in a call."""
        world.cloud.faults.clear()
        world.clock.advance(seconds=1)
        run_manager(world)
        assert world.get(lease).status == "ACTIVE"
        world.delete(lease)
        run_manager(world)
        assert not world.exists(lease)

    during_a_step(world, overtake)
    # The call in progress still created an empty aggregate. No later call took effect.
    assert [each.name for each in world.cloud.aggregates.list()] == ["freepool", lease.reservations[0].id]
    assert world.members("freepool") == {"cmp-01", "cmp-02"}
    run_for(world, seconds=5)
    assert [each.name for each in world.cloud.aggregates.list()] == ["freepool"]
    audit(world)
    audit_cloud(world)


def test_what_an_ended_lease_is_left_with_by_a_late_call_goes_by_itself(world: World) -> None:
    lease = world.lease(hosts(), instances(), start=0, end=1)

    def overtake() -> None:
        """Let another manager start and end the lease."""
        world.cloud.faults.clear()
        world.clock.advance(seconds=1)
        run_for(world, hours=2)
        assert world.get(lease).status == "TERMINATED"

    during_a_step(world, overtake)
    assert [each.name for each in world.cloud.aggregates.list()] == ["freepool", lease.reservations[0].id]
    run_for(world, seconds=5)
    assert [each.name for each in world.cloud.aggregates.list()] == ["freepool"]
    audit(world)
    audit_cloud(world)


def test_a_worker_that_is_slow_keeps_its_claim_and_finishes(world: World) -> None:
    lease = world.lease(hosts(), instances(), floating_ips(), start=0, end=1)
    during_a_step(world, lambda: world.clock.advance(seconds=30))
    assert world.get(lease).status == "ACTIVE"
    audit_cloud(world)
