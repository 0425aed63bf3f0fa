"""The forecast: what is promised, what waits, what past weeks let one expect, and what is missing (feature G10)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert

from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.db.allocation import write_demand
from leasehold.db.tables import refusals, segments
from leasehold.features.forecast.store import TimeSteps
from leasehold.features.forecast.use import (
    HOUR,
    LEAST_WEEKS,
    MOST_STEPS,
    MOST_WEEKS,
    WEEK,
    Forecast,
    ForecastQuestion,
    complete_weeks,
    expected_of,
    forecast,
    peaks_of,
)
from leasehold.leasing.reading import queries
from leasehold.leasing.refusals import RefusalCounts
from leasehold.model.errors import InvalidDateError, InvalidInputError
from leasehold.model.refused import Operation, Refused
from leasehold.model.resource import FLOATING_IP, HOST
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import to_seconds
from tests.factory import ALT, START, floating_ips, hosts, instances, run_manager

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from tests.factory import World

HOURS_OF_WEEK = 168
DAY = 24


def ask(world: World, start: float = 0, end: float = 24, **more: Any) -> Forecast:
    """Ask for a forecast of hosts; `start` and `end` are hours after `START`."""
    question = ForecastQuestion(HOST, world.hour(start), world.hour(end), **more)
    return forecast(world.service, RefusalCounts(world.service.db), question)


def held(world: World, *spans: tuple[int, float, float]) -> None:
    """Record what instances held: (host, start, end), in hours after `START`; spans of a host may overlap."""
    same = {"lease_id": "l", "reservation_id": "r", "project_id": "p", "user_id": "u", "resource": "h", "slots": 1}
    rows = [
        {
            **same,
            "resource_type": "virtual:instance",
            "resource_number": host,
            "demand": write_demand({"VCPU": 1}),
            "starts_at": to_seconds(world.hour(start)),
            "ends_at": to_seconds(world.hour(end)),
            "written_at": START,
        }
        for host, start, end in spans
    ]
    if rows:
        world.execute(insert(segments).values(rows))


def refuse(world: World, *counts: tuple[float, int, str]) -> None:
    """Count refusals: (hour after `START`, how many were missing, project)."""
    kept = RefusalCounts(world.service.db)
    for hour, missing, project in counts:
        refused = Refused(project, Operation.CREATE, "leasehold.resources.not_enough", HOST, missing)
        kept.note(world.hour(hour), refused)
    kept.write()


def quantile(values: Sequence[int], at: Fraction) -> int:
    """Return a quantile by linear interpolation, rounded up, exactly."""
    ordered = sorted(values)
    place = at * (len(ordered) - 1)
    low = floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ceil(ordered[low] + (place - low) * (ordered[high] - ordered[low]))


# ---------------------------------------------------------------- the estimator


@given(
    before=st.lists(st.integers(0, 50), min_size=4 * 7 * 6, max_size=4 * 7 * 6),
    weeks=st.integers(LEAST_WEEKS, 6),
    ahead=st.integers(0, 60),
)
def test_each_step_is_expected_to_be_as_that_of_past_weeks(before: list[int], weeks: int, ahead: int) -> None:
    in_week, steps = 28, 40
    found = expected_of(np.array(before), weeks, in_week, ahead, steps)
    for step in range(steps):
        # Back from the step by whole weeks, as far as the past goes, and then so many weeks.
        place = len(before) + ahead + step
        past = range(place % in_week, len(before), in_week)[-weeks:]
        values = [before[each] for each in past]
        assert (found.median[step], found.high[step]) == (
            quantile(values, Fraction(1, 2)),
            quantile(values, Fraction(9, 10)),
        )


@pytest.mark.slow
@pytest.mark.parametrize(("weeks", "expected"), [(LEAST_WEEKS, True), (LEAST_WEEKS - 1, False)])
def test_too_few_weeks_let_expect_nothing(world: World, weeks: int, expected: bool) -> None:  # noqa: FBT001
    held(world, (1, -weeks * HOURS_OF_WEEK, 0))
    found = ask(world)
    assert (found.weeks, found.expected is not None) == (weeks, expected)


@pytest.mark.parametrize(("first", "weeks"), [(0, 5), (27, 4), (28, 4), (29, 3), (139, 0)])
def test_history_begins_with_the_first_demand(first: int, weeks: int) -> None:
    before = np.zeros(5 * 28, np.int64)
    assert complete_weeks(before, 28) == 0
    before[first] = 3
    assert complete_weeks(before, 28) == weeks


@given(wanted=st.lists(st.tuples(st.integers(-9, 30), st.integers(0, 30), st.integers(1, 5)), max_size=8))
def test_what_waits_is_summed_where_it_is_most(wanted: list[tuple[int, int, int]]) -> None:
    grid = TimeSteps(0, 5, 4)
    spans = [(start, start + length, amount) for start, length, amount in wanted]
    at = [sum(amount for start, end, amount in spans if start <= moment < end) for moment in range(20)]
    assert peaks_of(spans, grid).tolist() == [max(at[first : first + 5]) for first in range(0, 20, 5)]


# ---------------------------------------------------------------- the whole forecast

SPANS = st.lists(
    st.tuples(st.integers(1, 5), st.integers(-8 * HOURS_OF_WEEK, 0), st.integers(1, 60)), min_size=1, max_size=25
)
MISSED = st.lists(st.tuples(st.integers(-8 * HOURS_OF_WEEK, -1), st.integers(1, 9), st.sampled_from("ab")), max_size=10)


def by_hand(spans: Iterable[tuple[int, int, int]], missed: Sequence[tuple[int, int, str]], hour: int) -> int:
    """Return the demand of a past hour: the hosts that were held, and what projects missed."""
    used = {host for host, start, end in spans if start <= hour < end}
    worst = {project: 0 for *_, project in missed}
    for at, missing, project in missed:
        if at == hour:
            worst[project] = max(worst[project], missing)
    return len(used) + sum(worst.values())


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spans=SPANS, missed=MISSED, step=st.sampled_from([1, 3, 24]), weeks=st.integers(4, 7), start=st.integers(0, 400))
def test_the_expectation_is_that_of_a_count_by_hand(
    world: World,
    spans: list[tuple[int, int, int]],
    missed: list[tuple[int, int, str]],
    step: int,
    weeks: int,
    start: int,
) -> None:
    for table in (segments, refusals):
        world.execute(delete(table))
    over = [(host, begin, min(begin + length, 0)) for host, begin, length in spans]
    held(world, *(each for each in over if each[1] < each[2]))
    refuse(world, *missed)
    found = ask(world, start, start + 30, step=step * HOUR, weeks=weeks)
    # Steps begin at multiples of their length since the epoch.
    offset = (to_seconds(START) // HOUR) % step
    first = (start + offset) // step * step - offset
    per_week = HOURS_OF_WEEK // step
    past = [
        max(by_hand(over, missed, hour) for hour in range(begin, begin + step))
        for begin in range(-offset - (weeks + 1) * HOURS_OF_WEEK, -offset, step)
    ]
    known = complete_weeks(np.array(past), per_week)
    assert found.weeks == min(known, weeks)
    assert found.window.start == world.hour(first)
    assert found.window.end >= world.hour(start + 30)
    assume(found.weeks >= LEAST_WEEKS)
    assert found.expected is not None
    for place in range(found.grid.steps):
        ahead = (first + offset) // step + place
        values = [past[each] for each in range(ahead % per_week, len(past), per_week)][-found.weeks :]
        assert found.expected.median[place] == quantile(values, Fraction(1, 2))
        assert found.expected.high[place] == quantile(values, Fraction(9, 10))


@pytest.mark.slow
def test_of_a_demand_that_repeats_each_week_the_forecast_is_exact(world: World) -> None:
    """A backtest: what was held and refused until a moment, and then what came."""

    def demand(hour: int) -> int:
        of_week = hour % HOURS_OF_WEEK
        return (of_week * 7 + of_week // 24) % 5

    hours = range(-6 * HOURS_OF_WEEK, HOURS_OF_WEEK)
    held(world, *((host, hour, hour + 1) for hour in hours for host in range(1, demand(hour) + 1)))
    refuse(world, *((hour, 2, "demo") for hour in hours if hour % HOURS_OF_WEEK % DAY == 5))
    for moment in (0, 100):
        world.clock.set(world.hour(moment))
        found = ask(world, moment, HOURS_OF_WEEK)
        came = [demand(hour) + 2 * (hour % DAY == 5) for hour in range(moment, HOURS_OF_WEEK)]
        assert found.expected is not None
        assert found.expected.median.tolist() == found.expected.high.tolist() == came


@pytest.mark.slow
def test_what_is_known_is_not_expected_again(world: World) -> None:
    """Five hosts; each day at 12 four were held and three missed, and one was held at 13."""
    world.clock.set(world.hour(0))
    weeks = [-HOURS_OF_WEEK * each for each in range(1, 7)]
    held(world, *((host, week + 3, week + 4) for week in weeks for host in range(1, 5)))
    held(world, *((1, week + 4, week + 5) for week in weeks))
    refuse(world, *((week + 3, 3, "demo") for week in weeks))
    world.lease(hosts(3), start=2, end=4)
    world.lease(hosts(2), start=4, end=5)
    parts = (hosts(4, 5), instances(1))
    waiting = world.lease(*parts, start=3, end=5, type=LeaseType.WAITLIST, deadline=world.hour(3))
    assert waiting.status == "IN_PROGRESS"
    found = ask(world, 0, 6)
    # The first of the six began before anything was held.
    assert found.weeks == 5
    assert found.expected is not None
    assert found.capacity.tolist() == [5] * 6
    assert found.promised.tolist() == [0, 0, 3, 3, 2, 0]
    # The least that would do, and a host for instances.
    assert found.backlog.tolist() == [0, 0, 0, 5, 5, 0]
    assert found.expected.median.tolist() == [0, 0, 0, 7, 1, 0]
    assert found.additional(found.expected.median).tolist() == [0] * 6
    assert found.shortfall().tolist() == found.shortfall(found.expected.median).tolist() == [0, 0, 0, 3, 2, 0]
    alone = replace(found, backlog=found.backlog * 0)
    assert alone.additional(found.expected.median).tolist() == [0, 0, 0, 4, 0, 0]
    assert (alone.shortfall().tolist(), alone.shortfall(found.expected.high).tolist()) == ([0] * 6, [0, 0, 0, 2, 0, 0])


@pytest.mark.slow
def test_capacity_is_what_works_and_has_no_maintenance(world: World) -> None:
    world.disable("cmp-01")
    world.maintain("cmp-01", "cmp-02", start=2, end=3)
    world.maintain("cmp-02", start=2.5, end=3)
    world.lease(instances(2), instances(1), start=1, end=4)
    found = ask(world, 0, 4)
    assert found.capacity.tolist() == [4, 4, 3, 4]
    # Instances may share a host: it counts once.
    used = [len({label for part in (0, 1) for label in world.holds(lease, part)}) for lease in listed(world)]
    assert found.promised.tolist() == [0, *used * 3]


def listed(world: World) -> list[Any]:
    return [lease for lease in list(queries.each_lease(world.service, None)) if not lease.is_maintenance]


@pytest.mark.slow
def test_a_waiting_lease_counts_in_the_window_that_it_would_get(world: World) -> None:
    world.lease(hosts(5), start=0, end=2)
    lease = world.lease(hosts(1), start=0, end=1, type=LeaseType.WAITLIST, deadline=world.hour(1))
    assert ask(world, 0, 3).backlog.tolist() == [1, 0, 0]
    # One whose start has passed would begin now, and last as long.
    world.clock.set(world.hour(0.5))
    assert ask(world, 0, 3).backlog.tolist() == [1, 1, 0]
    world.delete(lease)
    assert ask(world, 0, 3).backlog.tolist() == [0, 0, 0]


@pytest.mark.slow
def test_it_is_said_that_more_leases_wait_than_are_counted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.lease(hosts(5), start=0, end=2)
    monkeypatch.setattr("leasehold.features.forecast.use.MOST_WAITING", 2)
    for more in (False, False, True):
        world.clock.advance(seconds=1)
        world.lease(hosts(2), start=1, end=2, type=LeaseType.WAITLIST, deadline=world.hour(2))
        assert ask(world, 0, 3).uncounted == more
    assert ask(world, 0, 3).backlog.tolist() == [0, 4, 0]


@pytest.mark.slow
def test_a_lease_that_a_limit_stops_is_no_backlog(world: World) -> None:
    """More hosts would not help it."""
    other = world.lease(hosts(5), start=0, end=2, caller=ALT)
    world.lease(hosts(3), start=1, end=2, type=LeaseType.RETRY, retries=5)
    assert ask(world, 0, 3).backlog.tolist() == [0, 3, 0]
    stricter = world.with_settings(leases=LeaseSettings(limits=LimitSettings(totals={"hosts": 2})))
    stricter.delete(other)
    run_manager(stricter)
    assert ask(world, 0, 3).backlog.tolist() == [0, 0, 0]
    assert ask(world, 0, 3).promised.tolist() == [0, 0, 0]


@pytest.mark.slow
def test_of_floating_ips_each_counts(world: World) -> None:
    world.lease(floating_ips(2), start=1, end=2)
    question = ForecastQuestion(FLOATING_IP, START, START + timedelta(hours=3))
    found = forecast(world.service, RefusalCounts(world.service.db), question)
    assert (found.noun, found.weeks, found.expected) == ("floating IPs", 0, None)
    assert found.promised.tolist() == [0, 2, 0]


def refused_with(
    world: World, field: str, words: str = "", error: type[Exception] = InvalidInputError, **asked: Any
) -> None:
    question = replace(ForecastQuestion(HOST, START, START + timedelta(days=1)), **asked)
    with pytest.raises(error) as caught:
        forecast(world.service, RefusalCounts(world.service.db), question)
    assert getattr(caught.value, "field", None) == field
    assert words in str(caught.value)


def test_what_cannot_be_asked_is_refused(world: World) -> None:
    def later(**time: float) -> datetime:
        return START + timedelta(**time)

    refused_with(world, "resource_type", "ask for physical:host", resource_type="virtual:instance")
    refused_with(world, "resource_type", "not supported", resource_type="virtual:quantum")
    for step in (0, -HOUR, 1, 1800, HOUR + 1, 5 * HOUR, 2 * WEEK):
        refused_with(world, "step_seconds", "such as 3600", step=step)
    for weeks in (LEAST_WEEKS - 1, MOST_WEEKS + 1):
        refused_with(world, "weeks", "from 4 to 26", weeks=weeks)
    for end in (START, later(hours=-1)):
        refused_with(world, "to", error=InvalidDateError, end=end)
    refused_with(world, "to", f"at most {MOST_STEPS}", end=later(hours=MOST_STEPS + 1))
    refused_with(world, "to", "366 days", end=later(days=368), step=24 * HOUR)
    question = ForecastQuestion(HOST, START, later(hours=MOST_STEPS))
    assert forecast(world.service, RefusalCounts(world.service.db), question).grid.steps == MOST_STEPS


def test_what_would_take_too_long_to_read_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.features.forecast.use.MOST_READ", 3)
    held(world, *((host, -30 * DAY, -30 * DAY + 1) for host in range(3)))
    world.lease(hosts(3), start=1, end=2)
    ask(world, weeks=LEAST_WEEKS)
    held(world, (3, -30 * DAY, -30 * DAY + 1))
    refused_with(world, "weeks", "fewer weeks", weeks=LEAST_WEEKS)
    world.execute(delete(segments))
    world.lease(hosts(1), start=5, end=6)
    refused_with(world, "to", "a shorter window")
    ask(world, end=3)
