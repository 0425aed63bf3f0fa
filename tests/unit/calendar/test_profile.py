"""The profile of free units is the oracle's at every second of the window, and at no other moment it changes."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.profile import FreeUnits, Units, free_of
from leasehold.model.budget import nothing_to_check
from tests.unit.calendar.strategies import amended, demands, moments, resource, row, snapshot_of

if TYPE_CHECKING:
    from leasehold.calendar.snapshot import Snapshot
    from tests.unit.calendar.oracle import Oracle


def free_at(books: FreeUnits, end: int) -> list[int]:
    """Return what is free at each second of the books' window."""
    times, free = (each.tolist() for each in books.steps(nothing_to_check))
    assert times[0] == books.window[0]
    assert all(one != other for one, other in itertools.pairwise(free))
    lengths = [later - time for time, later in zip(times, [*times[1:], end], strict=True)]
    assert min(lengths) > 0
    return [count for count, length in zip(free, lengths, strict=True) for _ in range(length)]


@pytest.mark.slow
@given(
    amended(),
    st.data(),
    moments,
    st.integers(1, 30),
    st.sampled_from([0, 0, 1, 3]),
    st.sampled_from([0, 0, 1, 7]),
    st.integers(0, 10),
    st.none() | demands,
    st.sampled_from([None, None, 1, 2]),
)
def test_what_is_free_at_each_second_is_the_oracles(
    pair: tuple[Snapshot, Oracle],
    data: st.DataObject,
    start: int,
    length: int,
    margin: int,
    lead: int,
    ahead: int,
    demand: dict[str, int] | None,
    most: int | None,
) -> None:
    snapshot, oracle = pair
    size = len(oracle.resources)
    matches = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    usable = (matches & snapshot.eligible.bookable()).tolist()
    end = start + length
    now = start - ahead
    books = free_of(snapshot, Units(matches, demand, most), (start, end), margin, lead, now)

    def counted(moment: int) -> int:
        times = max(moment - lead, now) - margin, moment + margin + 1
        counts = oracle.free(times) if demand is None else oracle.slots(times, demand)
        return sum(min(count, most or count) for count, may in zip(counts, usable, strict=True) if may)

    assert free_at(books, end) == [counted(moment) for moment in range(start, end)]


def test_what_cannot_be_used_counts_in_the_total_alone() -> None:
    pool = [resource(1), resource(2, admitted=False), resource(3, disabled=True), resource(4)]
    rows = [row(1, 10, 20, number=1), row(2, 10, 30, number=2), row(3, 15, 30, {"VCPU": 2}, 3, number=4)]
    snapshot = snapshot_of(rows, pool)
    whole = free_of(snapshot, Units(np.array([True] * 4)), (0, 40), 0)
    assert (whole.total, whole.usable) == (4, 2)
    assert [each.tolist() for each in whole.steps(nothing_to_check)] == [[0, 10, 15, 20, 30], [2, 1, 0, 1, 2]]
    slots = free_of(snapshot, Units(np.array([True] * 4), {"VCPU": 2}), (0, 40), 0)
    assert (slots.total, slots.usable) == (16, 8)
    assert [each.tolist() for each in slots.steps(nothing_to_check)] == [[0, 10, 15, 20, 30], [8, 4, 1, 5, 8]]


def test_the_counting_does_not_need_the_snapshot_any_more() -> None:
    calls: list[int] = []
    books = free_of(snapshot_of([row(1, 10, 20)]), Units(np.array([True])), (0, 40), 2)
    assert [each.tolist() for each in books.steps(lambda: calls.append(1))] == [[0, 8, 22], [1, 0, 1]]
    assert calls == [1]
