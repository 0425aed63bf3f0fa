"""Leases that are asked for while another one is read are read together, and each request gets its own."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from leasehold.db.engine import reader_of
from leasehold.features.held_offer.use import make_offer
from leasehold.leasing.deciding.queue import Queued
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.reading import queries
from leasehold.leasing.reading.queries import get_lease
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import NotFoundError
from leasehold.model.lease import Lease
from tests.at_once import all_behind, first_commit_held
from tests.factory import DEMO, World, hosts, instances, make_service
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path


def reads(lease_id: str) -> Callable[[World], Lease]:
    return lambda world: get_lease(world.service, lease_id)


@pytest.fixture
def statements(world: World) -> Iterator[list[str]]:
    """What is sent to read."""
    seen: list[str] = []

    def executed(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement)

    event.listen(reader_of(world.engine), "before_cursor_execute", executed)
    yield seen
    event.remove(reader_of(world.engine), "before_cursor_execute", executed)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let who waits do so for as long as it takes until all wait, also on a busy machine."""
    monkeypatch.setattr(queries._Wanted, "patience", 60)


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with make_service(database_url, hosts=("cmp-01", "cmp-02")) as made:
        yield made


@pytest.mark.usefixtures("patient")
def test_each_gets_its_own(world: World, statements: list[str]) -> None:
    leases = [world.lease(hosts(), instances(1, vcpus=1), start=2 * n, end=2 * n + 1) for n in range(1, 9)]
    there = [world.get(each) for each in leases]
    delete_lease(world.service, leases[0].id)
    draft = LeaseDraft("offer", world.hour(50), world.hour(51), reservations=(hosts(),), hold=timedelta(minutes=5))
    offer = make_offer(world.service, DEMO, draft)
    wanted = [*(each.id for each in leases), offer.id, "unknown", leases[3].id]
    statements.clear()
    first, *found = all_behind(world, reads(leases[1].id), *map(reads, wanted), writes=False)
    assert sum(each.startswith("SELECT") for each in statements) == 6
    assert first == there[1]
    gone, *rest = found
    assert rest[:7] == there[1:]
    assert rest[9] == there[3]
    assert [type(each) for each in (gone, rest[7], rest[8])] == [NotFoundError] * 3


@pytest.mark.usefixtures("patient")
def test_one_that_comes_after_a_change_sees_it(world: World) -> None:
    """The read that is under way began before the change, so who comes after the change does not get what it finds."""
    lease = world.lease(hosts(), start=2, end=3)

    def deleted_then_read(gated: World) -> Any:
        delete_lease(world.service, lease.id)
        return get_lease(gated.service, lease.id)

    before, after = all_behind(world, reads(lease.id), deleted_then_read, writes=False)
    assert before.id == lease.id
    assert isinstance(after, NotFoundError)


@pytest.mark.usefixtures("patient")
def test_a_lost_connection_is_each_ones_own(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=("cmp-01",)) as world:
        lease = world.lease(hosts(), start=2, end=3)
        sent, lost = itertools.count(), 1

        def lose(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            # The first reads by itself, the second is the one of those that waited for it.
            if "leases.id IN" in statement and next(sent) == lost:
                raise OSError("The connection is lost.")

        event.listen(reader_of(world.engine), "before_cursor_execute", lose)
        found = all_behind(world, reads(lease.id), reads(lease.id), reads(lease.id), reads(lease.id), writes=False)
        assert next(sent) == 4
        assert [type(each) for each in found] == [Lease, OSError, Lease, Lease]


def test_nobody_waits_for_a_connection_that_has_died(tmp_path: Path) -> None:
    """It is noticed after a minute, and who reads by it waits for that; the others read by themselves."""
    with make_service(tmp_path, hosts=("cmp-01",)) as world, ThreadPoolExecutor(4) as threads:
        lease = world.lease(hosts(), start=2, end=3)
        with first_commit_held(world.engine, writes=False) as (reached, opened):
            first = threads.submit(world.get, lease)
            assert reached.wait(60)
            others = [threads.submit(world.get, lease) for _ in range(3)]
            assert [each.result(60) for each in others] == [world.get(lease)] * 3
            assert not first.done()
            opened.set()
            assert first.result(60) == world.get(lease)


def test_nobody_waits_for_a_batch_whose_connection_has_died(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=("cmp-01",)) as world, ThreadPoolExecutor(4) as threads:
        lease, queues = world.lease(hosts(), start=2, end=3), world.service.queues
        batches: list[int] = []
        ends = [Event(), Event()]

        def stall(batch: Sequence[Queued]) -> None:
            batches.append(len(batch))
            assert ends[len(batches) - 1].wait(60)

        alone = threads.submit(queues.decide, Queued("leases", ""), stall)
        wait_for(lambda: len(batches) == 1)
        leading = threads.submit(queues.decide, Queued("leases", ""), stall)
        wait_for(lambda: queues.waiting == 1)
        reading = threads.submit(world.get, lease)
        wait_for(lambda: queues.waiting == 2 or reading.done())
        ends[0].set()
        alone.result(60)
        assert reading.result(60).id == lease.id
        assert not leading.done()
        ends[1].set()
        leading.result(60)
