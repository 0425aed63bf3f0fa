"""Laws of pieces, against brute force: fewest, soonest, exact, apart and in their hours, also after moves."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leasehold.conf.settings import LeaseSettings
from leasehold.features.flexible import use
from leasehold.features.flexible.model import NoPiecesError, Strategy
from leasehold.features.flexible.moving import move_all
from leasehold.features.flexible.pieces import fewest
from leasehold.leasing.reading.queries import get_lease
from leasehold.model.errors import InvalidInputError, LeaseholdError, NotEnoughError
from tests.factory import ALT, START, Clock, hosts, make_service
from tests.features.flexible.making import HOUR, flexible, pieces
from tests.features.flexible.test_law import moving_freely, on
from tests.features.flexible.test_use import written
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.features.flexible.use import Placed
    from leasehold.model.lease import Lease
    from tests.factory import World

Span = tuple[int, int]


def least_end(gaps: Sequence[Span], whole: int, least: int, apart: int) -> tuple[int, int] | None:
    """Return the fewest pieces, and when the last of them ends at the soonest, of all ways to cut on whole numbers."""
    horizon = max((end for _, end in gaps), default=0)
    level = {(0, 0)}
    for count in range(1, whole // least + 1):
        # Where the last piece ends, and how much all have.
        level = {
            (end, had + end - start)
            for before, had in level
            for start in range(before + (apart if had else 0), horizon)
            for end in range(start + least, min(horizon, start + whole - had) + 1)
            if any(begin <= start and end <= until for begin, until in gaps)
        }
        if ends := [end for end, had in level if had == whole]:
            return count, min(ends)
    return None


@st.composite
def gaps_of(draw: st.DrawFn) -> list[Span]:
    found = draw(st.lists(st.tuples(st.integers(0, 14), st.integers(1, 6)), max_size=6))
    spans = sorted({(start, start + length) for start, length in found})
    inner = {one for one in spans for other in spans if one != other and other[0] <= one[0] and one[1] <= other[1]}
    return [each for each in spans if each not in inner]


@given(gaps_of(), st.integers(1, 12), st.integers(1, 4), st.integers(0, 2))
@example([(0, 4), (2, 6), (4, 8)], 8, 4, 0)
@example([(0, 3), (2, 5), (4, 7)], 7, 2, 0)
@example([(7, 14), (10, 16), (14, 21), (17, 23)], 16, 4, 0)
@settings(max_examples=150, deadline=None)
def test_they_are_the_fewest_and_of_these_the_soonest(gaps: list[Span], whole: int, least: int, apart: int) -> None:
    found, best = fewest(gaps, whole, least, apart), least_end(gaps, whole, least, apart)
    assert bool(found) == (best is not None)
    if not found or best is None:
        return
    assert sum(end - start for start, end in found) == whole
    assert all(end - start >= least for start, end in found)
    assert all(any(begin <= start and end <= until for begin, until in gaps) for start, end in found)
    assert all(one[1] + apart <= other[0] for one, other in pairwise(found))
    assert (len(found), found[-1][1]) == best


NAMES = ("cmp-01", "cmp-02")
BUSY = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 14), st.integers(1, 5)), max_size=6)
NIGHTS = [(0, 5), (9, 16)]
"""Two stretches of time, in units after the start of the test."""
UNIT = 7 / 60
"""In hours, so that what is free seldom begins on a full hour."""


def in_hours(world: World, spans: Sequence[Span]) -> tuple[str, ...]:
    """Return the hours of these stretches, on the day of the test."""
    return tuple(f"{world.hour(start * UNIT):%H:%M}-{world.hour(end * UNIT):%H:%M}" for start, end in spans)


@pytest.mark.slow
@given(
    busy=BUSY,
    amount=st.integers(1, 2),
    whole=st.integers(1, 9),
    least=st.integers(1, 3),
    strategy=st.sampled_from(Strategy),
    nights=st.sampled_from([True, False]),
    clean=st.sampled_from([0, 1]),
)
@example(
    busy=[("cmp-01", 4, 5), ("cmp-01", 9, 5), ("cmp-02", 0, 2), ("cmp-02", 5, 5), ("cmp-02", 10, 5)],
    amount=1,
    whole=5,
    least=1,
    strategy=Strategy.SOONEST,
    nights=False,
    clean=0,
)
@settings(max_examples=60, deadline=None)
def test_whoever_fits_in_pieces_gets_the_fewest(
    busy: list[tuple[str, int, int]],
    amount: int,
    whole: int,
    least: int,
    strategy: Strategy,
    *,
    nights: bool,
    clean: int,
) -> None:
    whole = max(whole, least)
    with TemporaryDirectory() as folder, make_service(Path(folder), clock=Clock(), hosts=NAMES) as plain:
        world = plain.with_settings(leases=LeaseSettings(cleaning_time=clean * UNIT * HOUR))
        taken: dict[str, list[Span]] = {name: [] for name in NAMES}
        for name, start, length in busy:
            with suppress(NotEnoughError):
                world.lease(on(name), start=start * UNIT, end=(start + length) * UNIT)
                taken[name].append((start, start + length))
        stretches = NIGHTS if nights else [(0, 16)]
        alone = [
            (start, end)
            for begin, until in stretches
            for start in range(begin, until)
            for end in range(start + 1, until + 1)
            if idle(taken, start, end, clean) >= amount
        ]
        gaps = [
            one
            for one in alone
            if not any(one != other and other[0] <= one[0] and one[1] <= other[1] for other in alone)
        ]
        best = least_end(gaps, whole, least, 0)
        before = written(world)
        hours = in_hours(world, NIGHTS) if nights else ()
        try:
            placed = flexible(
                world, 16 * UNIT, whole * UNIT, hosts(amount), piece=least * UNIT, strategy=strategy, hours=hours
            )
        except (NoPiecesError, InvalidInputError):
            # With time to clean between pieces it is not always found where the last one was given back.
            assert best is None or (clean and amount > 1)
            assert written(world) == before
            return
        found = [(round(start / UNIT, 6), round(end / UNIT, 6)) for start, end in pieces(world, placed)]
        assert best is not None
        assert sum(end - start for start, end in found) == whole
        assert all(end - start >= min(least, whole) for start, end in found)
        assert all(any(begin <= start and end <= until for begin, until in stretches) for start, end in found)
        assert all(one[1] <= other[0] for one, other in pairwise(found))
        if not (clean and amount > 1):
            assert len(found) == best[0]
            assert strategy is Strategy.SLEEP or found[-1][1] == best[1]
        audit(world)


def idle(taken: dict[str, list[Span]], start: int, end: int, clean: int) -> int:
    """Return on how many hosts nothing is then, nor so many hours before and after."""
    return sum(all(until + clean <= start or begin >= end + clean for begin, until in taken[name]) for name in NAMES)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["cut", "cut", "firm", "delete", "delete", "look", "terms", "fix", "pass"]),
        st.integers(0, 20),
        st.integers(1, 6),
    ),
    min_size=5,
    max_size=20,
)


@pytest.mark.slow
@given(STEPS)
@example([("firm", 1, 3), ("cut", 8, 5), ("firm", 2, 6), ("look", 0, 1), ("delete", 0, 1), ("look", 0, 1)])
@settings(max_examples=25, deadline=None)
def test_whatever_moves_pieces_stay_apart_and_their_sum_is_exact(steps: list[tuple[str, int, int]]) -> None:
    with moving_freely(*NAMES) as world:
        made: list[tuple[Placed, int]] = []
        # Nobody gets more than three hours at a time on all hosts, until some of these leases are deleted.
        firm = [world.lease(hosts(2), start=start, end=start + 1, caller=ALT) for start in range(3, 30, 4)]
        for number, (what, first, second) in enumerate(steps):
            world.clock.advance(microseconds=1)
            now = int((world.now() - START) / HOUR) + 1
            with suppress(LeaseholdError):
                if what == "cut":
                    strategy, whole = list(Strategy)[number % 2], 3 + second
                    asked = hosts(1 + number % 2)
                    earliest = now + first // 8
                    placed = flexible(
                        world, earliest + whole + first, whole, asked, earliest=earliest, piece=1, strategy=strategy
                    )
                    made.append((placed, whole))
                elif what == "firm":
                    firm.append(
                        world.lease(
                            hosts(1 + number % 2), start=now + first / 2, end=now + first / 2 + second, caller=ALT
                        )
                    )
                elif what == "delete" and firm:
                    world.delete(firm.pop(first % len(firm)))
                elif what == "look":
                    move_all(world.service)
                elif what == "pass":
                    world.clock.advance(hours=second)
                elif what in ("terms", "fix") and made:
                    placed, _ = made[first % len(made)]
                    one = placed.pieces[second % len(placed.pieces)].id
                    if what == "fix":
                        use.fix_flexible(world.service, one)
                    else:
                        terms = use.get_flexible(world.service, one).flexible.terms
                        use.amend_flexible(world.service, one, replace(terms, earliest=world.hour(now + first / 2)))
            for placed, whole in made:
                found = pieces_left(world, placed)
                assert sum(each.window.duration / HOUR for each in found) == whole
                assert all(each.window.duration >= HOUR for each in found)
                assert all(each.window.end <= placed.flexible.terms.latest for each in found)
                assert all(one.window.end <= other.window.start for one, other in pairwise(found))
            audit(world)


def pieces_left(world: World, placed: Placed) -> list[Lease]:
    """Return the leases of a request, by their starts: also those that were fixed."""
    found = [get_lease(world.service, each.id) for each in placed.pieces]
    return sorted(found, key=lambda each: each.window)
