"""Findings of the database audit are repaired if the service may decide that without an operator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import delete, insert, select, update

from leasehold.db import tables
from leasehold.db.engine import reading, writing
from leasehold.leasing.audit.db import audit_database
from leasehold.leasing.audit.repair import repair
from leasehold.manager.reconciler import reconcile
from tests.factory import run_manager, run_until
from tests.unit.leasing.looking import AT_ONCE, lease_of_everything

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World


@pytest.fixture
def lease(world: World) -> Lease:
    return lease_of_everything(world)


def test_lost_work_is_brought_back(world: World, lease: Lease) -> None:
    with writing(world.engine) as connection:
        connection.execute(delete(tables.tasks).where(tables.tasks.c.subject == lease.id))
    (found,) = reconcile(world.service, AT_ONCE)
    assert (found.kind, found.subject) == ("work", lease.id)
    run_until(world, world.hour(4.5))
    assert world.get(lease).status == "TERMINATED"
    with reading(world.engine) as connection:
        assert audit_database(connection, world.now()) == []


def test_what_a_deleted_lease_keeps_is_given_back(world: World, lease: Lease) -> None:
    world.delete(lease)
    run_manager(world)
    with writing(world.engine) as connection:
        mine = tables.allocations.c.lease_id == lease.id
        connection.execute(update(tables.allocations).where(mine).values(released_at=None))
    (found,) = reconcile(world.service, AT_ONCE)
    assert (found.kind, found.subject) == ("kept", lease.id)
    run_manager(world)
    with reading(world.engine) as connection:
        assert audit_database(connection, world.now()) == []


def test_an_overbooking_is_never_mended_by_taking_a_lease_away(world: World, lease: Lease) -> None:
    with writing(world.engine) as connection:
        row = connection.execute(select(tables.allocations).where(tables.allocations.c.lease_id == lease.id)).first()
        assert row is not None
        connection.execute(insert(tables.allocations), {key: row._mapping[key] for key in row._mapping if key != "id"})
    with reading(world.engine) as connection:
        found = audit_database(connection, world.now())
    assert {each.kind for each in found} == {"overbooked"}
    assert [repair(world.service, each) for each in found] == [None]
