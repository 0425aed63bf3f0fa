"""Every world of these tests checks the order of locks (`tests/factory.py`); here, the check itself is tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.db.leases.lease import find_lease
from leasehold.db.pool import lock_pools
from leasehold.db.project import enter
from leasehold.db.task import LEASE, hurry_task
from tests.factory import DEMO, floating_ips, hosts, run_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from tests.factory import World

IN_ORDER: list[tuple[str, Callable[[Connection], object]]] = [
    ("project_use", lambda connection: enter(connection, DEMO.project_id)),
    ("hosts", lambda connection: lock_pools(connection, {"hosts"})),
    ("floatingips", lambda connection: lock_pools(connection, {"floatingips"})),
    ("leases", lambda connection: find_lease(connection, "nobody's", lock=True)),
    ("tasks", lambda connection: hurry_task(connection, LEASE, "nobody's", None)),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("first", range(1, len(IN_ORDER)))
def test_a_lock_out_of_order_is_seen(world: World, first: int) -> None:
    def work(connection: Connection) -> None:
        IN_ORDER[first][1](connection)
        IN_ORDER[first - 1][1](connection)

    with pytest.raises(AssertionError, match="is locked after"):
        world.service.db.transact(work)


def test_locks_in_order_are_fine_and_may_be_taken_again(world: World) -> None:
    def work(connection: Connection) -> None:
        for _, lock in IN_ORDER:
            lock(connection)
        for _, lock in reversed(IN_ORDER):
            lock(connection)

    world.service.db.transact(work)


def test_the_life_of_a_lease_takes_its_locks_in_order(world: World) -> None:
    lease = world.lease(hosts(), floating_ips(), start=0, end=2)
    run_for(world, hours=1)
    world.amend(lease, end=3)
    world.fail(next(iter(world.holds(lease))))
    run_for(world, hours=4)
    other = world.lease(hosts(), start=5, end=6)
    run_for(world, hours=1)
    world.delete(other)
    run_for(world, hours=1)
    assert not world.exists(other)
