"""A calendar that is updated in steps gives the same answers as one that is loaded at once."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.index import HISTORY, Calendar
from leasehold.calendar.runs import Runs
from leasehold.calendar.search import SlotSpread
from leasehold.calendar.store import owner_keys
from leasehold.model.windows import Window, from_seconds
from tests.unit.calendar.oracle import Oracle, Row, Shape, columns, latest
from tests.unit.calendar.strategies import (
    DAY,
    RESERVATIONS,
    allocations,
    bounds,
    calendar_of,
    demands,
    first_slots,
    pools,
    resource,
    row,
    spans,
)

if TYPE_CHECKING:
    from leasehold.model.resource import Resource

# With these tails the store sorts after every update, sometimes, and never in such small examples.
tails = st.sampled_from([0, 3, 1000])


def check(calendar: Calendar, oracle: Oracle, times: tuple[int, int], demand: dict[str, int]) -> None:
    snapshot = calendar.snapshot(from_seconds(oracle.now))
    window = Window.of_seconds(*times)
    assert snapshot.numbers.tolist() == [each.number for each in oracle.resources]
    assert snapshot.eligible.bookable().tolist() == [each.bookable for each in oracle.resources]
    assert snapshot.free(window).tolist() == oracle.free(times)
    assert snapshot.slots(window, demand).tolist() == oracle.slots(times, demand)


@pytest.mark.slow
@given(st.data(), pools(), pools(), tails, spans, demands)
def test_any_split_gives_the_same_answers(
    data: st.DataObject,
    pool: list[Resource],
    more: list[Resource],
    tail: int,
    times: tuple[int, int],
    demand: dict[str, int],
) -> None:
    """Resources may come later, and change, with the last chunk."""
    everything = list({each.number: each for each in pool + more}.values())
    rows, last = data.draw(allocations(pool, most=20)), data.draw(allocations(everything))
    places = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=6)))
    calendar = Calendar("hosts", most_tail=tail)
    for generation, (a, b) in enumerate(zip([0, *places], [*places, len(rows)], strict=True)):
        calendar.update(generation, () if generation else pool, columns(rows[a:b]))
        # A snapshot flushes new rows to the store, so test with and without one between two updates.
        if data.draw(st.booleans()):
            check(calendar, Oracle(pool, latest(rows[:b]), data.draw(st.integers(0, DAY))), times, demand)
    calendar.update(len(places) + 1, more, columns(last))
    check(calendar, Oracle(everything, latest(rows + last), data.draw(st.integers(0, DAY))), times, demand)
    assert calendar.generation == len(places) + 1


@pytest.mark.slow
@given(st.data(), pools(), tails, spans, demands)
def test_forgetting_changes_nothing_from_that_moment_on(
    data: st.DataObject, pool: list[Resource], tail: int, times: tuple[int, int], demand: dict[str, int]
) -> None:
    rows = data.draw(allocations(pool, most=20))
    calendar = calendar_of(rows, pool, most_tail=tail)
    calendar._store.forget_before(data.draw(st.integers(0, times[0])))
    check(calendar, Oracle(pool, latest(rows), data.draw(st.integers(0, DAY))), times, demand)


def free(calendar: Calendar, start: int, end: int, now: int = 0) -> bool:
    return bool(calendar.snapshot(from_seconds(now)).free(Window.of_seconds(start, end)).all())


def test_a_promise_can_be_shortened_cancelled_and_made_again() -> None:
    calendar = calendar_of([row(1, 10, 20)])
    assert not free(calendar, 15, 25)
    calendar.update(2, (), columns([row(1, 10, 15)]))
    assert free(calendar, 15, 25)
    calendar.update(3, (), columns([row(1, 10, 10)]))
    assert free(calendar, 10, 15)
    # A cancelled allocation takes nothing, even if it was never released.
    assert free(calendar, 30, 40, now=30)
    calendar.update(4, (), columns([row(1, 12, 30)]))
    assert not free(calendar, 15, 25)


def test_within_one_update_the_later_row_counts() -> None:
    calendar = calendar_of([row(1, 10, 20), row(2, 50, 60), row(1, 10, 10)])
    assert free(calendar, 10, 20)
    assert not free(calendar, 50, 60)


def test_history_is_forgotten_by_itself_once_it_is_long() -> None:
    day = int(HISTORY.total_seconds())
    calendar = calendar_of([*(row(n, n, n + 1, released=True) for n in range(1, 100)), row(200, 5 * day, 6 * day)])
    assert not free(calendar, 50, 51, now=60)
    assert free(calendar, 50, 51, now=3 * day)
    assert not free(calendar, 5 * day, 6 * day, now=3 * day)


@pytest.mark.slow
def test_a_long_life_of_small_updates_and_searches() -> None:
    """Over many updates that add, change and drop rows and add hosts, answers and searches are exact, bounds hold."""
    random = Random(7)  # noqa: S311 - repeatable, not secret
    numbers = [10 * n for n in range(1, 7)]
    calendar = calendar_of((), map(resource, numbers), most_tail=20, most_cells=60)
    used = [None, {"VCPU": 2}, {"VCPU": 1, "MEMORY_MB": 3}, {"VCPU": 3}]
    known: dict[int, Row] = {}
    for now in range(1, 300):
        if now % 60 == 0:
            # Insert the new host before the others, so that every row moves.
            numbers.insert(0, numbers[0] - 1)
            calendar.update(now, (resource(numbers[0]),), columns(()))
        rows = []
        for id_ in [*range(3 * now, 3 * now + random.randrange(3)), *random.sample(sorted(known), min(len(known), 2))]:
            start, demand = now + random.randrange(-2, 25), random.choice(used)
            end, released = start + random.randrange(-1, 20), random.random() < 0.7
            number, owner = random.choice(numbers), random.choice(RESERVATIONS)
            rows.append(row(id_, start, end, demand, number=number, reservation=owner, released=released))
        known |= {each.id: each for each in rows}
        calendar.update(now, (), columns(rows))
        oracle, times = (
            Oracle(map(resource, numbers), known.values(), now),
            (now + 5, now + 5 + random.randrange(1, 15)),
        )
        check(calendar, oracle, times, {"VCPU": 2})
        snapshot = calendar.snapshot(from_seconds(now))
        shape, amount = Shape(now, random.choice([1, 6, 17]), random.choice([0, 2]), 1), random.randrange(1, 30)
        wanted = [True] * len(numbers), {"VCPU": 2}, amount, SlotSpread.ANY, shape
        assert first_slots(snapshot, *wanted) == oracle.earliest_slots(*wanted)
        assert np.all(np.array(bounds(snapshot, {"VCPU": 1}, times)) >= oracle.slots(times, {"VCPU": 1}))
        if now % 50 == 0:
            calendar._store.forget_before(now - 1)
            known = {id_: each for id_, each in known.items() if not (each.released and each.end < now)}


# ---------------------------------------------------------------- keys and runs


@given(st.lists(st.one_of(st.uuids().map(str), st.uuids().map(str).map(str.upper), st.text(max_size=40))))
def test_ids_of_any_form_are_told_apart(ids: list[str]) -> None:
    """An import may bring ids that are not UUIDs; the key of an id must not depend on the ids beside it."""
    together = [tuple(key) for key in owner_keys(ids).tolist()]
    assert together == [tuple(owner_keys([ident])[0].tolist()) for ident in ids]
    assert len(set(together)) == len(set(ids))


def test_an_id_with_a_blank_is_not_taken_for_two() -> None:
    first, second = str(UUID(int=1)), str(UUID(int=2))
    assert owner_keys([f"{first} {second}", first]).tolist()[1] == owner_keys([first]).tolist()[0]
    assert len(owner_keys([f"{first} {second}"])) == 1


@given(st.lists(st.integers(0, 12), max_size=30).map(sorted), st.sets(st.integers(0, 15)), st.randoms())
def test_runs_find_what_a_scan_of_every_position_finds(rows: list[int], wanted: set[int], random: Random) -> None:
    runs = Runs(np.array(rows, np.int32))
    found = runs.places(np.array(sorted(wanted), np.intp))
    assert found.tolist() == [place for place, number in enumerate(rows) if number in wanted]
    chosen = [random.random() < 0.5 for _ in rows]
    touched = runs.touched(np.array(chosen, np.bool_))
    assert touched.tolist() == sorted({number for number, some in zip(rows, chosen, strict=True) if some})
