"""A calendar that is updated in steps gives the same answers as one that is loaded at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.calendar.index import HISTORY, Calendar
from leasehold.calendar.store import owner_keys
from leasehold.model.windows import Window, from_seconds
from tests.unit.calendar.oracle import Oracle, Row, columns, latest
from tests.unit.calendar.strategies import DAY, RESERVATIONS, allocations, demands, pools, resource, spans

if TYPE_CHECKING:
    from leasehold.model.resource import Resource

NOTHING = columns(())
# With these tails the store sorts after every update, sometimes, and never in such small examples.
tails = st.sampled_from([0, 3, 1000])


def check(calendar: Calendar, oracle: Oracle, now: int, times: tuple[int, int], demand: dict[str, int]) -> None:
    snapshot = calendar.snapshot(from_seconds(now))
    window = Window.of_seconds(*times)
    assert snapshot.numbers.tolist() == [each.number for each in oracle.resources]
    assert snapshot.bookable().tolist() == [each.bookable for each in oracle.resources]
    assert snapshot.free(window).tolist() == oracle.free(times)
    assert snapshot.slots(window, demand).tolist() == oracle.slots(times, demand)


@given(st.data(), pools(), tails, spans, demands)
def test_any_split_gives_the_same_answers(
    data: st.DataObject, pool: list[Resource], tail: int, times: tuple[int, int], demand: dict[str, int]
) -> None:
    rows = data.draw(allocations(pool, most=20))
    places = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=6)))
    chunks = [rows[a:b] for a, b in zip([0, *places], [*places, len(rows)], strict=True)]
    calendar = Calendar("hosts", most_tail=tail)
    arrived: list[Row] = []
    for generation, chunk in enumerate(chunks):
        calendar.update(generation, () if generation else pool, columns(chunk))
        arrived += chunk
        # A snapshot flushes new rows to the store, so test with and without one between two updates.
        if data.draw(st.booleans()):
            now = data.draw(st.integers(0, DAY))
            check(calendar, Oracle(pool, latest(arrived), now), now, times, demand)
    now = data.draw(st.integers(0, DAY))
    check(calendar, Oracle(pool, latest(rows), now), now, times, demand)
    assert calendar.generation == len(chunks) - 1


@given(st.data(), pools(), pools(), tails, spans, demands)
@pytest.mark.slow
def test_resources_may_come_later_and_change(
    data: st.DataObject,
    pool: list[Resource],
    more: list[Resource],
    tail: int,
    times: tuple[int, int],
    demand: dict[str, int],
) -> None:
    everything = list({each.number: each for each in pool + more}.values())
    first, second = data.draw(allocations(pool)), data.draw(allocations(everything))
    calendar = Calendar("hosts", most_tail=tail)
    calendar.update(0, pool, columns(first))
    calendar.snapshot(from_seconds(0))
    calendar.update(1, more, columns(second))
    now = data.draw(st.integers(0, DAY))
    check(calendar, Oracle(everything, latest(first + second), now), now, times, demand)


@given(st.data(), pools(), tails, spans, demands)
def test_forgetting_changes_nothing_from_that_moment_on(
    data: st.DataObject, pool: list[Resource], tail: int, times: tuple[int, int], demand: dict[str, int]
) -> None:
    rows = data.draw(allocations(pool, most=20))
    moment = data.draw(st.integers(0, times[0]))
    now = data.draw(st.integers(0, DAY))
    calendar = Calendar("hosts", most_tail=tail)
    calendar.update(0, pool, columns(rows))
    calendar.forget_before(from_seconds(moment))
    check(calendar, Oracle(pool, latest(rows), now), now, times, demand)


def a_row(id_: int, start: int, end: int, **fields: object) -> Row:
    row = Row(id_, number=1, start=start, end=end, slots=1, demand=None, reservation=RESERVATIONS[0], released=False)
    return replace(row, **fields)  # type: ignore[arg-type]


def free(calendar: Calendar, start: int, end: int, now: int = 0) -> bool:
    return bool(calendar.snapshot(from_seconds(now)).free(Window.of_seconds(start, end)).all())


def test_a_promise_can_be_shortened_cancelled_and_made_again() -> None:
    calendar = Calendar("hosts")
    calendar.update(1, [resource(1)], columns([a_row(1, 10, 20)]))
    assert not free(calendar, 15, 25)
    calendar.update(2, (), columns([a_row(1, 10, 15)]))
    assert free(calendar, 15, 25)
    calendar.update(3, (), columns([a_row(1, 10, 10)]))
    assert free(calendar, 10, 15)
    # A cancelled allocation takes nothing, even if it was never released.
    assert free(calendar, 30, 40, now=30)
    calendar.update(4, (), columns([a_row(1, 12, 30)]))
    assert not free(calendar, 15, 25)


def test_within_one_update_the_later_row_counts() -> None:
    calendar = Calendar("hosts")
    calendar.update(1, [resource(1)], columns([a_row(1, 10, 20), a_row(2, 50, 60), a_row(1, 10, 10)]))
    assert free(calendar, 10, 20)
    assert not free(calendar, 50, 60)


def test_history_is_forgotten_by_itself_once_it_is_long() -> None:
    calendar = Calendar("hosts")
    day = int(HISTORY.total_seconds())
    past = [a_row(n, n, n + 1, released=True) for n in range(1, 100)]
    calendar.update(1, [resource(1)], columns([*past, a_row(200, 5 * day, 6 * day)]))
    assert not free(calendar, 50, 51, now=60)
    assert free(calendar, 50, 51, now=3 * day)
    assert not free(calendar, 5 * day, 6 * day, now=3 * day)


@pytest.mark.slow
def test_a_long_life_of_small_updates() -> None:
    """Over many updates that add, change and drop rows, the answers match the oracle."""
    random = Random(7)  # noqa: S311 - repeatable, not secret
    pool = [resource(number) for number in range(1, 9)]
    calendar = Calendar("hosts", most_tail=20)
    calendar.update(0, pool, NOTHING)
    known: dict[int, Row] = {}
    for generation in range(1, 400):
        fresh = [generation * 3 + n for n in range(random.randrange(3))]
        changed = random.sample(sorted(known), min(len(known), random.randrange(3)))
        rows = []
        for id_ in fresh + changed:
            start = generation + random.randrange(30)
            end = start + random.randrange(-1, 20)
            demand = random.choice([None, {"VCPU": 2}, {"VCPU": 1, "MEMORY_MB": 3}])
            number, released = random.randrange(1, 9), random.random() < 0.5
            rows.append(a_row(id_, start, end, number=number, demand=demand, released=released))
        known |= {row.id: row for row in rows}
        calendar.update(generation, (), columns(rows))
        times = generation + 5, generation + 5 + random.randrange(15)
        check(calendar, Oracle(pool, known.values(), generation), generation, times, {"VCPU": 2})
        if generation % 50 == 0:
            calendar.forget_before(from_seconds(generation) - timedelta(seconds=1))
            known = {id_: row for id_, row in known.items() if not (row.released and row.end < generation)}


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
