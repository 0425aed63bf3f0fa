"""The audit reads the allocations and the users of each type on every database, in few statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import event

from leasehold.db import lease as lease_rows
from leasehold.db.allocation import each_allocation
from leasehold.db.audit import kept_allocations, leases_using, types_in_use
from leasehold.db.engine import reader_of, reading
from leasehold.leasing.audit import db as audit
from leasehold.leasing.audit.db import audit_database
from leasehold.model.allocation import Allocation
from leasehold.model.lease import Lease
from leasehold.model.resource import HOST_POOL
from tests.factory import World, hosts, instances, make_service, run_manager, run_until
from tests.objects import counting, counting_at_statements

if TYPE_CHECKING:
    import pytest

NAMES = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")


def statements(world: World) -> int:
    """Return the number of statements of an audit; it finds nothing."""
    sent: list[str] = []

    def note(*context: object) -> None:
        sent.append(str(context[2]))

    reader = reader_of(world.engine)
    event.listen(reader, "before_cursor_execute", note)
    with reading(world.engine) as connection:
        assert audit_database(connection, world.now()) == []
    event.remove(reader, "before_cursor_execute", note)
    return len([text for text in sent if not text.startswith("BEGIN")])


def test_promises_on_several_hosts_are_read_at_once(database_url: str) -> None:
    with make_service(database_url, hosts=NAMES) as world:
        world.lease(hosts(1), start=1, end=2)
        few = statements(world)
        world.lease(hosts(4), start=3, end=4)
        world.lease(instances(6), start=5, end=6)
        assert statements(world) == few


def test_an_audit_holds_few_leases_at_a_time(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lease_rows, "CHUNK", 2)
    monkeypatch.setattr(audit, "CHUNK", 2)
    with make_service(database_url, hosts=NAMES) as world:
        for number in range(20):
            world.lease(hosts(1), start=1 + number, end=2 + number)
        with reading(world.engine) as connection, counting_at_statements(world.engine, Lease) as counts:
            assert audit_database(connection, world.now()) == []
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


def test_a_type_is_in_use_until_nothing_is_left_to_be_done_for_its_reservations(database_url: str) -> None:
    def in_use() -> dict[str, set[str]]:
        with reading(world.engine) as connection:
            return {name: set(leases_using(connection, name)) for name in types_in_use(connection)}

    with make_service(database_url, hosts=NAMES) as world:
        assert in_use() == {}
        first = world.lease(hosts(1), hosts(1), instances(1), start=0, end=1)
        second = world.lease(hosts(1), start=1, end=2)
        assert in_use() == {"physical:host": {first.id, second.id}, "virtual:instance": {first.id}}
        run_until(world, world.hour(0.5))
        world.delete(second)
        # The lease is gone at once; its preparations in the cloud are not yet.
        assert in_use() == {"physical:host": {first.id, second.id}, "virtual:instance": {first.id}}
        run_manager(world)
        assert in_use() == {"physical:host": {first.id}, "virtual:instance": {first.id}}
        run_until(world, world.hour(1))
        assert in_use() == {}
