"""Which machines wake up and which sleep, on random pools."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leasehold.features.power.model import ENOUGH, SEEN, Stage, margin
from leasehold.features.power.plan import Candidate, Conditions, ahead, plan
from leasehold.model.hours import Hours

NOW = datetime(2031, 5, 1, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
UNDER_WAY = {Stage.CLOSING, Stage.STOPPING, Stage.WAKING}
minutes = st.integers(0, 200).map(lambda number: number * MINUTE)
conditions = st.builds(
    Conditions,
    idle=minutes,
    least_on=minutes,
    least_off=minutes,
    spares=st.integers(0, 3),
    at_once=st.integers(1, 4),
    every=st.just(timedelta(seconds=10)),
)


@st.composite
def pools(draw: st.DrawFn) -> list[Candidate]:
    return [
        Candidate(
            number=number,
            stage=draw(st.sampled_from(Stage)),
            takes=draw(st.integers(1, 30)) * MINUTE,
            group=(draw(st.sampled_from("ab")),),
            able=draw(st.booleans()),
            next_start=draw(st.one_of(st.none(), minutes.map(lambda length: NOW + length))),
            idle_since=draw(st.one_of(st.none(), minutes.map(lambda length: NOW - length))),
            on_since=draw(st.one_of(st.none(), minutes.map(lambda length: NOW - length))),
        )
        for number in range(draw(st.integers(0, 9)))
    ]


@given(pools(), conditions, st.booleans())
def test_a_plan_keeps_its_conditions(pool: list[Candidate], given_: Conditions, may_sleep: bool) -> None:  # noqa: FBT001 - hypothesis
    found = plan(pool, given_, NOW, may_sleep=may_sleep)
    by_number = {each.number: each for each in pool}
    wake, sleep = ([by_number[number] for number in numbers] for numbers in (found.wake, found.sleep))
    asleep = {Stage.ASLEEP, Stage.STOPPING, Stage.CLOSING}
    assert all(each.stage in asleep for each in wake)
    used = [each for each in pool if each.stage in asleep and each.idle_since is None]
    assert {each.number for each in used} <= set(found.wake)
    needed = [each for each in pool if each.stage in asleep and (each.next_start is not None or each in used)]
    # Whoever could not try twice, and be replaced, if it began any later is woken, whatever else is under way.
    late = [each for each in needed if each.next_start and each.next_start - ahead(each.takes, 0, given_) <= NOW]
    assert {each.number for each in late} <= set(found.wake)
    under_way = sum(each.stage in UNDER_WAY for each in pool)
    due = sum(
        each in used
        or (each.next_start is not None and each.next_start <= NOW + ahead(each.takes, len(needed), given_))
        for each in wake
    )
    assert under_way + len(sleep) + len(wake) - due <= max(given_.at_once, under_way)
    assert not sleep or may_sleep
    for each in sleep:
        assert each.stage is Stage.ON
        assert each.able
        assert each.idle_since is not None
        assert NOW - each.idle_since >= given_.idle
        assert each.on_since is None or NOW - each.on_since >= max(given_.least_on, given_.idle)
        assert each.next_start is None or each.next_start - NOW >= 2 * each.takes + given_.least_off
    _check_spares(pool, sleep, given_)


def _check_spares(pool: list[Candidate], sleep: list[Candidate], given_: Conditions) -> None:
    """Check that of each group from which hosts go to sleep as many idle ones stay as are wanted."""
    gone = {each.number for each in sleep}
    left = Counter(
        each.group
        for each in pool
        if each.stage is Stage.ON and each.able and each.idle_since is not None and each.number not in gone
    )
    assert all(left[each.group] >= given_.spares for each in sleep)


@given(pools(), conditions, st.data())
def test_hosts_that_a_waiting_lease_would_get_wake_and_stay_on(
    pool: list[Candidate], given_: Conditions, data: st.DataObject
) -> None:
    wanted = {each.number for each in pool if data.draw(st.booleans())}
    found = plan([replace(each, wanted=each.number in wanted) for each in pool], given_, NOW, may_sleep=True)
    assert wanted.isdisjoint(found.sleep)
    resting = {each.number for each in pool if each.stage in (Stage.ASLEEP, Stage.STOPPING, Stage.CLOSING)}
    room = given_.at_once - sum(each.stage in UNDER_WAY for each in pool)
    # Only the bound on machines at once lets one sleep on, and then no spare is woken instead.
    if not resting & wanted <= set(found.wake):
        assert len(found.wake) >= room


def test_those_that_are_needed_soonest_come_first_and_spares_if_there_is_room() -> None:
    def asleep(number: int, start: int | None) -> Candidate:
        next_start = None if start is None else NOW + start * MINUTE
        return Candidate(number, Stage.ASLEEP, 10 * MINUTE, (), next_start=next_start, idle_since=NOW)

    pool = [asleep(1, 600), asleep(2, 20), asleep(3, 15), asleep(4, None), asleep(5, None)]
    usual = Conditions(MINUTE, MINUTE, MINUTE, spares=2, at_once=2, every=timedelta(seconds=10))
    assert list(plan(pool, usual, NOW, may_sleep=True).wake) == [3, 2]
    usual = Conditions(MINUTE, MINUTE, MINUTE, spares=2, at_once=3, every=timedelta(seconds=10))
    assert list(plan(pool, usual, NOW, may_sleep=True).wake) == [3, 2, 1]


@given(st.lists(st.integers(1, 10_000), max_size=80))
def test_a_margin_is_a_quarter_more_than_the_longest_of_the_last(seconds: list[int]) -> None:
    durations = [timedelta(seconds=each) for each in seconds]
    floor, default = timedelta(seconds=60), timedelta(seconds=900)
    found = margin(durations, floor, default)
    if len(durations) < ENOUGH:
        assert found == default
    else:
        assert found == max(floor, 1.25 * max(durations[-SEEN:]))


@pytest.mark.parametrize(
    ("days", "start", "end", "inside", "outside"),
    [
        ({3}, 8, 18, ["2031-05-01 08:00", "2031-05-01 17:59"], ["2031-05-01 18:00", "2031-05-02 09:00"]),
        ({3}, 22, 6, ["2031-05-01 22:00", "2031-05-02 05:59"], ["2031-05-01 05:00", "2031-05-02 06:00"]),
    ],
)
def test_hours_may_go_over_midnight(
    days: set[int], start: int, end: int, inside: list[str], outside: list[str]
) -> None:
    hours = Hours(frozenset(days), time(start), time(end))
    assert all(hours.contain(datetime.fromisoformat(each)) for each in inside)
    assert not any(hours.contain(datetime.fromisoformat(each)) for each in outside)
