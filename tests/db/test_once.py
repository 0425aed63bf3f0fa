"""Requests of several processes at the same time (feature A15): each amendment counts, and each key counts once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, select

from leasehold.db.tables import idempotency_keys
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.reading import queries
from leasehold.model.draft import LeaseChanges, Once
from leasehold.model.errors import LeaseholdError
from tests.factory import hosts, make_service, open_service

if TYPE_CHECKING:
    from collections.abc import Iterator

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOUR = LeaseChanges(end_by=timedelta(hours=1))


@pytest.fixture
def worlds(database_url: str) -> Iterator[list[World]]:
    """Return two processes of one service."""
    with make_service(database_url, hosts=("cmp-01", "cmp-02")) as world:
        other = open_service(world.engine.url.render_as_string(hide_password=False), clock=world.clock)
        yield [world, other]
        other.engine.dispose()


def once(key: str, lease: Lease) -> Once:
    return Once("demo", key, f"extend {lease.id}")


def extend(world: World, lease: Lease, key: str) -> str:
    try:
        return str(amend_lease(world.service, lease.id, HOUR, once=once(key, lease)).window.end)
    except LeaseholdError as error:
        return error.code


def keys(world: World) -> int:
    with world.service.db.reading() as connection:
        return int(connection.execute(select(func.count()).select_from(idempotency_keys)).scalar_one())


def test_extensions_at_the_same_time_all_count(worlds: list[World]) -> None:
    lease = worlds[0].lease(hosts(), start=1, end=2)
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(extend, worlds, [lease, lease], ["one", "two"]))
    assert sorted(ends) == [str(worlds[0].hour(3)), str(worlds[0].hour(4))]
    assert keys(worlds[0]) == 2


def test_the_same_request_at_the_same_time_counts_once(worlds: list[World]) -> None:
    lease = worlds[0].lease(hosts(), start=1, end=2)
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(extend, worlds, [lease, lease], ["one", "one"]))
    assert ends == [str(worlds[0].hour(3))] * 2
    assert (worlds[0].get(lease).window.end, keys(worlds[0])) == (worlds[0].hour(3), 1)


def test_one_key_for_two_leases_at_the_same_time_counts_for_one(worlds: list[World]) -> None:
    leases = [worlds[0].lease(hosts(), start=1, end=2) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        ends = list(pool.map(extend, worlds, leases, ["one", "one"]))
    assert sorted(ends) == [str(worlds[0].hour(3)), "leasehold.conflict"]
    assert sorted(worlds[0].get(each).window.end for each in leases) == [worlds[0].hour(2), worlds[0].hour(3)]
    assert keys(worlds[0]) == 1


@pytest.mark.parametrize("amount", [1, 2])
def test_the_same_creation_at_the_same_time_makes_one_lease(worlds: list[World], amount: int) -> None:
    """With an amount of 2 there is nothing left for the second request, which would be refused without its key."""
    for start in range(1, 4):

        def make(world: World, start: int = start) -> str:
            return world.lease(hosts(amount), start=start, end=start + 1, key=f"key {start}").id

        with ThreadPoolExecutor(4) as pool:
            made = set(pool.map(make, [*worlds, *worlds]))
        assert len(made) == 1
    assert keys(worlds[0]) == 3
    assert len(list(queries.each_lease(worlds[0].service, None))) == 3


def test_a_refused_request_keeps_no_key(worlds: list[World]) -> None:
    lease = worlds[0].lease(hosts(2), start=1, end=2)
    worlds[0].lease(hosts(2), start=2, end=3)
    assert extend(worlds[1], lease, "one") == "leasehold.resources.not_enough"
    assert keys(worlds[0]) == 0
