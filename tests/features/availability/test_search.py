"""The windows that a search finds are granted at once, and no earlier one is (idea 2)."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.enforcement.base import Enforcement
from leasehold.features.availability.search import Wish, search_windows
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.reading.queries import get_lease
from leasehold.model.errors import (
    InvalidDateError,
    InvalidInputError,
    LeaseholdError,
    LimitExceededError,
    NotEnoughError,
)
from tests.counts.meter import Meter
from tests.factory import DEMO, flavors, floating_ips, hosts, instances, run_until
from tests.stateful.audit import dump

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leasehold.features.availability.search import SearchResult
    from tests.factory import World

pytestmark = pytest.mark.slow

TOTALS = {"hosts": 5, "vcpus": 60, "memory_mb": 60_000, "floating_ips": 4}
LAST = 8
"""Leases begin and end within so many hours, on quarters of an hour."""
QUARTER = 0.25
HOUR = timedelta(hours=1)
QUIET = LeaseSettings(rebinding_seconds=0.0)
"""Leases that have not started make room for no other."""


def search(world: World, *alternatives: Sequence[dict[str, Any]], hours: float = 1, **more: Any) -> SearchResult:
    more.setdefault("earliest", world.hour(0))
    return search_windows(world.service, DEMO, Wish(alternatives, timedelta(hours=hours), **more))


def found(world: World, result: SearchResult) -> list[tuple[int, float, float]]:
    """Return the alternative, the start and the end in hours of each window."""
    return [
        (each.alternative, (each.window.start - world.hour(0)) / HOUR, (each.window.end - world.hour(0)) / HOUR)
        for each in result.windows
    ]


def any_part(rng: random.Random) -> dict[str, Any]:
    kind = rng.choice(["hosts", "slots", "flavors", "addresses"])
    if kind == "hosts":
        least = rng.randint(1, 3)
        return hosts(least, least + rng.randint(0, 1))
    if kind == "slots":
        return instances(rng.randint(1, 20), rng.randint(1, 12), affinity=rng.choice([None, False]))
    if kind == "flavors":
        return flavors(rng.randint(1, 20))
    return floating_ips(rng.randint(1, 3))


def fill(world: World, rng: random.Random) -> None:
    for _ in range(12):
        start = rng.randrange(int(LAST / QUARTER)) * QUARTER
        try:
            world.lease(any_part(rng), start=start, end=start + rng.randint(1, 12) * QUARTER)
        except (NotEnoughError, LimitExceededError):
            continue


def is_granted(world: World, parts: Sequence[dict[str, Any]], start: float, hours: float) -> bool:
    try:
        lease = world.lease(*parts, start=start, end=start + hours)
    except (NotEnoughError, LimitExceededError):
        return False
    delete_lease(world.service, lease.id)
    return True


def some_limits(rng: random.Random) -> LimitSettings:
    totals = {name: rng.randint(1, most) for name, most in TOTALS.items() if rng.random() < 0.5}
    mine, ours = (rng.choice([None, rng.randint(5, 60)]) for _ in range(2))
    user_hosts = rng.choice([None, rng.randint(1, 4)])
    return LimitSettings(totals=totals, user_hosts=user_hosts, user_host_hours=mine, project_host_hours=ours)


@pytest.mark.parametrize("limited", ["without limits", "with limits"])
@pytest.mark.parametrize("seed", range(16))
def test_the_windows_are_granted_and_no_earlier_one_is(world: World, seed: int, limited: str) -> None:
    rng = random.Random(seed)  # noqa: S311 - a reproducible choice, no secret.
    world = world.with_settings(leases=replace(QUIET, limits=some_limits(rng)) if limited == "with limits" else QUIET)
    fill(world, rng)
    alternatives = [[any_part(rng) for _ in range(rng.randint(1, 2))] for _ in range(rng.randint(1, 2))]
    hours, limit = rng.randint(1, 8) * QUARTER, rng.randint(1, 3)
    result = search(world, *alternatives, hours=hours, limit=limit)
    expected = []
    for number, parts in enumerate(alternatives):
        start, count = 0.0, 0
        while start < 2 * LAST and count < limit:
            if is_granted(world, parts, start, hours):
                expected.append((start, number))
                start, count = start + hours, count + 1
            else:
                start += QUARTER
        assert (number in result.refused) == (count == 0)
    assert [(start, number) for number, start, _ in found(world, result)] == sorted(expected)[:limit]
    for window in result.windows:
        granted = world.lease(
            *alternatives[window.alternative],
            start=(window.window.start - world.hour(0)) / HOUR,
            end=(window.window.end - world.hour(0)) / HOUR,
        )
        granted = get_lease(world.service, granted.id)
        held = [sum(each.pick.slots for each in part.allocations) for part in granted.reservations]
        assert held == list(window.amounts)
        delete_lease(world.service, granted.id)


def test_a_search_leaves_no_trace(world: World) -> None:
    world = world.with_settings(leases=LeaseSettings(limits=LimitSettings(totals={"hosts": 3}, user_host_hours=50)))
    world.lease(hosts(2), start=0, end=2)
    run_until(world, world.hour(0.5))
    before = dump(world.engine)
    result = search(world, [hosts(1)], [hosts(4)], limit=9)
    assert dump(world.engine) == before
    assert {each.alternative for each in result.windows} == {0}
    assert "a project may have 3" in result.refused[1].message


def test_a_shorter_lease_is_found_where_the_wanted_one_does_not_fit(world: World) -> None:
    world.lease(hosts(5), start=3, end=9)
    asked: dict[str, Any] = {"hours": 4, "end": world.hour(10)}
    refused = search(world, [hosts(1)], **asked).refused[0]
    assert isinstance(refused, NotEnoughError)
    assert refused.refusal.nearest is not None
    assert refused.refusal.nearest.start == world.hour(9)
    assert found(world, search(world, [hosts(1)], **asked, shortest=HOUR)) == [(0, 0, 3)]
    assert found(world, search(world, [hosts(1)], **asked, shortest=HOUR, limit=9)) == [(0, 0, 3)]
    assert found(world, search(world, [hosts(1)], hours=1, shortest=HOUR, limit=4, end=world.hour(10))) == [
        (0, 0, 1),
        (0, 1, 2),
        (0, 2, 3),
        (0, 9, 10),
    ]
    assert search(world, [hosts(1)], **asked, shortest=4 * HOUR).refused.keys() == {0}


def test_the_start_lies_within_its_bounds(world: World) -> None:
    world.lease(hosts(4), start=0, end=3)
    assert found(world, search(world, [hosts(2)], latest=world.hour(3))) == [(0, 3, 4)]
    late = search(world, [hosts(2)], [hosts(1)], latest=world.hour(2))
    assert found(world, late) == [(1, 0, 1)]
    assert "starts at" in late.refused[0].message
    assert found(world, search(world, [hosts(2)], earliest=world.hour(5))) == [(0, 5, 6)]
    assert found(world, search(world, [hosts(1)], earliest=world.hour(-9))) == [(0, 0, 1)]


def test_what_can_never_be_granted_says_why(world: World) -> None:
    never = search(world, [hosts(1), floating_ips(99)], [hosts(1)])
    assert found(world, never) == [(1, 0, 1)]
    assert (never.refused[0].field, "99 asked" in never.refused[0].message) == ("alternatives[0][1]", True)


def test_the_limits_of_the_project_count(world: World) -> None:
    limits = LimitSettings(end_lookahead=timedelta(hours=4))
    world = world.with_settings(
        leases=LeaseSettings(enforcement_filters=("MaxLookaheadFilter",), limits=limits, rebinding_seconds=0.0)
    )
    assert found(world, search(world, [hosts(1)], limit=9)) == [(0, hour, hour + 1) for hour in range(4)]
    world.lease(hosts(5), start=0, end=3.5)
    refused = search(world, [hosts(1)]).refused[0]
    assert isinstance(refused, LimitExceededError)


def test_a_later_window_is_found_where_the_limits_forbid_the_first_ones(world: World) -> None:
    limits = LimitSettings(totals={"hosts": 3})
    world = world.with_settings(leases=replace(QUIET, limits=limits))
    world.lease(hosts(2), start=0, end=3)
    world.lease(hosts(3), start=4, end=6)
    assert found(world, search(world, [hosts(2)], limit=3)) == [(0, 3, 4), (0, 6, 7), (0, 7, 8)]
    assert found(world, search(world, [hosts(2)], hours=2)) == [(0, 6, 8)]
    result = search(world, [hosts(2)], hours=2, latest=world.hour(5))
    assert "other leases of the project have up to 2 then" in result.refused[0].message
    # No other time would help.
    assert "asks for 4 hosts" in search(world, [hosts(4)]).refused[0].message


def test_a_shorter_lease_is_found_where_the_limits_forbid_the_wanted_one(world: World) -> None:
    for more in (
        {"enforcement_filters": ("MaxLeaseDurationFilter",), "max_duration": timedelta(hours=2)},
        {"limits": LimitSettings(project_host_hours=4)},
    ):
        bounded = world.with_settings(leases=replace(QUIET, **more))
        refused = search(bounded, [hosts(2)], hours=3).refused[0]
        assert isinstance(refused, LimitExceededError)
        assert found(bounded, search(bounded, [hosts(2)], hours=3, shortest=HOUR)) == [(0, 0, 2)]


def test_what_is_offered_in_a_refusal_is_within_the_limits(world: World) -> None:
    limits = LimitSettings(end_lookahead=timedelta(hours=4))
    filters = ("MaxLookaheadFilter",)
    world = world.with_settings(leases=replace(QUIET, limits=limits, enforcement_filters=filters))
    world.lease(hosts(5), start=0, end=3.5)
    refused = search(world, [hosts(1)], latest=world.hour(3)).refused[0]
    assert isinstance(refused, NotEnoughError)
    assert refused.refusal.nearest is None


def test_no_more_is_decided_than_is_wanted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world = world.with_settings(leases=replace(QUIET, limits=LimitSettings(totals={"hosts": 3})))
    checked: list[Any] = []
    check = Enforcement.check_create

    def counted(self: Enforcement, lease: Any, deciding: Any) -> None:
        checked.append(lease.window)
        check(self, lease, deciding)

    monkeypatch.setattr(Enforcement, "check_create", counted)
    assert len(search(world, *[[hosts(1)] for _ in range(10)], limit=20).windows) == 20
    assert len(checked) <= 30
    meter = Meter(world.engine)
    many = meter.of(lambda: search(world, *[[hosts(1)] for _ in range(10)], limit=20))
    assert many["statements"] == meter.of(lambda: search(world, [hosts(1)]))["statements"]


@pytest.mark.parametrize("hour", [1, 24 * 366])
def test_no_window_lies_beyond_the_last_date(world: World, hour: int) -> None:
    last = datetime(9998, 12, 31, 23, 59, tzinfo=UTC)
    near = last - timedelta(hours=hour)
    assert search(world, [hosts(1)], earliest=near, limit=9).windows[-1].window.end <= last
    wish: dict[str, Any] = {"earliest": near, "hours": hour + 1}
    with pytest.raises(InvalidDateError) as caught:
        search(world, [hosts(1)], **wish)
    assert caught.value.field == "start_date"
    shorter = search(world, [hosts(1)], **wish, shortest=timedelta(minutes=30), limit=9)
    assert [each.window.end for each in shorter.windows] == [last]
    with pytest.raises(InvalidDateError):
        search(world, [hosts(1)], hours=24 * 366 * 9000)


WRONG: dict[str, tuple[dict[str, Any], dict[str, float], type[LeaseholdError], str]] = {
    "a property that no host has": (
        hosts(1, resource_properties='["==", "$gpu", "1"]'),
        {},
        InvalidInputError,
        "alternatives[0][0].resource_properties",
    ),
    "an end that is too early": (hosts(1), {"end": 0.5}, InvalidDateError, "end_date"),
    "a latest start before the earliest": (
        hosts(1),
        {"latest": 1, "earliest": 2},
        InvalidDateError,
        "latest_start_date",
    ),
}


@pytest.mark.parametrize(("part", "bounds", "error", "field"), WRONG.values(), ids=WRONG)
def test_a_wrong_question_is_refused(
    world: World, part: dict[str, Any], bounds: dict[str, float], error: type[LeaseholdError], field: str
) -> None:
    with pytest.raises(error) as caught:
        search(world, [part], hours=1, **{name: world.hour(hour) for name, hour in bounds.items()})
    assert caught.value.field == field
