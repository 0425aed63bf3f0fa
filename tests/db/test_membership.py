"""The two pools of hosts on each database: who decides beside the process that moves a host never leases it outside."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.db.resources.resource import find_resource, update_resources
from leasehold.db.state_gauges import read_state_gauges
from leasehold.db.tables import allocations, resources
from leasehold.model.errors import InUseError, NotEnoughError
from leasehold.model.membership import LONGEST_REASON, Membership
from leasehold.model.resource import HOST
from tests.db.examples import NOW, enrol
from tests.factory import hosts, make_service, open_service, run_for, run_manager
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.db.store import Database
    from tests.factory import World

pytestmark = pytest.mark.slow


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with make_service(database_url, hosts=("cmp-01",)) as made:
        made.share("cmp-02")
        yield made


def another(world: World) -> World:
    """Return the same service as another process has it."""
    url = world.engine.url.render_as_string(hide_password=False)
    return open_service(url, clock=world.clock)


def test_where_a_resource_is_is_kept_and_counted(db: Database) -> None:
    number = db.transact(lambda connection: enrol(connection, "cmp-1"))
    reason, since = "é" * LONGEST_REASON, NOW + timedelta(microseconds=7)
    values = {"membership": "drawing", "membership_since": since, "membership_reason": reason, "reservable": False}
    db.transact(lambda connection: update_resources(connection, [number], 2, **values))
    with db.reading() as connection:
        found = find_resource(connection, HOST, "cmp-1")
        gauges = read_state_gauges(connection, NOW).resources[HOST]
    assert found is not None
    assert (found.membership, found.membership_since, found.membership_reason) == ("drawing", since, reason)
    assert (gauges.shared, gauges.healthy, gauges.failed) == (1, 0, 0)


def test_what_was_enrolled_without_a_pool_is_in_the_reservation_pool(db: Database) -> None:
    db.transact(lambda connection: enrol(connection, "cmp-1"))
    with db.reading() as connection:
        found = find_resource(connection, HOST, "cmp-1")
        gauges = read_state_gauges(connection, NOW).resources[HOST]
    assert found is not None
    assert (found.membership, found.pooled, found.membership_reason) == (Membership.RESERVATION, True, None)
    assert (gauges.healthy, gauges.shared) == (1, 0)


def test_what_is_not_in_the_reservation_pool_is_not_reservable_for_older_processes(world: World) -> None:
    world.move("cmp-02", "reservation")
    world.move("cmp-01", "shared")
    with world.service.db.reading() as connection:
        assert not any(connection.execute(select(resources.c.reservable)).scalars())
    run_for(world, seconds=30)
    with world.service.db.reading() as connection:
        rows = connection.execute(select(resources.c.membership, resources.c.reservable).order_by(resources.c.number))
        assert [tuple(row) for row in rows] == [("shared", False), ("reservation", True)]


def test_another_process_decides_by_the_pool_at_once(world: World) -> None:
    other = another(world)
    assert other.lease(hosts(1), start=1, end=2)
    with pytest.raises(NotEnoughError):
        other.lease(hosts(2), start=3, end=4)
    world.move("cmp-02", "reservation")
    run_manager(world)
    assert other.lease(hosts(2), start=3, end=4)
    with pytest.raises(InUseError):
        other.move("cmp-02", "shared")
    audit(world)
    other.engine.dispose()


def test_a_host_is_leased_or_given_back_and_never_both(world: World) -> None:
    """Both decisions lock the pool: who comes second is refused."""
    together, processes = Barrier(3), [another(world) for _ in range(2)]

    def lease(process: World, hour: int) -> None:
        together.wait(60)
        with suppress(NotEnoughError):
            process.lease(hosts(1), start=hour, end=hour + 1)

    def give_back() -> None:
        together.wait(60)
        with suppress(InUseError):
            world.move("cmp-01", "shared")

    with ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(lease, process, 2 * hour) for hour, process in enumerate(processes, 1)]
        for done in (*asked, threads.submit(give_back)):
            done.result()
    run_manager(world)
    with world.service.db.reading() as connection:
        promised = connection.execute(select(allocations.c.resource_number)).all()
    assert bool(promised) == world.host("cmp-01").pooled
    audit(world)
    audit_cloud(world)
    for process in processes:
        process.engine.dispose()
