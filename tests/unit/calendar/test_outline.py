"""Outlines never overstate the use of a resource, whatever the updates, and they are nearly exact."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leasehold.calendar.index import Calendar
from leasehold.calendar.outline import MOST, Grid
from leasehold.calendar.search import Spread, earliest_slots
from leasehold.model.allocation import Pick
from leasehold.model.windows import Window, from_seconds, to_seconds
from tests.unit.calendar.oracle import Oracle, Row, Shape, columns, latest
from tests.unit.calendar.strategies import DAY, RESERVATIONS, allocations, demands, pools, resource, spans

if TYPE_CHECKING:
    from leasehold.calendar.snapshot import Snapshot
    from leasehold.model.resource import Resource

cells = st.sampled_from([0, 15, 40, 1000])
ONE_SECOND = {"most_cells": 10**6}


def bounds(snapshot: Snapshot, demand: dict[str, int], window: tuple[int, int]) -> list[int]:
    """Return the outlook's upper bounds of slots for one window that begins within its grid."""
    outlook = snapshot.outlook(snapshot.limits(demand))
    counts: list[int] = outlook.at_most(window[0], window[0], window[1] - window[0]).tolist()
    return counts


@given(st.data(), pools(), cells, spans, demands, st.sets(st.sampled_from(RESERVATIONS), max_size=2))
def test_no_window_has_more_than_the_outlook_says(
    data: st.DataObject,
    pool: list[Resource],
    most_cells: int,
    times: tuple[int, int],
    demand: dict[str, int],
    own: set[str],
) -> None:
    rows = data.draw(allocations(pool, most=20))
    picked = data.draw(allocations(pool, most=2))
    now = data.draw(st.integers(0, times[0]))
    calendar = Calendar("hosts", most_cells=most_cells)
    calendar.update(1, pool, columns(rows))
    snapshot, oracle = calendar.snapshot(from_seconds(now)).without(own), Oracle(pool, latest(rows), now).without(own)
    for row in picked:
        if row.start <= row.end:
            snapshot = snapshot.booked([Pick(row.number, row.slots, row.demand)], Window.of_seconds(row.start, row.end))
            oracle = oracle.booked([row])
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


@given(st.data(), pools(), spans, demands)
@pytest.mark.slow
def test_with_stretches_of_a_second_nothing_is_left_to_find_out(
    data: st.DataObject, pool: list[Resource], times: tuple[int, int], demand: dict[str, int]
) -> None:
    rows = data.draw(allocations(pool, most=20))
    now = data.draw(st.integers(0, times[0]))
    calendar = Calendar("hosts", **ONE_SECOND)
    # Release every row: outlines do not model the wait for a late release.
    rows = [Row(**{**row.__dict__, "released": True}) for row in rows]
    calendar.update(1, pool, columns(rows))
    snapshot = calendar.snapshot(from_seconds(now))
    end = max(times[1], times[0] + 1)
    grid = snapshot.outlook(snapshot.limits(demand)).grid
    # A grid of 512 stretches is longer than `DAY`.
    assert (grid.width, grid.window[1] > DAY) == (1, True)
    assert bounds(snapshot, demand, (times[0], end)) == Oracle(pool, latest(rows), now).slots(times, demand)


def test_a_peak_in_the_middle_of_a_stretch_counts_only_for_windows_that_cover_it() -> None:
    calendar = Calendar("hosts", most_cells=10)
    busy = Row(1, 1, 14, 16, 1, {"VCPU": 6}, RESERVATIONS[0], released=False)
    long = Row(2, 1, 0, 100, 1, {"VCPU": 1}, RESERVATIONS[0], released=False)
    calendar.update(1, [resource(1)], columns([busy, long]))
    snapshot = calendar.snapshot(from_seconds(0))
    assert snapshot.outlook(snapshot.limits({"VCPU": 1})).grid == Grid(0, 10, 10)
    assert bounds(snapshot, {"VCPU": 1}, (10, 20)) == [1]
    assert bounds(snapshot, {"VCPU": 1}, (9, 21)) == [1]
    # The window covers no whole stretch, but the bound still includes the constant use by the long row.
    assert bounds(snapshot, {"VCPU": 1}, (11, 21)) == [7]


