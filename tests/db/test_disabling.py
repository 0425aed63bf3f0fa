"""Disabled resources on each database: who decides beside the process that disables a host never leases it again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.db.tables import allocations, resources
from leasehold.model.errors import NotEnoughError
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import OPERATOR, make_service, open_service, run_manager
from tests.stateful.audit import audit
from tests.unit.leasing.test_heal_missing import only

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.factory import World

pytestmark = pytest.mark.slow

EACH = 8
"""Leases that each process asks for."""


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with make_service(database_url, hosts=("cmp-01", "cmp-02")) as made:
        yield made


def another(world: World) -> World:
    """Return the same service as another process has it."""
    url = world.engine.url.render_as_string(hide_password=False)
    return open_service(url, clock=world.clock)


def test_the_flag_is_kept_and_another_process_decides_by_it(world: World) -> None:
    other = another(world)
    assert other.lease(only("cmp-01"), end=1)
    world.disable("cmp-01", reason="a fan is broken: \N{FIRE}")
    with pytest.raises(NotEnoughError):
        other.lease(only("cmp-01"), start=2, end=3)
    assert other.lease(only("cmp-01"), start=2, end=3, caller=OPERATOR, use_disabled=True)
    waits = other.lease(only("cmp-01"), start=4, end=5, type=LeaseType.WAITLIST, deadline=world.hour(6))
    assert waits.waits
    other.enable("cmp-01")
    run_manager(world)
    assert (world.status(waits), world.holds(waits)) == ("PENDING", {"cmp-01": 1})
    audit(world)
    other.engine.dispose()


def test_no_lease_is_decided_on_a_host_after_it_was_disabled(world: World) -> None:
    """The generation of a pool orders its decisions: none after that of the flag has an allocation on the host."""
    together, processes = Barrier(3), [another(world) for _ in range(2)]

    def lease(process: World, first: int) -> None:
        together.wait(60)
        for start in range(first, first + 2 * EACH, 2):
            with suppress(NotEnoughError):
                process.lease(only("cmp-01"), start=start, end=start + 1)

    def disable() -> None:
        together.wait(60)
        world.disable("cmp-01")

    with ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(lease, process, first) for first, process in enumerate(processes, 1)]
        for done in (*asked, threads.submit(disable)):
            done.result()
    with world.service.db.reading() as connection:
        host = connection.execute(select(resources).where(resources.c.disabled)).one()
        of_host = select(allocations.c.generation).where(allocations.c.resource_number == host.number)
        made = connection.execute(of_host).scalars().all()
    assert all(each < host.generation for each in made)
    for process in processes:
        with pytest.raises(NotEnoughError):
            process.lease(only("cmp-01"), start=90, end=91)
        process.engine.dispose()
    audit(world)
