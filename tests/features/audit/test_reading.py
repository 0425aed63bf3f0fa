"""What an audit reads, in few statements and little at a time, and the state gauges, on every database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.allocation import each_allocation
from leasehold.db.engine import reading
from leasehold.db.leases import listed
from leasehold.db.state_gauges import read_state_gauges
from leasehold.db.tables import leases
from leasehold.features.audit import database as audit
from leasehold.features.audit.database import audit_database
from leasehold.features.audit.reading import kept_allocations, leases_using, types_in_use
from leasehold.metrics.state_gauges import ResourceGauges, StateGauges
from leasehold.model.allocation import Allocation
from leasehold.model.lease import Lease
from leasehold.model.resource import HOST_POOL
from tests.db.examples import statements
from tests.factory import World, floating_ips, hosts, instances, make_service, run_manager, run_until
from tests.objects import counting, counting_at_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow

NAMES = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")


def statements_of_an_audit(world: World) -> int:
    with statements(world.engine) as sent:
        check_audit(world)
    return len(sent)


def check_audit(world: World) -> None:
    with reading(world.engine) as connection:
        assert audit_database(connection, world.now()) == []


def test_promises_on_several_hosts_are_read_at_once(database_url: str) -> None:
    with make_service(database_url, hosts=NAMES) as world:
        world.lease(hosts(1), start=1, end=2)
        few = statements_of_an_audit(world)
        world.lease(hosts(4), start=3, end=4)
        world.lease(instances(6), start=5, end=6)
        assert statements_of_an_audit(world) == few


def test_an_audit_holds_few_leases_at_a_time(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed, "CHUNK", 2)
    monkeypatch.setattr(audit, "CHUNK", 2)
    with make_service(database_url, hosts=NAMES) as world:
        for number in range(20):
            world.lease(hosts(1), start=1 + number, end=2 + number)
        with counting_at_statements(world.engine, Lease) as counts:
            check_audit(world)
        assert max(counts) == 0
        world.execute(update(leases).values(degraded=True))
        with counting_at_statements(world.engine, Lease) as counts, reading(world.engine) as connection:
            assert len(audit_database(connection, world.now())) == 20
    assert 2 <= max(counts) <= 6


def test_promises_are_held_for_one_resource_at_a_time(database_url: str) -> None:
    with make_service(database_url, hosts=NAMES) as world:
        for number in range(5):
            world.lease(hosts(4), start=1 + number, end=2 + number)
        with reading(world.engine) as connection, counting(Allocation) as count:
            now = world.now()
            counts = [count() for _ in kept_allocations(connection, now)]
            read = each_allocation(connection, [HOST_POOL], lease_id=None, reservation_id=None, since=now)
            counts += [count() for _ in read]
    assert len(counts) == 2 * len(NAMES)
    # The allocations of one resource, and those of the previous one until they are replaced.
    assert 5 <= max(counts) <= 2 * 5


def in_use(world: World) -> dict[str, set[str]]:
    """Return the leases of each type that is in use."""
    with reading(world.engine) as connection:
        return {name: set(leases_using(connection, name)) for name in types_in_use(connection)}


def test_a_type_is_in_use_until_nothing_is_left_to_be_done_for_its_reservations(database_url: str) -> None:
    with make_service(database_url, hosts=NAMES) as world:
        assert in_use(world) == {}
        first = world.lease(hosts(1), hosts(1), instances(1), start=0, end=1)
        second = world.lease(hosts(1), start=1, end=2)
        assert in_use(world) == {"physical:host": {first.id, second.id}, "virtual:instance": {first.id}}
        run_until(world, world.hour(0.5))
        world.delete(second)
        # The lease is gone at once; its preparations in the cloud are not yet.
        assert in_use(world) == {"physical:host": {first.id, second.id}, "virtual:instance": {first.id}}
        run_manager(world)
        assert in_use(world) == {"physical:host": {first.id}, "virtual:instance": {first.id}}
        run_until(world, world.hour(1))
        assert in_use(world) == {}


# ---------------------------------------------------------------- the state gauges


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with make_service(database_url, hosts=("cmp-01", "cmp-02", "cmp-06"), addresses=[200]) as made:
        yield made


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


def test_a_disabled_resource_is_neither_healthy_nor_failed(world: World) -> None:
    world.disable("cmp-01", "cmp-02", "203.0.113.200")
    world.fail("cmp-02")
    assert gauges(world).resources == {
        "physical:host": ResourceGauges(1, 1, 0, disabled=1),
        "virtual:floatingip": ResourceGauges(0, 0, 0, disabled=1),
    }
    world.recover("cmp-02")
    world.enable("cmp-01")
    assert gauges(world).resources["physical:host"] == ResourceGauges(2, 0, 0, disabled=1)


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