def test_a_lease_of_twenty_years_does_not_make_all_stretches_long() -> None:
    year = 366 * 86_400
    rows = [Row(n, 1, n, 86_400 + n, 1, {"VCPU": 1}, RESERVATIONS[0], released=False) for n in range(1, 500)]
    calendar = Calendar("hosts")
    calendar.update(1, [resource(1)], columns([*rows, Row(900, 1, 0, 20 * year, 1, None, RESERVATIONS[0], False)]))
    snapshot = calendar.snapshot(from_seconds(0))
    assert snapshot.outlook(snapshot.limits({"VCPU": 1})).grid.width < 200


def test_amounts_that_do_not_fit_in_16_bits_are_rounded_in_favour_of_the_request() -> None:
    capacity = {"MEMORY_MB": 50 * MOST}
    rows = [Row(1, 1, 0, 10, 1, {"MEMORY_MB": 3 * MOST + 1}, RESERVATIONS[0], released=False)]
    rows += [Row(2, 2, 0, 10, 2**31 - 1, {"MEMORY_MB": 2**31 - 1}, RESERVATIONS[0], released=False)]
    calendar = Calendar("hosts", most_cells=20)
    calendar.update(1, [resource(n, capacity=capacity) for n in (1, 2)], columns(rows))
    snapshot = calendar.snapshot(from_seconds(0))
    exact = 47 * MOST - 1
    bound, none = bounds(snapshot, {"MEMORY_MB": 1}, (0, 10))
    assert exact <= bound < exact + 128
    assert none == 0


@pytest.mark.slow
def test_a_long_life_of_changes_and_searches() -> None:
    """While allocations change and hosts are added, every search is exact and every bound holds."""
    random = Random(11)  # noqa: S311 - repeatable, not secret
    numbers = [10 * n for n in range(1, 6)]
    calendar = Calendar("hosts", most_tail=15, most_cells=60)
    calendar.update(0, [resource(number) for number in numbers], columns(()))
    known: dict[int, Row] = {}
    for generation in range(1, 150):
        arrived: tuple[Resource, ...] = ()
        if generation % 40 == 0:
            # Insert the new host before the others, so that every row moves.
            numbers.insert(0, numbers[0] - 1)
            arrived = (resource(numbers[0]),)
        changed = random.sample(sorted(known), min(len(known), random.randrange(4)))
        rows = []
        for id_ in [3 * generation, *changed]:
            start = generation + random.randrange(-2, 25)
            demand = random.choice([None, {"VCPU": 2}, {"VCPU": 1, "MEMORY_MB": 3}, {"VCPU": 3}])
            row = Row(
                id_, random.choice(numbers), start, start + random.randrange(-1, 20), 1, demand, "", released=True
            )
            rows.append(Row(**{**row.__dict__, "reservation": random.choice(RESERVATIONS)}))
        known |= {row.id: row for row in rows}
        calendar.update(generation, arrived, columns(rows))
        pool = [resource(number) for number in numbers]
        oracle, snapshot = Oracle(pool, known.values(), generation), calendar.snapshot(from_seconds(generation))
        amount, length = random.randrange(1, 30), random.choice([1, 6, 17])
        shape = Shape(after=generation, duration=length, margin=random.choice([0, 2]), grain=1)
        window = earliest_slots(
            snapshot,
            np.ones(len(numbers), np.bool_),
            {"VCPU": 2},
            amount,
            Spread.ANY,
            from_seconds(shape.after),
            Window.of_seconds(0, length).duration,
            margin=Window.of_seconds(0, shape.margin).duration,
            grain=1,
        )
        expected = oracle.earliest_slots([True] * len(numbers), {"VCPU": 2}, amount, Spread.ANY, shape)
        assert (None if window is None else to_seconds(window.start)) == expected
        times = generation + 3, generation + 3 + length
        assert np.all(np.array(bounds(snapshot, {"VCPU": 1}, times)) >= oracle.slots(times, {"VCPU": 1}))
