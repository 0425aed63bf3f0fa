"""Requests that were refused together are explained together, and each gets the answer that it would get alone."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest

from leasehold.conf.settings import LeaseSettings, Settings
from leasehold.features.held_offer.use import make_offer
from leasehold.leasing.batch import EXPLAINED
from leasehold.leasing.deciding.queue import Queued, Queues
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import NotEnoughError
from leasehold.model.lease import Lease
from leasehold.model.resource import HOST_POOL
from tests.at_once import outcome, together
from tests.factory import DEMO, World, hosts, make_service
from tests.processes import wait_for
from tests.race.test_batches import asks, counted
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")
LARGE = '[">=", "$vcpus", "8"]'
KEY = EXPLAINED, frozenset({HOST_POOL})
"""For what those wait that were refused in a batch of hosts."""


@pytest.fixture
def world(database_url: str) -> Iterator[World]:
    with make_service(database_url, hosts=HOSTS) as made:
        made.lease(hosts(), start=800, end=801)
        yield made


def explained_together(world: World, refused: int, *works: Callable[[World], Any]) -> list[Any]:
    """Do all of this in one batch, and what was refused in the next one, behind an explanation that takes its time."""
    queues, opened = Queues(), Event()

    def wait(_: Sequence[Queued]) -> None:
        assert opened.wait(60)

    with ThreadPoolExecutor(2) as threads:
        try:
            threads.submit(lambda: queues.decide(Queued(KEY, ""), wait))
            wait_for(lambda: queues.busy(KEY))
            found = threads.submit(together, world, *works, queues=queues)
            wait_for(lambda: len(queues._waiting[KEY]) == refused or found.done())
        finally:
            opened.set()
        return found.result()


def wants(count: int, start: float = 1) -> Callable[[World], Lease]:
    return lambda world: world.lease(hosts(count), start=start, end=start + 1)


def test_each_is_told_what_it_is_told_alone(world: World) -> None:
    alone = [outcome(partial(wants(count), world)) for count in (5, 6, 7)]
    found = explained_together(world, 4, wants(5), asks(1), wants(6), wants(4), wants(7))
    assert isinstance(found[1], Lease)
    assert all(isinstance(each, NotEnoughError) for each in (*alone, *found[::2], found[3]))
    # One of the hosts is the other's by then, and four are together from the next hour on.
    largest = [each.details["largest"] for each in (found[0], found[2], found[4])]
    assert (largest, {each.details["largest"] for each in alone}) == ([3, 3, 3], {4})
    assert found[3].details["nearest"] == outcome(partial(wants(4), world)).details["nearest"]
    audit(world)


@pytest.mark.parametrize(("granted", "updates"), [(0, 2), (1, 2 + 3)], ids=["at once", "in the next batch"])
def test_they_share_their_transaction(granted: int, updates: int, tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=HOSTS) as world:
        world.lease(hosts(), start=800, end=801)
        with counted(world) as alone:
            outcome(partial(wants(5), world))
        with counted(world) as seen:
            explained_together(world, 8, *[wants(5)] * 8, *[asks(1)] * granted)
    # They count the use and move the pool once, and twice if that of one stays, when that of the others is given back.
    rest = seen[seen.index("COMMIT") :]
    assert (alone.count("UPDATE"), rest.count("UPDATE")) == (2, updates), (seen, alone)


def _reference(world: World) -> Any:
    try:
        return wants(5)(world)
    except NotEnoughError as error:
        return ref(error)


@pytest.mark.parametrize("granted", [0, 1])
def test_they_leave_nothing_to_the_garbage_collector(granted: int, world: World) -> None:
    gc.collect()
    gc.disable()
    try:
        found = explained_together(world, 8, *[_reference] * 8, *[asks(1)] * granted)
        assert [each() for each in found[:8]] == [None] * 8
    finally:
        gc.enable()


def test_room_that_can_be_made_is_made(world: World) -> None:
    """A lease that has not started moves to another host, which no batch does."""
    small = world.lease(hosts(), start=1, end=2)
    assert world.holds(small) == {"cmp-01": 1}
    large = hosts(resource_properties=LARGE)
    found = explained_together(world, 3, *[lambda gated: gated.lease(large, start=1, end=2)] * 3, wants(9))
    made = [each for each in found if isinstance(each, Lease)]
    assert {label for each in made for label in world.holds(each)} == {"cmp-01", "cmp-02"}
    assert [type(each) for each in found if each not in made] == [NotEnoughError] * 2
    audit(world)


def test_what_a_late_offer_holds_goes_to_who_is_refused(world: World) -> None:
    hold = timedelta(minutes=2)
    draft = LeaseDraft("offered", world.hour(1), world.hour(2), reservations=(hosts(4),), hold=hold)
    make_offer(world.service, DEMO, draft)
    world.clock.advance(seconds=hold.total_seconds() + 1)

    found = together(world, *[wants(4)] * 3, wants(5))
    assert [isinstance(each, Lease) for each in found].count(True) == 1
    assert isinstance(found[3], NotEnoughError)
    audit(world)


def test_who_comes_after_the_time_is_over_is_explained_alone(database_url: str) -> None:
    settings = Settings(leases=LeaseSettings(explanation_seconds=0))
    with make_service(database_url, settings=settings, hosts=HOSTS) as world:
        world.lease(hosts(), start=800, end=801)
        found = explained_together(world, 2, wants(5), wants(6))
    assert all(isinstance(each, NotEnoughError) for each in found)


def _until_nine(world: World, lease: Lease) -> Lease:
    return world.amend(lease, end=9)


def test_amendments_are_told_how_late_they_can_end(world: World) -> None:
    mine = [world.lease(hosts(2), start=1, end=2) for _ in range(2)]
    world.lease(hosts(4), start=3, end=4)
    later = [partial(_until_nine, lease=each) for each in mine]
    alone = [outcome(partial(each, world)) for each in later]
    found = explained_together(world, 2, *later)
    assert [(type(each), each.details) for each in found] == [(type(each), each.details) for each in alone]
    assert all(isinstance(each, NotEnoughError) for each in found)
