"""The search returns a window that fits, and no earlier window fits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.index import Calendar
from leasehold.calendar.search import Spread, earliest_free, earliest_slots
from leasehold.model.allocation import Pick
from leasehold.model.windows import Window, from_seconds, to_seconds
from tests.unit.calendar.oracle import Oracle, Row, Shape, columns, latest
from tests.unit.calendar.strategies import RESERVATIONS, allocations, demands, moments, pools, resource, shapes


@st.composite
def searched(draw: st.DrawFn) -> tuple[Calendar, Oracle, list[bool], int]:
    """Draw a calendar, its oracle, the candidates among its resources, and the present moment."""
    pool = draw(pools())
    rows = draw(allocations(pool, most=20))
    now = draw(moments)
    # The grids range from one stretch for all time to one stretch per second.
    calendar = Calendar(
        "hosts", most_tail=draw(st.sampled_from([0, 1000])), most_cells=draw(st.sampled_from([0, 15, 40, 1000]))
    )
    calendar.update(1, pool, columns(rows))
    candidates = draw(st.lists(st.booleans(), min_size=len(pool), max_size=len(pool)))
    return calendar, Oracle(pool, latest(rows), now), candidates, now


def start_of(window: Window | None, shape: Shape) -> int | None:
    if window is None:
        return None
    assert window.duration == timedelta(seconds=shape.duration)
    return to_seconds(window.start)


@given(searched(), st.integers(1, 5), shapes)
def test_earliest_free(drawn: tuple[Calendar, Oracle, list[bool], int], amount: int, shape: Shape) -> None:
    calendar, oracle, candidates, now = drawn
    window = earliest_free(
        calendar.snapshot(from_seconds(now)),
        np.array(candidates),
        amount,
        from_seconds(shape.after),
        timedelta(seconds=shape.duration),
        margin=timedelta(seconds=shape.margin),
        grain=shape.grain,
    )
    assert start_of(window, shape) == oracle.earliest_free(candidates, amount, shape)


@given(searched(), demands, st.integers(1, 20), st.sampled_from(Spread), shapes)
def test_earliest_slots(
    drawn: tuple[Calendar, Oracle, list[bool], int],
    demand: dict[str, int],
    amount: int,
    spread: Spread,
    shape: Shape,
) -> None:
    calendar, oracle, candidates, now = drawn
    window = earliest_slots(
        calendar.snapshot(from_seconds(now)),
        np.array(candidates),
        demand,
        amount,
        spread,
        from_seconds(shape.after),
        timedelta(seconds=shape.duration),
        margin=timedelta(seconds=shape.margin),
        grain=shape.grain,
    )
    assert start_of(window, shape) == oracle.earliest_slots(candidates, demand, amount, spread, shape)


def test_an_amendment_looks_past_its_own_and_at_what_is_picked() -> None:
    calendar = Calendar("hosts")
    rows = [Row(n, 1, n * 100, n * 100 + 100, 1, None, RESERVATIONS[n], released=False) for n in range(4)]
    calendar.update(1, [resource(1)], columns(rows))
    snapshot = calendar.snapshot(from_seconds(0)).without([RESERVATIONS[2]])
    one = np.array([True])

    def earliest(length: int) -> int:
        window = earliest_free(snapshot, one, 1, from_seconds(0), timedelta(seconds=length), grain=1)
        assert window is not None
        return to_seconds(window.start)

    assert (earliest(100), earliest(101)) == (200, 400)
    snapshot = snapshot.booked([Pick(1)], Window.of_seconds(200, 220))
    assert (earliest(80), earliest(81)) == (220, 400)


def test_a_search_goes_as_far_as_it_must() -> None:
    # The result lies far beyond the first horizon, so the search extends it several times.
    calendar = Calendar("hosts")
    year = 366 * 86_400
    rows = [
        Row(1, 1, 0, 20 * year, 2, {"VCPU": 2}, RESERVATIONS[0], released=False),
        Row(2, 2, 0, 20 * year + 60, 1, None, RESERVATIONS[0], released=False),
    ]
    calendar.update(1, [resource(1), resource(2)], columns(rows))
    snapshot = calendar.snapshot(from_seconds(0))
    every = snapshot.bookable()

    def earliest(amount: int, spread: Spread = Spread.ANY) -> datetime | None:
        length = timedelta(days=7)
        window = earliest_slots(snapshot, every, {"VCPU": 2}, amount, spread, from_seconds(0), length)
        return None if window is None else window.start

    assert earliest(2) == from_seconds(0)
    assert earliest(3) == earliest(4, Spread.ONE_HOST) == from_seconds(20 * year)
    assert earliest(5) == earliest(2, Spread.DISTINCT_HOSTS) == from_seconds(20 * year + 60)
    assert earliest(8) == from_seconds(20 * year + 60)
    assert earliest(9) is earliest(5, Spread.ONE_HOST) is earliest(3, Spread.DISTINCT_HOSTS) is None


def test_a_window_beyond_the_last_date_does_not_exist() -> None:
    calendar = Calendar("hosts")
    calendar.update(1, [resource(1)], columns(()))
    snapshot = calendar.snapshot(from_seconds(0))
    late = datetime(9999, 12, 31, tzinfo=UTC)
    assert earliest_free(snapshot, snapshot.bookable(), 1, late, timedelta(days=2)) is None


def test_a_start_is_rounded_up_to_the_grain() -> None:
    calendar = Calendar("hosts")
    calendar.update(1, [resource(1)], columns(()))
    snapshot = calendar.snapshot(from_seconds(0))
    after = from_seconds(120) + timedelta(microseconds=1)
    window = earliest_free(snapshot, snapshot.bookable(), 1, after, timedelta(hours=1))
    assert window == Window(from_seconds(180), from_seconds(3780))


@pytest.mark.slow
def test_a_crowded_year_of_many_slots() -> None:
    """One host has many levels of free slots, more than the small examples reach."""
    random = np.random.default_rng(5)
    pool = [resource(number, capacity={"VCPU": 64}) for number in range(1, 4)]
    rows = []
    for n in range(1, 400):
        start, length = int(random.integers(0, 400)), int(random.integers(1, 60))
        demand = {"VCPU": int(random.integers(1, 4))}
        rows.append(
            Row(n, int(random.integers(1, 4)), start, start + length, 1, demand, RESERVATIONS[0], released=True)
        )
    calendar = Calendar("hosts")
    calendar.update(1, pool, columns(rows))
    snapshot, oracle = calendar.snapshot(from_seconds(0)), Oracle(pool, rows, 0)
    every = [True] * len(pool)
    for amount in (20, 60, 90, 110, 120, 150, 192):
        for duration in (1, 10, 50):
            shape = Shape(after=50, duration=duration, margin=0, grain=1)
            window = earliest_slots(
                snapshot,
                np.array(every),
                {"VCPU": 1},
                amount,
                Spread.ANY,
                from_seconds(50),
                timedelta(seconds=duration),
                grain=1,
            )
            assert start_of(window, shape) == oracle.earliest_slots(every, {"VCPU": 1}, amount, Spread.ANY, shape)
