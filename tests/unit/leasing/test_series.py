"""Idea 1: series of leases, granted, amended and deleted in one request, and completed after a failure."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.leasing import queries
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.create import create_lease
from leasehold.leasing.series import (
    MOST_SERIES,
    SECONDS,
    amend_series,
    delete_series,
    get_series,
    list_series,
    make_series,
)
from leasehold.model.errors import (
    CloudUnavailableError,
    ConflictError,
    InvalidDateError,
    InvalidInputError,
    LeaseholdError,
    NotFoundError,
    TooManySeriesError,
)
from leasehold.model.heal_policy import HealPolicy
from leasehold.model.series import SeriesChanges, SeriesDraft
from leasehold.model.windows import Window
from tests.factory import ALT, DEMO, Killed, hosts, run_for, run_until
from tests.stateful.audit import audit, dump

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.lease import Lease
    from leasehold.model.series import Series
    from tests.factory import World

pytestmark = pytest.mark.slow
HOUR = timedelta(hours=1)
DAILY = "FREQ=DAILY;COUNT=3"


def draft(world: World, *parts: Any, start: float = 1, hours: float = 2, rule: str = DAILY, **more: Any) -> SeriesDraft:
    begin = world.hour(start)
    window = Window(begin, begin + hours * HOUR)
    return SeriesDraft("course", window, rule, "UTC", parts or (hosts(1),), fingerprint=rule, **more)


def make(world: World, *parts: Any, key: str | None = None, **more: Any) -> Series:
    return make_series(world.service, DEMO, draft(world, *parts, **more), key)


def amend(world: World, series: Series, **changes: Any) -> Series:
    return amend_series(world.service, DEMO, series.id, SeriesChanges(**changes))


def leases(world: World, series: Series) -> list[Lease]:
    return [queries.get_lease(world.service, each) for each in series.lease_ids]


def refusals(series: Series) -> list[str | None]:
    return [None if each.refusal is None else each.refusal.code for each in series.occurrences]


def test_each_occurrence_is_a_lease_of_its_own(world: World) -> None:
    series = make(world, heal_policy=HealPolicy.NEVER, reminders=(60,))
    assert get_series(world.service, series.id) == series
    found = leases(world, series)
    assert [each.name for each in found] == ["course 1/3", "course 2/3", "course 3/3"]
    assert [each.window.start for each in found] == [world.hour(1 + 24 * day) for day in range(3)]
    assert {(each.window.duration, each.heal_policy, each.reminders) for each in found} == {
        (2 * HOUR, HealPolicy.NEVER, (60,))
    }
    run_until(world, world.hour(2))
    assert [each.status for each in leases(world, series)] == ["ACTIVE", "PENDING", "PENDING"]
    audit(world)


def test_what_does_not_fit_is_listed_with_its_offer_and_granted_when_it_fits(world: World) -> None:
    blocker = world.lease(hosts(5), start=25, end=26)
    series = make(world)
    assert refusals(series) == [None, "leasehold.resources.not_enough", None]
    refused = series.occurrences[1]
    assert refused.refusal is not None
    assert refused.refusal.details["nearest"]["start"]
    assert refused.lease_id is None
    again = amend(world, series)
    assert refusals(again) == refusals(series)
    world.delete(blocker)
    again = amend(world, again)
    assert refusals(again) == [None, None, None]
    assert again.lease_ids[:1] == series.lease_ids[:1]
    assert len(queries.list_leases(world.service, "demo")) == 3
    audit(world)


def test_a_limit_of_the_project_is_a_refusal_of_the_occurrence(world: World) -> None:
    limited = world.with_settings(leases=replace(LeaseSettings(), limits=LimitSettings(open_leases=2)))
    series = make(limited)
    assert refusals(series) == [None, None, "leasehold.enforcement.open_leases"]
    limited.engine.dispose()


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"rule": "FREQ=DAILY"}, InvalidInputError),
        ({"start": -1}, InvalidDateError),
        ({"hours": 25}, InvalidInputError),
    ],
)
def test_what_is_wrong_with_every_occurrence_leaves_nothing(
    world: World, more: dict[str, Any], error: type[LeaseholdError]
) -> None:
    before = dump(world.engine)
    with pytest.raises(error):
        make(world, **more)
    with pytest.raises(LeaseholdError):
        make(world, {"resource_type": "physical:none"})
    assert dump(world.engine) == before


def test_a_repeated_key_makes_one_series_and_another_request_is_a_conflict(world: World) -> None:
    first = make(world, key="a")
    assert make(world, key="a") == first
    assert len(queries.list_leases(world.service, "demo")) == 3
    with pytest.raises(ConflictError):
        make(world, key="a", rule="FREQ=DAILY;COUNT=2")
    other = make_series(world.service, ALT, draft(world), "a")
    assert other.id != first.id


@pytest.mark.parametrize("dies", [0, 1, 2])
def test_who_dies_in_between_is_completed_by_the_same_request(
    world: World, monkeypatch: pytest.MonkeyPatch, dies: int
) -> None:
    made: list[Lease] = []

    def dying(*args: Any) -> Any:
        if len(made) == dies:
            raise Killed
        made.append(create_lease(*args))
        return made[-1]

    monkeypatch.setattr("leasehold.leasing.series.create_lease", dying)
    # A process that dies does not write what it has done.
    monkeypatch.setattr("leasehold.leasing.series._save_grants", lambda _service, _before, after: after)
    with pytest.raises(Killed):
        make(world, key="a")
    monkeypatch.undo()
    (left,) = list_series(world.service, "demo")
    assert left.lease_ids == []
    series = make(world, key="a")
    assert refusals(series) == [None] * 3
    assert {lease.id for lease in made} <= set(series.lease_ids)
    assert len(queries.list_leases(world.service, "demo")) == 3
    audit(world)


def test_an_error_of_the_service_ends_the_request_and_keeps_what_was_granted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Lease] = []

    def failing(*args: Any) -> Any:
        if made:
            raise CloudUnavailableError("down")
        made.append(create_lease(*args))
        return made[-1]

    monkeypatch.setattr("leasehold.leasing.series.create_lease", failing)
    with pytest.raises(CloudUnavailableError):
        make(world, key="a")
    monkeypatch.undo()
    (left,) = list_series(world.service, "demo")
    assert [each.lease_id for each in left.occurrences] == [made[0].id, None, None]
    assert refusals(make(world, key="a")) == [None] * 3


def test_a_request_that_takes_long_stops_and_the_next_one_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]

    def slowly(act: Callable[..., Lease]) -> Callable[..., Lease]:
        def take(*args: Any) -> Lease:
            passed[0] += 0.6 * SECONDS
            return act(*args)

        return take

    monkeypatch.setattr("leasehold.leasing.series.create_lease", slowly(create_lease))
    monkeypatch.setattr("leasehold.leasing.series.amend_lease", slowly(amend_lease))
    slow = replace(world, service=replace(world.service, steady=lambda: passed[0]))
    first = make(slow, key="a")
    assert refusals(first) == [None, None, "leasehold.series.unfinished"]
    series = make(slow, key="a")
    assert refusals(series) == [None] * 3
    assert series.lease_ids[:2] == first.lease_ids
    begin = series.occurrences[0].window
    dates = {"start": begin.start + HOUR, "end": begin.end + HOUR}
    assert refusals(amend(slow, series, **dates)) == refusals(first)
    assert refusals(amend(slow, series, **dates)) == [None, "leasehold.series.unfinished", None]
    whole = amend(world, series, **dates)
    assert refusals(whole) == [None] * 3
    assert [each.window for each in leases(world, whole)] == [each.window for each in whole.occurrences]
    audit(world)


def test_an_amendment_moves_those_that_have_not_begun(world: World) -> None:
    series = make(world)
    run_until(world, world.hour(1.5))
    first = series.occurrences[0].window
    after = amend(world, series, start=first.start + HOUR, end=first.end + 2 * HOUR, name="lab")
    moved = leases(world, after)
    assert [each.name for each in moved] == ["course 1/3", "lab 2/3", "lab 3/3"]
    assert [each.window for each in moved[:1]] == [first]
    assert [each.window.start for each in moved[1:]] == [world.hour(26), world.hour(50)]
    assert {each.window.duration for each in moved[1:]} == {3 * HOUR}
    # The plan is absolute, so the same request again changes nothing.
    assert [
        each.window for each in leases(world, amend(world, after, start=first.start + HOUR, end=first.end + 2 * HOUR))
    ] == [each.window for each in moved]
    audit(world)


def test_an_amendment_of_the_reservations_is_one_of_each_lease(world: World) -> None:
    blocker = world.lease(hosts(3), start=25, end=26)
    series = make(world)
    after = amend(world, series, reservations=({"min": 3, "max": 3},))
    assert refusals(after) == [None, "leasehold.resources.not_enough", None]
    assert [sum(world.holds(each).values()) for each in leases(world, after)] == [3, 1, 3]
    world.delete(blocker)
    again = amend(world, after, reservations=({"min": 3, "max": 3},))
    assert refusals(again) == [None] * 3
    assert [sum(world.holds(each).values()) for each in leases(world, again)] == [3, 3, 3]
    with pytest.raises(InvalidInputError, match="1 objects"):
        amend(world, again, reservations=({}, {}))
    audit(world)


def test_a_deletion_takes_the_leases_along(world: World) -> None:
    series, other = make(world), make(world, start=4)
    world.delete(leases(world, series)[1])
    run_until(world, world.hour(1.5))
    delete_series(world.service, series.id)
    run_for(world, minutes=1)
    assert list_series(world.service, "demo") == [other]
    assert {each.id for each in queries.list_leases(world.service, "demo")} == set(other.lease_ids)
    for act in (lambda: get_series(world.service, series.id), lambda: delete_series(world.service, series.id)):
        with pytest.raises(NotFoundError):
            act()
    audit(world)


def test_a_project_may_have_so_many_and_no_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_SERIES == 100
    monkeypatch.setattr("leasehold.leasing.series.MOST_SERIES", 2)
    kept = [make(world, start=3 * number + 1, rule="FREQ=DAILY;COUNT=1") for number in range(2)]
    before = dump(world.engine)
    with pytest.raises(TooManySeriesError):
        make(world, start=10)
    assert dump(world.engine) == before
    make_series(world.service, ALT, draft(world, start=10))
    delete_series(world.service, kept[0].id)
    make(world, start=13)
