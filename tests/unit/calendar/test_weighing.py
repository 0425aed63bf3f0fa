"""What weighers say of candidates, compared with brute force over single seconds (feature C8)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.weighing import (
    AROUND,
    Candidates,
    FirstFit,
    LeastUsed,
    Pack,
    Random,
    Spread,
    Weigher,
    Weighers,
    by_weight,
)
from leasehold.model.windows import Window, from_seconds
from tests.unit.calendar.oracle import latest
from tests.unit.calendar.strategies import DAY, allocations, calendar_of, pools, resource, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from leasehold.model.resource import Resource
    from tests.unit.calendar.oracle import Row

pytestmark = pytest.mark.slow

ALL: Sequence[Weigher] = (FirstFit(), Pack(), Spread(), LeastUsed(), Random(), Random(7))


class Seen:
    """A weigher that keeps the candidates that it is given."""

    def __init__(self) -> None:
        self.candidates: Candidates | None = None

    def weights(self, candidates: Candidates) -> NDArray[np.float64]:
        self.candidates = candidates
        return np.zeros(candidates.numbers.size)


class Short:
    """A plugin that forgets a candidate."""

    def weights(self, candidates: Candidates) -> NDArray[np.float64]:
        return np.zeros(candidates.numbers.size - 1)


class NoNumber:
    """A plugin whose weights cannot be compared."""

    def weights(self, candidates: Candidates) -> NDArray[np.float64]:
        return np.full(candidates.numbers.size, np.nan)


class Broken:
    """A plugin with a bug."""

    def weights(self, candidates: Candidates) -> NDArray[np.float64]:
        message = "bug"
        raise RuntimeError(message)


def order(weigher: Weigher, pool: Sequence[Resource], rows: Sequence[Row], start: int, end: int) -> list[int]:
    """Return the numbers of all resources of a pool in the order of a weigher, at the moment 0."""
    snapshot = calendar_of(rows, pool).snapshot(from_seconds(0), weighers=Weighers(weigher))
    found = snapshot.ordered(np.arange(len(pool)), Window.of_seconds(start, end), "any")
    return [int(number) for number in snapshot.numbers[found]]


def share(held: Row, of: Resource, classes: set[str]) -> float:
    """Return which share of a resource an allocation takes, of the classes that any resource of the pool has."""
    if held.demand is None:
        return 1.0
    known = held.demand.keys() & classes
    return min(
        1.0, max([held.demand[name] * held.slots / max(1, of.capacity.get(name, 0)) for name in known], default=0)
    )


@given(st.data(), st.integers(0, DAY), st.integers(1, 12))
def test_candidates_say_what_is_reserved_and_how_long_it_is_idle(data: st.DataObject, start: int, length: int) -> None:
    pool = sorted(data.draw(pools(unready=False)), key=lambda each: each.number)
    rows, end, seen = latest(data.draw(allocations(pool))), start + length, Seen()
    order(seen, pool, rows, start, end)
    if len(pool) == 1:
        assert seen.candidates is None
        return
    assert seen.candidates is not None
    known = [[each for each in rows if each.number == one.number and each.start < each.end] for one in pool]
    late = [[(each.start, 1 if each.end <= 0 and not each.released else each.end) for each in own] for own in known]
    classes = {name for one in pool for name in one.capacity}
    reserved = [
        sum(
            share(each, one, classes) * max(0, min(stop, end) - max(begin, start))
            for each, (begin, stop) in zip(own, moments, strict=True)
        )
        for one, own, moments in zip(pool, known, late, strict=True)
    ]
    assert seen.candidates.reserved(start, end).tolist() == pytest.approx(reserved)
    idle = []
    for own in late:
        busy = any(begin < end and stop > start for begin, stop in own)
        left = max([stop for _, stop in own if stop <= start], default=0)
        right = min([begin for begin, _ in own if begin >= end], default=end + AROUND)
        idle.append(0 if busy else start - max(left, 0) + right - end)
    assert seen.candidates.idle().tolist() == idle


def test_what_each_weigher_takes_first() -> None:
    pool = [resource(number) for number in range(1, 6)]
    half, quarter = {"VCPU": 4}, {"VCPU": 2}
    rows = [
        row(1, 0, 90, number=2),
        row(2, 300, 400, number=3),
        row(3, 100, 200, half, number=4),
        row(4, 100, 200, quarter, number=5),
        row(5, 500, 900, number=5),
    ]
    assert order(FirstFit(), pool, rows, 100, 200) == [1, 2, 3, 4, 5]
    assert order(Pack(), pool, rows, 100, 200) == [4, 5, 3, 2, 1]
    assert order(Spread(), pool, rows, 100, 200) == [1, 2, 3, 5, 4]
    assert order(LeastUsed(), pool, rows, 100, 200) == [1, 4, 2, 3, 5]


def test_random_is_the_same_each_time_and_another_for_another_end_or_seed() -> None:
    pool = [resource(number) for number in range(1, 200)]
    mixed = order(Random(), pool, [], 0, 100)
    assert mixed == order(Random(), pool, [], 50, 100)
    assert sorted(mixed) == [each.number for each in pool]
    assert sum(a < b for a, b in pairwise(mixed)) in range(60, 140)
    assert mixed not in (order(Random(), pool, [], 0, 101), order(Random(1), pool, [], 0, 100), sorted(mixed))


@pytest.mark.parametrize("weigher", [Short(), NoNumber(), Broken()], ids=lambda each: type(each).__name__)
def test_a_bug_of_a_plugin_is_logged_and_the_default_is_used(
    weigher: Weigher, caplog: pytest.LogCaptureFixture
) -> None:
    assert order(weigher, [resource(1), resource(2)], [row(1, 0, 1)], 0, 1) == [1, 2]
    assert f"A bug in the weigher {type(weigher).__name__}" in caplog.text


@pytest.mark.parametrize("weigher", ALL, ids=lambda each: type(each).__name__)
def test_no_candidate_is_an_order(weigher: Weigher) -> None:
    pool = [resource(1), resource(2)]
    snapshot = calendar_of((), pool).snapshot(from_seconds(0), weighers=Weighers(FirstFit(), {"one": weigher}))
    for rows in (np.arange(0), np.arange(1)):
        assert snapshot.ordered(rows, Window.of_seconds(0, 1), "one").tolist() == rows.tolist()
    assert by_weight(FirstFit(), lambda: pytest.fail("not asked"), np.arange(2)).tolist() == [0, 1]
