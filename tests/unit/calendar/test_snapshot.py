"""The answers of a snapshot, compared with the oracle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.index import Calendar
from leasehold.model.allocation import Pick
from leasehold.model.windows import Window, from_seconds
from tests.unit.calendar.oracle import MOST_SLOTS, columns
from tests.unit.calendar.strategies import (
    DAY,
    RESERVATIONS,
    amended,
    calendar_of,
    demands,
    loaded,
    resource,
    row,
    snapshot_of,
    spans,
)

if TYPE_CHECKING:
    from leasehold.calendar.snapshot import Snapshot
    from tests.unit.calendar.oracle import Oracle


@pytest.mark.slow
@given(st.one_of(loaded(), amended()), spans, demands)
def test_answers_are_the_oracles(pair: tuple[Snapshot, Oracle], times: tuple[int, int], demand: dict[str, int]) -> None:
    """Also for an amendment, which sees what others have and not its own."""
    snapshot, oracle = pair
    window = Window.of_seconds(*times)
    assert snapshot.numbers.tolist() == [each.number for each in oracle.resources]
    assert snapshot.eligible.bookable().tolist() == [each.bookable for each in oracle.resources]
    assert snapshot.free(window).tolist() == oracle.free(times)
    assert snapshot.carrying(window).tolist() == oracle.carrying(times)
    assert snapshot.slots(window, demand).tolist() == oracle.slots(times, demand)


@pytest.mark.slow
@given(loaded(), spans, demands, st.data())
def test_slots_of_some_are_the_slots_of_all(
    pair: tuple[Snapshot, Oracle], times: tuple[int, int], demand: dict[str, int], data: st.DataObject
) -> None:
    snapshot, oracle = pair
    among = np.array(data.draw(st.lists(st.booleans(), min_size=len(oracle.resources), max_size=len(oracle.resources))))
    expected = np.where(among, oracle.slots(times, demand), 0)
    assert snapshot.slots(Window.of_seconds(*times), demand, among).tolist() == expected.tolist()


@pytest.mark.slow
@given(loaded(), spans, demands)
def test_what_is_derived_leaves_the_snapshot_as_it_was(
    pair: tuple[Snapshot, Oracle], times: tuple[int, int], demand: dict[str, int]
) -> None:
    snapshot, oracle = pair
    whole = Window.of_seconds(0, DAY)
    snapshot.without(RESERVATIONS).booked([Pick(int(number)) for number in snapshot.numbers], whole)
    snapshot.eligible.bookable()[:] = False
    snapshot.free(whole)[:] = False
    assert snapshot.eligible.bookable().tolist() == [each.bookable for each in oracle.resources]
    assert snapshot.slots(Window.of_seconds(*times), demand).tolist() == oracle.slots(times, demand)


@pytest.mark.slow
@given(loaded(), spans, demands, st.sets(st.integers(1, 12)))
def test_only_some_may_get_new_allocations_and_nothing_else_differs(
    pair: tuple[Snapshot, Oracle], times: tuple[int, int], demand: dict[str, int], numbers: set[int]
) -> None:
    """Also in what is derived from it, and also resources that are not bookable."""
    snapshot, oracle = pair
    window = Window.of_seconds(*times)
    some = snapshot.among(snapshot.eligible.only(numbers))
    for each in (some, some.without([]), some.booked([], window)):
        expected = [one.number in numbers and one.deleted_at is None and not one.disabled for one in oracle.resources]
        assert each.eligible.bookable().tolist() == expected
        assert each.slots(window, demand).tolist() == oracle.slots(times, demand)
    assert snapshot.eligible.bookable().tolist() == [one.bookable for one in oracle.resources]


def test_slots_are_counted_until_there_are_enough() -> None:
    rows = [row(1, 0, 10, {"VCPU": 6}, number=2000)]
    snapshot, window = snapshot_of(rows, map(resource, range(1, 2001))), Window.of_seconds(0, 10)
    order = np.arange(1999, -1, -1)
    few = snapshot.slots_until(window, {"VCPU": 2}, order, lambda counts: bool(counts.sum() >= 9))
    assert few[-2:].tolist() == [4, 1]
    assert np.count_nonzero(few) < 2000
    every = snapshot.slots_until(window, {"VCPU": 2}, order, lambda counts: bool(counts.sum() >= 10_000))
    assert every.tolist() == snapshot.slots(window, {"VCPU": 2}).tolist()
    assert not snapshot.slots_until(window, {"VCPU": 2}, order[:0], lambda _: False).any()


def slots_of(snapshot: Snapshot, times: tuple[int, int] = (0, 10), **demand: int) -> int:
    return int(snapshot.slots(Window.of_seconds(*times), demand)[0])


def test_every_slot_of_a_reservation_counts() -> None:
    # Blazar counts a reservation once, however many slots it has on a host (contract resources §3).
    assert slots_of(snapshot_of([row(1, 0, 10, {"VCPU": 2}, slots=3)]), VCPU=2) == 1


def test_the_peak_is_not_the_sum_of_all_that_touch() -> None:
    assert slots_of(snapshot_of([row(1, 0, 5, {"VCPU": 6}), row(2, 5, 10, {"VCPU": 6})]), VCPU=2) == 1


def test_windows_that_only_meet_do_not_overlap() -> None:
    snapshot = snapshot_of([row(1, 5, 10)])
    assert [snapshot.free(Window.of_seconds(*times)).all() for times in ((0, 5), (10, 12), (9, 9))] == [
        True,
        True,
        False,
    ]


def test_a_start_waits_for_the_release() -> None:
    calendar = calendar_of([row(1, 0, 10)])
    snapshot = calendar.snapshot(from_seconds(15))
    assert not snapshot.free(Window.of_seconds(15, 20)).any()
    assert snapshot.free(Window.of_seconds(16, 20)).all()
    calendar.update(2, (), columns([row(1, 0, 10, released=True)]))
    assert calendar.snapshot(from_seconds(15)).free(Window.of_seconds(15, 20)).all()


def test_a_start_waits_for_a_release_that_takes_hours() -> None:
    hour = 3600
    calendar = calendar_of([row(1, 0, 2 * hour), row(2, 9 * hour, 10 * hour, released=True)])
    for now in (0, hour, 3 * hour, 8 * hour):
        snapshot = calendar.snapshot(from_seconds(now))
        assert snapshot.free(Window.of_seconds(now, 9 * hour)).all() == (now > 8 * hour)
        assert snapshot.free(Window.of_seconds(now + 1, 9 * hour)).all() == (now >= 2 * hour)


@pytest.mark.slow
def test_a_window_of_millennia_over_many_hosts() -> None:
    # The moment, the host and the position together do not fit in one 64-bit sort key.
    numbers = range(1, 4301)
    rows = [row(2 * n, 10, 20, {"VCPU": 3}, number=n) for n in numbers]
    rows += [row(2 * n + 1, 30, 40, {"VCPU": 5}, number=n) for n in numbers]
    counts = snapshot_of(rows, map(resource, numbers)).slots(Window.of_seconds(0, 250_000_000_000), {"VCPU": 1})
    assert (counts == 3).all()


def test_a_class_that_is_missing_or_too_large_for_one_gives_none() -> None:
    snapshot = snapshot_of((), [resource(1, capacity={"VCPU": 64}, max_unit={"VCPU": 16})])
    assert [slots_of(snapshot, VCPU=vcpus) for vcpus in (16, 17)] == [4, 0]
    assert [slots_of(snapshot, VCPU=1, GPU=gpus) for gpus in (1, 0)] == [0, 64]
    assert slots_of(snapshot, GPU=0) == MOST_SLOTS


def test_absurd_amounts_do_not_overflow() -> None:
    most = 2**31 - 1
    rows = [row(n, 0, 10, {"VCPU": most}, slots=most) for n in range(1, 40)]
    calendar = calendar_of(rows, [resource(1, capacity={"VCPU": 2**70, "MEMORY_MB": 2**62})])
    snapshot = calendar.snapshot(from_seconds(0))
    assert slots_of(snapshot, VCPU=1) == 0
    assert slots_of(snapshot, MEMORY_MB=2**65) == 0
    assert slots_of(snapshot, MEMORY_MB=1) == most
    assert slots_of(calendar.snapshot(from_seconds(9)), (10, 20), VCPU=1) == most


def test_a_number_that_nobody_enrolled_is_an_error() -> None:
    assert snapshot_of().rows([1]).tolist() == [0]
    with pytest.raises(KeyError, match="7"):
        snapshot_of().rows([1, 7])


def test_traits() -> None:
    snapshot = snapshot_of(
        (), [resource(1, traits=frozenset({"A", "B"})), resource(2, traits=frozenset({"B"})), resource(3)]
    )
    assert snapshot.eligible.with_traits(frozenset(), frozenset()).tolist() == [True, True, True]
    assert snapshot.eligible.with_traits(frozenset({"B"}), frozenset({"A"})).tolist() == [False, True, False]
    assert not snapshot.eligible.with_traits(frozenset({"C"}), frozenset()).any()
    assert snapshot.eligible.with_traits(frozenset(), frozenset({"C"})).all()


def test_an_empty_pool_answers() -> None:
    assert Calendar("hosts").generation == -1
    snapshot = Calendar("hosts").snapshot(from_seconds(0))
    window = Window.of_seconds(0, 10)
    assert (
        snapshot.free(window).size == snapshot.slots(window, {"VCPU": 1}).size == snapshot.eligible.bookable().size == 0
    )
    assert snapshot.eligible.known_names() == frozenset()
    assert snapshot.without([]).free(window).dtype == np.bool_
