"""A calendar's memory is bounded by its allocations, and its work by the number of distinct values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.index import LEAST_DEMANDS
from leasehold.calendar.outlines import MOST_OUTLINES
from leasehold.calendar.search import SlotSpread
from leasehold.model.allocation import Pick
from leasehold.model.properties import Comparison, ordered
from leasehold.model.windows import Window
from tests.unit.calendar.oracle import Row, Shape, columns
from tests.unit.calendar.strategies import calendar_of, first_slots, resource, row, snapshot_of

if TYPE_CHECKING:
    from leasehold.calendar.snapshot import Snapshot

NOW = datetime(1970, 1, 1, tzinfo=UTC)
HOUR = Window(NOW + timedelta(hours=1), NOW + timedelta(hours=2))
COUNTS = {"comparisons": 0}


class CountingText(str):
    """A string that counts its comparisons."""

    __slots__ = ()

    def __lt__(self, other: str) -> bool:
        COUNTS["comparisons"] += 1
        return str.__lt__(self, other)

    def __gt__(self, other: str) -> bool:
        COUNTS["comparisons"] += 1
        return str.__gt__(self, other)


def size(vcpus: int) -> dict[str, int]:
    return {"VCPU": vcpus, "MEMORY_MB": 1}


def promise(ident: int, vcpus: int, end: int = 7200) -> Row:
    return row(ident, 3600, end, size(vcpus))


def room(snapshot: Snapshot) -> int:
    return int(snapshot.slots(HOUR, {"VCPU": 1})[0])


def test_an_ordering_looks_at_few_of_many_different_values() -> None:
    """One request once held the pool's lock for 16 s, because it compared a thousand host names."""
    many = 1000
    names = {number: CountingText(f"host-{number:05}") for number in range(1, many + 1)}
    snapshot = snapshot_of((), [resource(number, attributes={"name": name}) for number, name in names.items()])
    assert snapshot.eligible.matching(Comparison("<", "name", ("host-00011",))).sum() == 10
    COUNTS["comparisons"] = 0
    for number in range(100):
        assert snapshot.eligible.matching(Comparison("<", "name", (f"host-{number:05}x",))).sum() == number
    assert COUNTS["comparisons"] < 100 * 30


TEXTS = st.one_of(
    st.sampled_from(["8", "8.0", "08", "+8", "1e1", "10", "-1", "nan", "inf", "", "a", "B", "True", "1_0"]),
    st.integers(-(10**20), 10**20).map(str),
    st.text(max_size=3),
)


@pytest.mark.slow
@given(values=st.lists(TEXTS, min_size=1, max_size=12), literal=TEXTS, word=st.sampled_from(["<", "<=", ">", ">="]))
def test_an_ordering_of_all_values_at_once_is_that_of_each(values: list[str], literal: str, word: str) -> None:
    snapshot = snapshot_of((), [resource(n, attributes={"a": text}) for n, text in enumerate(values)])
    answer = snapshot.eligible.matching(Comparison(word, "a", (literal,)))
    assert answer.tolist() == [ordered(word, text, literal) for text in values]


def test_what_a_request_asks_for_is_forgotten_with_its_decision() -> None:
    calendar = calendar_of((), [resource(1, capacity={"VCPU": 10**6, "MEMORY_MB": 10**6})])
    for vcpus in range(1, 200):
        view = calendar.snapshot(NOW).booked([Pick(1, 1, size(vcpus))], HOUR)
        assert room(view) == 10**6 - vcpus
        assert room(view.booked([Pick(1, 2, size(vcpus + 1))], HOUR)) == 10**6 - vcpus - 2 * (vcpus + 1)
    assert len(calendar._demands) == 1


def test_a_demand_that_is_promised_and_asked_for_counts_as_one() -> None:
    snapshot = snapshot_of([promise(1, 10)], [resource(1, capacity={"VCPU": 100, "MEMORY_MB": 100})])
    view = snapshot.booked([Pick(1, 1, size(10)), Pick(1, 1, size(7))], HOUR)
    assert room(view) == 100 - 10 - 10 - 7


@pytest.mark.slow
def test_demands_that_nobody_has_any_more_are_forgotten() -> None:
    """A request once held the pool's lock for 17 s, because it visited every size that was ever requested."""
    calendar = calendar_of([promise(1, 5)], [resource(1, capacity={"VCPU": 10**9, "MEMORY_MB": 10**9})])
    generation = 1
    for first in range(2, 5 * LEAST_DEMANDS, 100):
        generation += 1
        calendar.update(generation, (), columns([promise(ident, ident) for ident in range(first, first + 100)]))
        calendar.snapshot(NOW)
        generation += 1
        calendar.update(generation, (), columns([promise(ident, ident, 3600) for ident in range(first, first + 100)]))
        assert room(calendar.snapshot(NOW)) == 10**9 - 5
    assert len(calendar._demands) <= LEAST_DEMANDS + 200
    calendar.update(generation + 1, (), columns([promise(9999, 3)]))
    assert room(calendar.snapshot(NOW)) == 10**9 - 8


def test_forgotten_allocations_leave_the_columns() -> None:
    ended = [row(ident, 0, 3600, released=True) for ident in range(1, 101)]
    calendar = calendar_of([*ended, promise(101, 3)], [resource(1, capacity=size(8))])
    calendar._store.forget_before(HOUR.seconds[0])
    assert calendar._store.end == 1
    assert room(calendar.snapshot(NOW)) == 5


@pytest.mark.parametrize("classes", [3, 3 * MOST_OUTLINES])
def test_searches_for_many_classes_keep_the_outlines_of_few(classes: int) -> None:
    names = [f"CUSTOM_{number}" for number in range(classes)]
    rows = [row(number + 1, 3600, 7200, {name: 8}) for number, name in enumerate(names)]
    calendar = calendar_of(rows, [resource(1, capacity=dict.fromkeys(names, 8))])
    for _ in range(2):
        for name in names:
            wanted = [True], {name: 1}, 1, SlotSpread.ANY, Shape(3600, 3600, 0, 60)
            assert first_slots(calendar.snapshot(NOW), *wanted) == 7200
    assert len(calendar._outlines._drawn) == min(classes, MOST_OUTLINES)
