"""The search returns a window that fits, and no earlier window fits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.search import SlotSpread, Sought, earliest_free
from leasehold.model.allocation import Pick
from leasehold.model.windows import Window, from_seconds
from tests.unit.calendar.oracle import Oracle, Shape
from tests.unit.calendar.strategies import (
    RESERVATIONS,
    amended,
    calendar_of,
    demands,
    first_free,
    first_slots,
    resource,
    row,
    shapes,
    snapshot_of,
)

if TYPE_CHECKING:
    from leasehold.calendar.snapshot import Snapshot


@pytest.mark.slow
@given(amended(), st.data(), shapes)
def test_the_first_window_is_the_oracles(pair: tuple[Snapshot, Oracle], data: st.DataObject, shape: Shape) -> None:
    snapshot, oracle = pair
    size = len(oracle.resources)
    candidates = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    amount = data.draw(st.integers(1, 5))
    assert first_free(snapshot, candidates, amount, shape) == oracle.earliest_free(candidates, amount, shape)
    slots = candidates, data.draw(demands), data.draw(st.integers(1, 20)), data.draw(st.sampled_from(SlotSpread)), shape
    assert first_slots(snapshot, *slots) == oracle.earliest_slots(*slots)


def test_an_amendment_looks_past_its_own_and_at_what_is_picked() -> None:
    rows = [row(n, n * 100, n * 100 + 100, reservation=RESERVATIONS[n]) for n in range(4)]
    snapshot = snapshot_of(rows).without([RESERVATIONS[2]])

    def earliest(length: int) -> int | None:
        return first_free(snapshot, [True], 1, Shape(0, length, 0, 1))

    assert (earliest(100), earliest(101)) == (200, 400)
    snapshot = snapshot.booked([Pick(1)], Window.of_seconds(200, 220))
    assert (earliest(80), earliest(81)) == (220, 400)


def test_a_search_goes_as_far_as_it_must() -> None:
    # The result lies far beyond the first horizon, so the search extends it several times.
    year = 366 * 86_400
    rows = [row(1, 0, 20 * year, {"VCPU": 2}, 2), row(2, 0, 20 * year + 60, number=2)]
    snapshot = snapshot_of(rows, [resource(1), resource(2)])

    def earliest(amount: int, spread: SlotSpread = SlotSpread.ANY) -> int | None:
        return first_slots(snapshot, [True, True], {"VCPU": 2}, amount, spread, Shape(0, 7 * 86_400, 0, 60))

    assert earliest(2) == 0
    assert earliest(3) == earliest(4, SlotSpread.ONE_HOST) == 20 * year
    assert earliest(5) == earliest(2, SlotSpread.DISTINCT_HOSTS) == earliest(8) == 20 * year + 60
    assert earliest(9) is earliest(5, SlotSpread.ONE_HOST) is earliest(3, SlotSpread.DISTINCT_HOSTS) is None


def test_a_window_beyond_the_last_date_does_not_exist() -> None:
    late = datetime(9999, 12, 31, tzinfo=UTC)
    assert earliest_free(snapshot_of(), np.array([True]), 1, Sought(late, timedelta(days=2))) is None


def test_a_margin_may_begin_before_now() -> None:
    calendar = calendar_of([row(1, 0, 95, released=True), row(2, 100, 200, number=2)], [resource(1), resource(2)])
    shape = Shape(after=100, duration=20, margin=10, grain=1)
    assert first_free(calendar.snapshot(from_seconds(100)), [True, False], 1, shape) == 105
    assert first_free(calendar.snapshot(from_seconds(100)), [True, True], 2, shape) == 210


def test_a_start_is_rounded_up_to_the_grain() -> None:
    after = from_seconds(120) + timedelta(microseconds=1)
    window = earliest_free(snapshot_of(), np.array([True]), 1, Sought(after, timedelta(hours=1)))
    assert window == Window(from_seconds(180), from_seconds(3780))


@pytest.mark.slow
def test_a_crowded_year_of_many_slots() -> None:
    """One host has many levels of free slots, more than the small examples reach."""
    random = np.random.default_rng(5)
    pool = [resource(number, capacity={"VCPU": 64}) for number in range(1, 4)]
    rows = []
    for n in range(1, 400):
        start, length = int(random.integers(0, 400)), int(random.integers(1, 60))
        demand, number = {"VCPU": int(random.integers(1, 4))}, int(random.integers(1, 4))
        rows.append(row(n, start, start + length, demand, number=number, released=True))
    snapshot, oracle = snapshot_of(rows, pool), Oracle(pool, rows, 0)
    for amount in (20, 60, 90, 110, 120, 150, 192):
        for duration in (1, 10, 50):
            wanted = [True] * 3, {"VCPU": 1}, amount, SlotSpread.ANY, Shape(50, duration, 0, 1)
            assert first_slots(snapshot, *wanted) == oracle.earliest_slots(*wanted)
