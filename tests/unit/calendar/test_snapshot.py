"""The answers of a snapshot, compared with the oracle."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.index import Calendar
from leasehold.model.allocation import Pick
from leasehold.model.windows import Window, from_seconds
from tests.unit.calendar.oracle import MOST_SLOTS, Oracle, Row, columns, latest
from tests.unit.calendar.strategies import DAY, RESERVATIONS, allocations, demands, moments, pools, resource, spans

NOTHING = columns(())


@st.composite
def loaded(draw: st.DrawFn) -> tuple[Calendar, Oracle, int]:
    """Draw a calendar, its oracle, and the present moment."""
    pool = draw(pools())
    rows = draw(allocations(pool))
    now = draw(moments)
    calendar = Calendar("hosts")
    calendar.update(1, pool, columns(rows))
    return calendar, Oracle(pool, latest(rows), now), now


@given(loaded(), spans)
def test_answers_are_the_oracles(pair: tuple[Calendar, Oracle, int], times: tuple[int, int]) -> None:
    calendar, oracle, now = pair
    snapshot = calendar.snapshot(from_seconds(now))
    window = Window.of_seconds(*times)
    assert snapshot.numbers.tolist() == [each.number for each in oracle.resources]
    assert snapshot.bookable().tolist() == [each.bookable for each in oracle.resources]
    assert snapshot.free(window).tolist() == oracle.free(times)
    assert snapshot.carrying(window).tolist() == oracle.carrying(times)


@given(loaded(), spans, demands)
def test_slots_are_the_oracles(
    pair: tuple[Calendar, Oracle, int], times: tuple[int, int], demand: dict[str, int]
) -> None:
    calendar, oracle, now = pair
    counts = calendar.snapshot(from_seconds(now)).slots(Window.of_seconds(*times), demand)
    assert counts.tolist() == oracle.slots(times, demand)


@given(loaded(), spans, demands, st.data())
def test_slots_of_some_are_the_slots_of_all(
    pair: tuple[Calendar, Oracle, int], times: tuple[int, int], demand: dict[str, int], data: st.DataObject
) -> None:
    calendar, oracle, now = pair
    snapshot, window = calendar.snapshot(from_seconds(now)), Window.of_seconds(*times)
    among = np.array(data.draw(st.lists(st.booleans(), min_size=len(oracle.resources), max_size=len(oracle.resources))))
    expected = np.where(among, oracle.slots(times, demand), 0)
    assert snapshot.slots(window, demand, among).tolist() == expected.tolist()


def test_slots_are_counted_until_there_are_enough() -> None:
    calendar = Calendar("hosts")
    calendar.update(
        1, [resource(number) for number in range(1, 2001)], columns([row(1, 0, 10, {"VCPU": 6}, number=2000)])
    )
    snapshot, window = calendar.snapshot(from_seconds(0)), Window.of_seconds(0, 10)
    order = np.arange(1999, -1, -1)
    few = snapshot.slots_until(window, {"VCPU": 2}, order, lambda counts: bool(counts.sum() >= 9))
    assert few[-2:].tolist() == [4, 1]
    assert np.count_nonzero(few) < 2000
    every = snapshot.slots_until(window, {"VCPU": 2}, order, lambda counts: bool(counts.sum() >= 10_000))
    assert every.tolist() == snapshot.slots(window, {"VCPU": 2}).tolist()
    assert not snapshot.slots_until(window, {"VCPU": 2}, order[:0], lambda _: False).any()


@given(loaded(), spans, st.integers(0, 5))
def test_a_margin_is_a_wider_window(pair: tuple[Calendar, Oracle, int], times: tuple[int, int], margin: int) -> None:
    calendar, oracle, now = pair
    widened = Window.of_seconds(*times).widened(timedelta(seconds=margin))
    free = calendar.snapshot(from_seconds(now)).free(widened)
    assert free.tolist() == oracle.free((times[0] - margin, times[1] + margin))


@given(loaded(), spans, demands, st.sets(st.sampled_from(RESERVATIONS)), st.data())
def test_an_amendment_sees_others_and_not_its_own(
    pair: tuple[Calendar, Oracle, int],
    times: tuple[int, int],
    demand: dict[str, int],
    own: set[str],
    data: st.DataObject,
) -> None:
    calendar, oracle, now = pair
    window = Window.of_seconds(*times)
    picked = data.draw(allocations(oracle.resources, most=4))
    snapshot, expected = calendar.snapshot(from_seconds(now)).without(own), oracle.without(own)
    for row in picked:
        if row.start <= row.end:
            pick = Pick(row.number, row.slots, row.demand)
            snapshot = snapshot.booked([pick], Window.of_seconds(row.start, row.end))
            expected = expected.booked([row])
    assert snapshot.free(window).tolist() == expected.free(times)
    assert snapshot.carrying(window).tolist() == expected.carrying(times)
    assert snapshot.slots(window, demand).tolist() == expected.slots(times, demand)


@given(loaded(), spans, demands)
def test_what_is_derived_leaves_the_snapshot_as_it_was(
    pair: tuple[Calendar, Oracle, int], times: tuple[int, int], demand: dict[str, int]
) -> None:
    calendar, oracle, now = pair
    snapshot = calendar.snapshot(from_seconds(now))
    whole = Window.of_seconds(0, DAY)
    snapshot.without(RESERVATIONS).booked([Pick(int(number)) for number in snapshot.numbers], whole)
    snapshot.bookable()[:] = False
    snapshot.free(whole)[:] = False
    assert snapshot.bookable().tolist() == [each.bookable for each in oracle.resources]
    assert snapshot.slots(Window.of_seconds(*times), demand).tolist() == oracle.slots(times, demand)


def row(id_: int, start: int, end: int, demand: dict[str, int] | None = None, slots: int = 1, **more: object) -> Row:
    fields: dict[str, object] = {"number": 1, "reservation": RESERVATIONS[0], "released": False, **more}
    return Row(id=id_, start=start, end=end, slots=slots, demand=demand, **fields)  # type: ignore[arg-type]


def calendar_of(*rows: Row, **fields: object) -> Calendar:
    calendar = Calendar("hosts")
    calendar.update(1, [resource(1, **fields)], columns(rows))
    return calendar


def slots_of(calendar: Calendar, times: tuple[int, int], now: int = 0, **demand: int) -> int:
    return int(calendar.snapshot(from_seconds(now)).slots(Window.of_seconds(*times), demand)[0])


def test_every_slot_of_a_reservation_counts() -> None:
    # Blazar counts a reservation once, however many slots it has on a host (contract resources §3).
    calendar = calendar_of(row(1, 0, 10, {"VCPU": 2}, slots=3))
    assert slots_of(calendar, (0, 10), VCPU=2) == 1


def test_the_peak_is_not_the_sum_of_all_that_touch() -> None:
    calendar = calendar_of(row(1, 0, 5, {"VCPU": 6}), row(2, 5, 10, {"VCPU": 6}))
    assert slots_of(calendar, (0, 10), VCPU=2) == 1


def test_windows_that_only_meet_do_not_overlap() -> None:
    calendar = calendar_of(row(1, 5, 10))
    snapshot = calendar.snapshot(from_seconds(0))
    assert snapshot.free(Window.of_seconds(0, 5)).all()
    assert snapshot.free(Window.of_seconds(10, 12)).all()
    assert not snapshot.free(Window.of_seconds(9, 9)).any()


def test_a_start_waits_for_the_release() -> None:
    calendar = calendar_of(row(1, 0, 10))
    snapshot = calendar.snapshot(from_seconds(15))
    assert not snapshot.free(Window.of_seconds(15, 20)).any()
    assert snapshot.free(Window.of_seconds(16, 20)).all()
    calendar.update(2, (), columns([row(1, 0, 10, released=True)]))
    assert calendar.snapshot(from_seconds(15)).free(Window.of_seconds(15, 20)).all()


def test_a_start_waits_for_a_release_that_takes_hours() -> None:
    hour = 3600
    calendar = calendar_of(row(1, 0, 2 * hour), row(2, 9 * hour, 10 * hour, released=True))
    for now in (0, hour, 3 * hour, 8 * hour):
        snapshot = calendar.snapshot(from_seconds(now))
        assert snapshot.free(Window.of_seconds(now, 9 * hour)).all() == (now > 8 * hour)
        assert snapshot.free(Window.of_seconds(now + 1, 9 * hour)).all() == (now >= 2 * hour)


def test_a_window_of_millennia_over_many_hosts() -> None:
    # The moment, the host and the position together do not fit in one 64-bit sort key.
    hosts = [resource(number) for number in range(1, 4301)]
    rows = [row(2 * n, 10, 20, {"VCPU": 3}, number=n) for n in range(1, 4301)]
    rows += [row(2 * n + 1, 30, 40, {"VCPU": 5}, number=n) for n in range(1, 4301)]
    calendar = Calendar("hosts")
    calendar.update(1, hosts, columns(rows))
    counts = calendar.snapshot(from_seconds(0)).slots(Window.of_seconds(0, 250_000_000_000), {"VCPU": 1})
    assert (counts == 3).all()


def test_a_class_that_is_missing_or_too_large_for_one_gives_none() -> None:
    calendar = calendar_of(capacity={"VCPU": 64}, max_unit={"VCPU": 16})
    assert slots_of(calendar, (0, 10), VCPU=16) == 4
    assert slots_of(calendar, (0, 10), VCPU=17) == 0
    assert slots_of(calendar, (0, 10), VCPU=1, GPU=1) == 0
    assert slots_of(calendar, (0, 10), VCPU=1, GPU=0) == 64
    assert slots_of(calendar, (0, 10), GPU=0) == MOST_SLOTS


def test_absurd_amounts_do_not_overflow() -> None:
    most = 2**31 - 1
    rows = [row(n, 0, 10, {"VCPU": most}, slots=most) for n in range(1, 40)]
    calendar = calendar_of(*rows, capacity={"VCPU": 2**70, "MEMORY_MB": 2**62})
    assert slots_of(calendar, (0, 10), VCPU=1) == 0
    assert slots_of(calendar, (0, 10), MEMORY_MB=2**65) == 0
    assert slots_of(calendar, (0, 10), MEMORY_MB=1) == most
    assert slots_of(calendar, (10, 20), now=9, VCPU=1) == most


def test_a_number_that_nobody_enrolled_is_an_error() -> None:
    snapshot = calendar_of().snapshot(from_seconds(0))
    assert snapshot.rows([1]).tolist() == [0]
    with pytest.raises(KeyError, match="7"):
        snapshot.rows([1, 7])


def test_traits() -> None:
    calendar = Calendar("hosts")
    hosts = [resource(1, traits=frozenset({"A", "B"})), resource(2, traits=frozenset({"B"})), resource(3)]
    calendar.update(1, hosts, NOTHING)
    snapshot = calendar.snapshot(from_seconds(0))
    assert snapshot.with_traits(frozenset(), frozenset()).tolist() == [True, True, True]
    assert snapshot.with_traits(frozenset({"B"}), frozenset({"A"})).tolist() == [False, True, False]
    assert not snapshot.with_traits(frozenset({"C"}), frozenset()).any()
    assert snapshot.with_traits(frozenset(), frozenset({"C"})).all()


def test_an_empty_pool_answers() -> None:
    calendar = Calendar("hosts")
    assert calendar.generation == -1
    snapshot = calendar.snapshot(from_seconds(0))
    window = Window.of_seconds(0, 10)
    assert snapshot.free(window).size == snapshot.slots(window, {"VCPU": 1}).size == snapshot.bookable().size == 0
    assert snapshot.known_names() == frozenset()
    assert snapshot.without([]).free(window).dtype == np.bool_
