"""Outlines never overstate the use of a resource, whatever the updates, and they are nearly exact."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leasehold.calendar.outline import MOST, Grid
from leasehold.model.windows import from_seconds
from tests.unit.calendar.oracle import Oracle, latest
from tests.unit.calendar.strategies import (
    DAY,
    RESERVATIONS,
    allocations,
    amended,
    bounds,
    calendar_of,
    demands,
    pools,
    resource,
    row,
    snapshot_of,
    spans,
)

if TYPE_CHECKING:
    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.resource import Resource

pytestmark = pytest.mark.slow


@given(amended(), spans, demands)
def test_no_window_has_more_than_the_outlook_says(
    pair: tuple[Snapshot, Oracle], times: tuple[int, int], demand: dict[str, int]
) -> None:
    snapshot, oracle = pair
    outlook = snapshot.outlook(snapshot.limits(demand))
    place = outlook.grid.stretch(times[0])
    assume(place is not None and times[1] > times[0])
    assert place is not None
    # One answer is valid for every window of this length that begins in the stretch.
    first, last = outlook.grid.edge(place), outlook.grid.edge(place + 1) - 1
    length = times[1] - times[0]
    most = outlook.at_most(first, last, length).tolist()
    for start in {first, times[0], last}:
        for bound, slots in zip(most, oracle.slots((start, start + length), demand), strict=True):
            assert bound >= slots


@given(amended(), st.integers(1, 2 * DAY), demands)
def test_many_stretches_are_bounded_as_each_by_itself(
    pair: tuple[Snapshot, Oracle], length: int, demand: dict[str, int]
) -> None:
    snapshot, _ = pair
    outlook = snapshot.outlook(snapshot.limits(demand))
    grid = outlook.grid
    each = [outlook.at_most(grid.edge(n), grid.edge(n + 1) - 1, length).tolist() for n in range(grid.count)]
    for first, count in ((0, grid.count), (grid.count // 3, 5), (grid.count - 1, 64)):
        assert outlook.at_most_each(first, count, length).tolist() == each[first : first + count]


@given(st.data(), pools(unready=False), spans, demands)
def test_with_stretches_of_a_second_nothing_is_left_to_find_out(
    data: st.DataObject, pool: list[Resource], times: tuple[int, int], demand: dict[str, int]
) -> None:
    now = data.draw(st.integers(0, times[0]))
    # Release every row: outlines model neither the wait for a late release nor what is not ready.
    rows = [replace(each, released=True) for each in data.draw(allocations(pool, most=20))]
    snapshot = calendar_of(rows, pool, most_cells=10**6).snapshot(from_seconds(now))
    end = max(times[1], times[0] + 1)
    grid = snapshot.outlook(snapshot.limits(demand)).grid
    # A grid of 512 stretches is longer than `DAY`.
    assert (grid.width, grid.window[1] > DAY) == (1, True)
    assert bounds(snapshot, demand, (times[0], end)) == Oracle(pool, latest(rows), now).slots(times, demand)


def test_a_peak_in_the_middle_of_a_stretch_counts_only_for_windows_that_cover_it() -> None:
    snapshot = snapshot_of([row(1, 14, 16, {"VCPU": 6}), row(2, 0, 100, {"VCPU": 1})], most_cells=10)
    assert snapshot.outlook(snapshot.limits({"VCPU": 1})).grid == Grid(0, 10, 10)
    assert bounds(snapshot, {"VCPU": 1}, (10, 20)) == [1]
    assert bounds(snapshot, {"VCPU": 1}, (9, 21)) == [1]
    # The window covers no whole stretch, but the bound still includes the constant use by the long row.
    assert bounds(snapshot, {"VCPU": 1}, (11, 21)) == [7]


def test_an_amendment_finds_its_own_resources_empty() -> None:
    snapshot = snapshot_of([row(1, 0, 100, {"VCPU": 3})], most_cells=10)
    assert bounds(snapshot, {"VCPU": 1}, (10, 20)) == [5]
    assert bounds(snapshot.without(RESERVATIONS[:1]), {"VCPU": 1}, (10, 20)) == [8]


def test_a_lease_of_twenty_years_does_not_make_all_stretches_long() -> None:
    rows = [row(n, n, 86_400 + n, {"VCPU": 1}) for n in range(1, 500)]
    snapshot = snapshot_of([*rows, row(900, 0, 20 * 366 * 86_400)])
    assert snapshot.outlook(snapshot.limits({"VCPU": 1})).grid.width < 200


def test_windows_of_a_hundred_years_are_bounded_in_as_many_steps_as_there_are_stretches() -> None:
    """Such are those of hosts that are reserved for good; a step for each stretch of such a window takes minutes."""
    snapshot = snapshot_of([row(1, 14, 16, {"VCPU": 6}), row(2, 0, 100, {"VCPU": 1})], most_cells=10)
    outlook = snapshot.outlook(snapshot.limits({"VCPU": 1}))
    grid, length = outlook.grid, 100 * 366 * 86_400
    each = [outlook.at_most(grid.edge(n), grid.edge(n + 1) - 1, length).tolist() for n in range(grid.count)]
    assert outlook.at_most_each(0, grid.count, length).tolist() == each


def test_amounts_that_do_not_fit_in_16_bits_are_rounded_in_favour_of_the_request() -> None:
    pool = [resource(n, capacity={"MEMORY_MB": 50 * MOST}) for n in (1, 2)]
    rows = [row(1, 0, 10, {"MEMORY_MB": 3 * MOST + 1}), row(2, 0, 10, {"MEMORY_MB": 2**31 - 1}, 2**31 - 1, number=2)]
    exact = 47 * MOST - 1
    bound, none = bounds(snapshot_of(rows, pool, most_cells=20), {"MEMORY_MB": 1}, (0, 10))
    assert exact <= bound < exact + 128
    assert none == 0
