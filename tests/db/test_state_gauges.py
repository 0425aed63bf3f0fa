"""The state gauges, on every database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.state_gauges import read_state_gauges
from leasehold.metrics.state_gauges import ResourceGauges, StateGauges
from tests.factory import Clock, World, floating_ips, hosts, make_schema, open_service, run_manager, run_until

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    make_schema(database_url)
    world = open_service(database_url, clock=Clock())
    world.enrol("cmp-01", "cmp-02", "cmp-06")
    world.enrol_addresses(200)
    yield world
    world.service.db.engine.dispose()


def gauges(world: World) -> StateGauges:
    with world.service.db.reading() as connection:
        return read_state_gauges(connection, world.now())


def test_books_without_a_lease(world: World) -> None:
    counted = gauges(world)
    assert (counted.due, counted.claimed, counted.retrying, counted.oldest_due_seconds) == (0, 0, 0, 0.0)
    assert set(counted.leases.values()) == {0}
    assert counted.resources == {
        "physical:host": ResourceGauges(3, 0, 0),
        "virtual:floatingip": ResourceGauges(1, 0, 0),
    }


def test_what_a_lease_holds_counts_from_its_start_until_it_is_released(world: World) -> None:
    lease = world.lease(hosts(2), floating_ips(), start=1, end=2)
    run_manager(world)
    before = gauges(world)
    assert (before.leases["PENDING"], before.resources["physical:host"].held) == (1, 0)
    run_until(world, world.hour(1))
    during = gauges(world)
    assert (during.leases["ACTIVE"], during.resources["physical:host"].held) == (1, 2)
    assert during.resources["virtual:floatingip"].held == 1
    run_until(world, world.hour(2))
    after = gauges(world)
    assert (after.leases["TERMINATED"], after.resources["physical:host"].held) == (1, 0)
    world.delete(lease)
    run_manager(world)
    assert set(gauges(world).leases.values()) == {0}


def test_work_is_due_then_waits_for_another_try(world: World) -> None:
    world.lease(hosts(), start=0, end=2)
    world.clock.advance(seconds=7)
    waiting = gauges(world)
    assert (waiting.due, waiting.retrying, waiting.oldest_due_seconds) == (1, 0, 7.0)
    world.cloud.faults.set(Fault("*", error="before"))
    run_manager(world)
    failed = gauges(world)
    assert (failed.due, failed.retrying, failed.oldest_due_seconds) == (0, 1, 0.0)


def test_failed_hosts_and_the_leases_they_hurt(world: World) -> None:
    world.lease(hosts(3), start=0, end=2)
    run_manager(world)
    world.fail("cmp-02")
    world.heal()
    run_manager(world)
    counted = gauges(world)
    assert counted.resources["physical:host"] == ResourceGauges(healthy=2, failed=1, held=2)
    assert counted.degraded == 1
