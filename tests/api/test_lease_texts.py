"""The texts of leases are kept until a lease is another one, and no longer than there is room for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.api.lease_texts import ADMITTED, BESIDE, LeaseTexts
from leasehold.db.tables import leases
from leasehold.leasing.reading.queries import each_lease
from tests.db.examples import statements
from tests.factory import hosts, make_service, run_manager
from tests.stateful.shown import Shown, listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, hosts=("cmp-01", "cmp-02", "cmp-06")) as made:
        for hour in range(3):
            made.lease(hosts(), start=hour, end=hour + 1)
        yield made


def of(world: World, hour: int) -> Lease:
    """Return the lease that begins then."""
    return next(each for each in list(each_lease(world.service, None)) if each.window.start == world.hour(hour))


def test_of_what_has_not_changed_only_its_state_is_read(world: World) -> None:
    texts = LeaseTexts()
    first = listed(world, texts)
    with statements(world.engine) as asked:
        assert listed(world, texts) == first
    assert len(asked) == 1
    world.amend(of(world, 1), name="another")
    with statements(world.engine) as asked:
        found = listed(world, texts)
    assert len(asked) == 3
    assert sum(b'"name":"another"' in each for each in found) == 1
    assert listed(world, LeaseTexts()) == found


def test_what_becomes_of_a_lease_is_shown_at_once(world: World) -> None:
    shown = Shown()
    for hour in range(4):
        world.clock.set(world.hour(hour))
        shown.look(world)
        run_manager(world)
        shown.look(world)
        if hour == 1:
            world.fail(next(iter(world.holds(of(world, hour)))))
            shown.look(world)
    world.delete(of(world, 2))
    shown.look(world)


def test_a_database_that_went_back(world: World) -> None:
    """A lease gets the generation again that another change gave it: it changed at another moment."""
    shown, lease = Shown(), of(world, 0)
    with world.service.db.reading() as connection:
        before = connection.execute(select(leases).where(leases.c.id == lease.id)).mappings().one()
    world.amend(lease, name="one")
    shown.look(world)
    world.execute(
        leases.update()
        .where(leases.c.id == lease.id)
        .values({name: before[name] for name in ("name", "generation", "updated_at")})
    )
    shown.look(world)
    world.clock.advance(microseconds=1)
    after = world.amend(lease, name="two")
    assert after.generation == lease.generation + 1
    shown.look(world)


def kept(texts: LeaseTexts, numbers: Iterable[int]) -> list[int]:
    return [number for number in numbers if texts.get(number) is not None]


def test_there_is_room_for_so_much_and_the_oldest_goes_first() -> None:
    texts = LeaseTexts(3 * (10 + BESIDE))
    for number in range(5):
        texts.keep(number, b"0123456789", 2)
    assert kept(texts, range(5)) == [2, 3, 4]
    for _ in range(ADMITTED):
        texts.keep(5, b"x" * (4 * (10 + BESIDE)))
    assert kept(texts, range(6)) == []


def test_who_reads_more_than_there_is_room_for_in_turn_finds_some() -> None:
    texts = LeaseTexts(100 * (10 + BESIDE))
    found = 0
    for _ in range(20):
        found = 0
        for number in range(200):
            if texts.get(number) is None:
                texts.keep(number, b"0123456789", 200)
            else:
                found += 1
    assert 80 <= found <= 100


def test_ways_to_see_a_lease_are_kept_apart() -> None:
    texts = LeaseTexts()
    seen, other = texts.seen(1), texts.seen(2)
    seen.keep(("id", 1, None), b"text", 1)
    assert (seen.get(("id", 1, None)), other.get(("id", 1, None)), seen.get(("id", 2, None))) == (b"text", None, None)
