"""The audit reports nothing about a consistent database, and names each inconsistency written into it."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import delete, insert, select, update

from leasehold.db import tables
from leasehold.db.engine import reading, writing
from leasehold.leasing.audit.db import audit_database
from tests.factory import flavors, floating_ips, hosts, instances, run_manager, run_until

if TYPE_CHECKING:
    from sqlalchemy import Executable

    from leasehold.model.finding import Finding
    from leasehold.model.lease import Lease
    from tests.factory import World


def findings(world: World) -> list[Finding]:
    with reading(world.engine) as connection:
        return audit_database(connection, world.now())


def spoil(world: World, statement: Executable) -> None:
    with writing(world.engine) as connection:
        connection.execute(statement)


@pytest.fixture
def lease(world: World) -> Lease:
    """Return an active lease of two hosts, beside leases in other states."""
    mine = world.lease(hosts(2), start=0, end=2)
    world.lease(instances(3), flavors(2), floating_ips(1), start=0, end=1)
    world.delete(world.lease(hosts(1), start=3, end=4))
    world.lease(hosts(1), start=3, end=4)
    run_manager(world)
    return world.get(mine)


def test_books_that_agree(world: World, lease: Lease) -> None:
    assert findings(world) == []
    run_until(world, world.hour(5))
    assert findings(world) == []


def promise_again(world: World, lease: Lease, **changes: Any) -> None:
    """Insert a second allocation of a host of the lease, as a service that decides twice would."""
    with writing(world.engine) as connection:
        row = connection.execute(select(tables.allocations).where(tables.allocations.c.lease_id == lease.id)).first()
        assert row is not None
        values = {**row._mapping, **changes}
        del values["id"]
        connection.execute(insert(tables.allocations), values)


def test_a_host_that_is_promised_twice(world: World, lease: Lease) -> None:
    promise_again(world, lease)
    (found,) = findings(world)
    assert found.kind == "overbooked"
    assert "as a whole and again" in found.what
    assert lease.reservations[0].id in found.what


def test_slots_beyond_what_a_host_has(world: World, lease: Lease) -> None:
    second = world.lease(instances(1), start=3, end=4)
    promise_again(world, second, slots=10_000)
    (found,) = findings(world)
    assert found.kind == "overbooked"
    assert "VCPU of" in found.what


def test_one_after_the_other_is_not_twice(world: World, lease: Lease) -> None:
    row = lease.reservations[0].allocations[0]
    start = int(row.window.end.timestamp())
    promise_again(world, lease, starts_at=start, ends_at=start + 60)
    assert findings(world) == []


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        (update(tables.reservations).values(status="pending"), "its reservation .* is pending"),
        (update(tables.reservations).values(missing_resources=True), "lost resources and it is not degraded"),
        (update(tables.events).where(tables.events.c.type == "start_lease").values(status="UNDONE"), "is UNDONE"),
        (update(tables.events).where(tables.events.c.type == "end_lease").values(time=None), "has another time"),
        (delete(tables.events).where(tables.events.c.type == "end_lease"), "it has no event end_lease"),
    ],
)
def test_parts_that_disagree(world: World, lease: Lease, spoilt: Any, said: str) -> None:
    table = spoilt.table
    spoil(world, spoilt.where(table.c.lease_id == lease.id))
    found = [each for each in findings(world) if each.kind == "status"]
    assert {each.subject for each in found} == {lease.id}
    assert any(re.search(said, each.what) for each in found)


@pytest.mark.parametrize(
    "spoilt", [delete(tables.tasks), update(tables.tasks).values(due_at=None)], ids=["no task", "a task without a time"]
)
def test_work_that_is_lost(world: World, lease: Lease, spoilt: Any) -> None:
    spoil(world, spoilt.where(tables.tasks.c.subject == lease.id))
    (found,) = findings(world)
    assert (found.kind, found.subject) == ("work", lease.id)


def test_a_task_for_nothing(world: World, lease: Lease) -> None:
    values = {"kind": "lease", "subject": "nobody", "due_at": None, "attempts": 0}
    spoil(world, insert(tables.tasks).values(values))
    (found,) = findings(world)
    assert (found.kind, found.subject) == ("work", "nobody")


def test_work_that_nobody_takes_up(world: World, lease: Lease) -> None:
    world.clock.set(world.hour(2) + timedelta(minutes=6))
    assert {found.kind for found in findings(world)} == {"late"}
    run_manager(world)
    assert findings(world) == []


def test_resources_that_a_lease_keeps_after_its_end(world: World, lease: Lease) -> None:
    run_until(world, world.hour(2.5))
    spoil(world, update(tables.allocations).where(tables.allocations.c.lease_id == lease.id).values(released_at=None))
    (found,) = findings(world)
    assert (found.kind, found.subject) == ("kept", lease.id)
    assert "cmp-01, cmp-02" in found.what
