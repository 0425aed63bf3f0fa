"""Leases that are asked for while another one is read are read together, and each request gets its own."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from leasehold.db.engine import reader_of
from leasehold.features.held_offer.use import make_offer
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.reading.queries import get_lease
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import NotFoundError
from leasehold.model.lease import Lease
from tests.at_once import all_behind
from tests.factory import DEMO, World, hosts, instances, make_service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
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
def world(database_url: str) -> Iterator[World]:
    with make_service(database_url, hosts=("cmp-01", "cmp-02")) as made:
        yield made


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


def test_one_that_comes_after_a_change_sees_it(world: World) -> None:
    """The read that is under way began before the change, so who comes after the change does not get what it finds."""
    lease = world.lease(hosts(), start=2, end=3)

    def deleted_then_read(gated: World) -> Any:
        delete_lease(world.service, lease.id)
        return get_lease(gated.service, lease.id)

    before, after = all_behind(world, reads(lease.id), deleted_then_read, writes=False)
    assert before.id == lease.id
    assert isinstance(after, NotFoundError)


def test_a_lost_connection_is_each_ones_own(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=("cmp-01",)) as world:
        lease = world.lease(hosts(), start=2, end=3)
        lost: list[str] = []

        def lose(_connection: object, _cursor: object, statement: str, *_: object) -> None:
            if "leases.id IN" in statement and not lost:
                lost.append(statement)
                raise OSError("The connection is lost.")

        event.listen(reader_of(world.engine), "before_cursor_execute", lose)
        found = all_behind(world, reads(lease.id), reads(lease.id), reads(lease.id), reads(lease.id), writes=False)
        assert len(lost) == 1
        assert [type(each) for each in found] == [Lease, OSError, Lease, Lease]
