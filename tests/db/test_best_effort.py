"""Best-effort leases on each database: who decides beside the process that draws never leases what is held."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from leasehold.db.leases.hold import held_in_vain, held_resources
from leasehold.db.tables import resources
from leasehold.model.errors import NotEnoughError
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import hosts, make_service, open_service, run_for
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

EACH = 4
"""Leases that each process asks for."""


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with make_service(database_url, hosts=("cmp-01",)) as made:
        made.share("cmp-02", "cmp-06", "cmp-07")
        yield made


def another(world: World) -> World:
    """Return the same service as another process has it."""
    url = world.engine.url.render_as_string(hide_password=False)
    return open_service(url, clock=world.clock)


def effort(world: World, number: int, **more: float) -> Lease:
    return world.lease(hosts(number), type=LeaseType.BEST_EFFORT, **more)  # type: ignore[arg-type]


def test_what_is_held_is_kept_and_another_process_decides_by_it(world: World) -> None:
    other = another(world)
    before = other.lease(hosts(1), start=10, end=11)
    lease = effort(world, 2, end=4)
    with world.service.db.reading() as connection:
        held = [each.label for each in held_resources(connection, lease.id)]
        assert (held, held_in_vain(connection)) == (["cmp-01", "cmp-02"], [])
        assert held_resources(connection, before.id) == []
    found = other.get(lease).waiting
    assert found is not None
    assert found.draws == {world.host("cmp-02").number}
    with pytest.raises(NotEnoughError):
        other.lease(hosts(1), start=20, end=21)
    run_for(other, minutes=1)
    assert other.holds(lease) == {"cmp-01": 1, "cmp-02": 1}
    assert other.lease(hosts(2), start=20, end=21)
    run_for(other, seconds=5)
    audit(world)
    audit_cloud(world)
    other.engine.dispose()


def test_a_hold_without_a_lease_that_waits_is_seen(world: World) -> None:
    lease = effort(world, 2, end=4)
    world.execute(update(resources).where(resources.c.id == world.host("cmp-02").id).values(held_for="nobody"))
    with world.service.db.reading() as connection:
        assert [each.label for each in held_in_vain(connection)] == ["cmp-02"]
    world.delete(lease)
    with world.service.db.reading() as connection:
        assert [each.label for each in held_resources(connection)] == ["cmp-02"]


def test_two_processes_never_lease_one_host_twice(world: World) -> None:
    """Both ask for best-effort leases and for plain ones at the same time: every host is promised once."""
    both = [world, another(world)]
    barrier = Barrier(len(both))
    made: list[Lease] = []

    def ask(mine: World) -> None:
        barrier.wait()
        for number in range(EACH):
            with suppress(NotEnoughError):
                made.append(effort(mine, 2, end=4) if number % 2 else mine.lease(hosts(1), end=4))

    with ThreadPoolExecutor(len(both)) as pool:
        for done in [pool.submit(ask, each) for each in both]:
            done.result()
    run_for(world, minutes=40)
    granted = [each for each in made if world.status(each) == "ACTIVE"]
    assert granted
    taken = [label for each in granted for label in world.holds(each)]
    assert len(taken) == len(set(taken))
    with world.service.db.reading() as connection:
        assert held_resources(connection) == []
    audit(world)
    audit_cloud(world)
    both[1].engine.dispose()
