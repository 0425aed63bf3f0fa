"""A turn is one manager's until it is over, and as long as it is kept."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.leasing.turn import Turn

if TYPE_CHECKING:
    from tests.factory import World

MINUTE = timedelta(minutes=1)


def two(world: World, kind: str = "looking") -> tuple[Turn, Turn]:
    return Turn(world.service, "looking", MINUTE), Turn(world.service, kind, MINUTE)


def test_it_is_one_managers_until_it_is_over(world: World) -> None:
    mine, theirs = two(world)
    assert (mine.take(), theirs.take()) == (True, False)
    assert (mine.until, theirs.until) == (world.now() + MINUTE, None)
    world.clock.advance(seconds=59)
    assert (mine.take(), theirs.take()) == (False, False)
    world.clock.advance(seconds=1)
    assert (theirs.take(), mine.take()) == (True, False)


def test_each_kind_of_work_has_its_own(world: World) -> None:
    assert [each.take() for each in two(world, "listening")] == [True, True]


def test_who_keeps_it_has_it_until_another_one_took_it(world: World) -> None:
    mine, theirs = two(world)
    assert (mine.take(), theirs.keep()) == (True, False)
    for _ in range(3):
        world.clock.advance(seconds=50)
        assert (mine.keep(), theirs.take()) == (True, False)
    world.clock.advance(seconds=70)
    # Nobody took it meanwhile, so that it still is ours although it was over.
    assert (mine.keep(), theirs.take()) == (True, False)
    world.clock.advance(seconds=60)
    assert (theirs.take(), mine.keep(), mine.keep()) == (True, False, False)


@pytest.mark.parametrize("every", [1.0, 600.0])
def test_a_turn_for_a_round_is_over_at_the_next(world: World, every: float) -> None:
    mine, theirs = (Turn.of_one_round(world.service, "looking", every) for _ in range(2))
    for _ in range(3):
        assert (mine.take(), theirs.take()) == (True, False)
        world.clock.advance(seconds=every)
