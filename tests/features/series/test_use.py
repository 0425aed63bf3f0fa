"""Idea 1: series of leases, granted, amended and deleted in one request, and completed after a failure."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import pytest

from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.features.series.model import SeriesChangedError, SeriesChanges, SeriesDraft, TooManySeriesError
from leasehold.features.series.occurrences import SECONDS
from leasehold.features.series.use import MOST_SERIES, SERIES, amend_series, delete_series, granted_of, make_series
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.create import create_lease
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.reading import queries
from leasehold.model.errors import (
    CloudUnavailableError,
    ConflictError,
    InvalidDateError,
    InvalidInputError,
    LeaseholdError,
    NotFoundError,
)
from leasehold.model.terms.heal_policy import HealPolicy
from leasehold.model.windows import Window
from tests.factory import ALT, DEMO, Killed, hosts, run_for, run_until
from tests.stateful.audit import audit, dump

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.features.series.model import Series
    from leasehold.model.lease import Lease
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


def only(world: World) -> Series:
    (series,) = SERIES.page(world.service, None)
    return series


def check_named(world: World, series: Series) -> None:
    """Check that the series names exactly the leases that there are, and that each is as planned."""
    assert {each.id for each in list(queries.each_lease(world.service, None))} == set(series.lease_ids)
    planned = {each.lease_id: each.window for each in series.occurrences if each.lease_id}
    assert {each.id: each.window for each in leases(world, series)} == planned
    audit(world)


def check_nothing(world: World) -> None:
    assert list(queries.each_lease(world.service, None)) == []
    assert list(SERIES.page(world.service, None)) == []
    audit(world)


def before(
    monkeypatch: pytest.MonkeyPatch, act: str, number: int, do: Callable[[], Any], of: str = "occurrences"
) -> None:
    """Let this happen once, before an act of this number, counted from 0; an exception is raised."""
    acts: dict[str, Callable[..., Any]] = {
        "create_lease": create_lease,
        "amend_lease": amend_lease,
        "delete_lease": delete_lease,
    }
    done: list[str] = []

    def acted(*args: Any, **more: Any) -> Any:
        done.append(act)
        if len(done) == number + 1:
            if do is Killed:
                raise Killed
            do()
        return acts[act](*args, **more)

    monkeypatch.setattr(f"leasehold.features.series.{of}.{act}", acted)


def leases(world: World, series: Series) -> list[Lease]:
    return [queries.get_lease(world.service, each) for each in series.lease_ids]


def refusals(series: Series) -> list[str | None]:
    return [None if each.refusal is None else each.refusal.code for each in series.occurrences]


def test_each_occurrence_is_a_lease_of_its_own(world: World) -> None:
    series = make(world, heal_policy=HealPolicy.NEVER, reminders=(60,))
    assert SERIES.get(world.service, series.id) == series
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
    assert len(list(queries.each_lease(world.service, "demo"))) == 3
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
    assert len(list(queries.each_lease(world.service, "demo"))) == 3
    with pytest.raises(ConflictError):
        make(world, key="a", rule="FREQ=DAILY;COUNT=2")
    other = make_series(world.service, ALT, draft(world), "a")
    assert other.id != first.id
    # Also when it could not be made any more.
    asked = draft(world)
    run_until(world, world.hour(2))
    assert make_series(world.service, DEMO, asked, "a") == first


@pytest.mark.parametrize("later", [0, 1])
@pytest.mark.parametrize("dies", [0, 1, 2])
def test_who_dies_in_between_has_named_its_leases_and_is_completed(
    world: World, monkeypatch: pytest.MonkeyPatch, dies: int, later: int
) -> None:
    before(monkeypatch, "create_lease", dies, Killed)
    with pytest.raises(Killed):
        make(world, key="a")
    (left,) = SERIES.page(world.service, "demo")
    assert len(left.lease_ids) == dies
    check_named(world, left)
    begin = left.occurrences[0].window
    amend(world, left, start=begin.start + later * HOUR, end=begin.end + later * HOUR)
    series = make(world, key="a")
    assert refusals(series) == [None] * 3
    assert series.lease_ids[:dies] == left.lease_ids
    check_named(world, series)


@pytest.mark.parametrize("granted", [0, 1, 2])
def test_a_series_that_is_deleted_while_it_is_granted_leaves_no_lease(
    world: World, monkeypatch: pytest.MonkeyPatch, granted: int
) -> None:
    before(monkeypatch, "create_lease", granted, lambda: delete_series(world.service, only(world).id))
    with pytest.raises(SeriesChangedError):
        make(world)
    check_nothing(world)


def test_a_deletion_takes_along_what_is_granted_meanwhile(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    blocker = world.lease(hosts(5), start=25, end=26)
    series = make(world)
    world.delete(blocker)
    before(monkeypatch, "delete_lease", 1, lambda: amend(world, series), of="use")
    delete_series(world.service, series.id)
    check_nothing(world)


@pytest.mark.parametrize("act", ["create_lease", "amend_lease"])
def test_a_series_that_is_moved_meanwhile_is_as_the_last_one_planned_it(
    world: World, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    def move() -> Series:
        begin = world.hour(5)
        return amend(world, only(world), start=begin, end=begin + HOUR)

    other = partial(make, world)
    if act == "amend_lease":
        other = partial(amend, world, make(world), start=world.hour(2), end=world.hour(4))
    before(monkeypatch, act, 1, move)
    with pytest.raises(SeriesChangedError):
        other()
    assert [each.window.start for each in leases(world, only(world))] == [world.hour(5 + 24 * day) for day in range(3)]
    check_named(world, only(world))


def test_the_key_of_a_series_that_was_deleted_makes_no_other(world: World) -> None:
    delete_series(world.service, make(world, key="a").id)
    for more, said in (({}, "was deleted since"), ({"rule": "FREQ=DAILY;COUNT=2"}, "used for another request")):
        with pytest.raises(ConflictError, match=said):
            make(world, key="a", **more)
    check_nothing(world)
    assert refusals(make(world, key="b")) == [None] * 3


def test_an_error_of_the_service_ends_the_request_and_keeps_what_was_granted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Lease] = []

    def failing(*args: Any) -> Any:
        if made:
            raise CloudUnavailableError("down")
        made.append(create_lease(*args))
        return made[-1]

    monkeypatch.setattr("leasehold.features.series.occurrences.create_lease", failing)
    with pytest.raises(CloudUnavailableError):
        make(world, key="a")
    monkeypatch.undo()
    (left,) = SERIES.page(world.service, "demo")
    assert [each.lease_id for each in left.occurrences] == [made[0].id, None, None]
    assert refusals(make(world, key="a")) == [None] * 3


def test_a_request_that_takes_long_stops_and_the_next_one_goes_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]

    def slowly(act: Callable[..., Lease]) -> Callable[..., Lease]:
        def take(*args: Any, **more: Any) -> Lease:
            passed[0] += 0.6 * SECONDS
            return act(*args, **more)

        return take

    monkeypatch.setattr("leasehold.features.series.occurrences.create_lease", slowly(create_lease))
    monkeypatch.setattr("leasehold.features.series.occurrences.amend_lease", slowly(amend_lease))
    slow = replace(world, service=replace(world.service, steady=lambda: passed[0]))
    first = make(slow, key="a")
    assert refusals(first) == [None, None, "leasehold.series.unfinished"]
    series = make(slow, key="a")
    assert refusals(series) == [None] * 3
    assert series.lease_ids[:2] == first.lease_ids
    begin = series.occurrences[0].window
    dates = {"start": begin.start + HOUR, "end": begin.end + HOUR}
    assert refusals(amend(slow, series, **dates)) == ["leasehold.series.unfinished", None, None]
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
    shown = granted_of(world.service, [after])
    assert [shown[one.lease_id or ""].window == one.window for one in after.occurrences] == [False, True, True]
    assert [each.window.start for each in moved[1:]] == [world.hour(26), world.hour(50)]
    assert {each.window.duration for each in moved[1:]} == {3 * HOUR}
    # The plan is absolute, so the same request again changes nothing.
    assert [
        each.window for each in leases(world, amend(world, after, start=first.start + HOUR, end=first.end + 2 * HOUR))
    ] == [each.window for each in moved]
    audit(world)


@pytest.mark.parametrize(
    ("rule", "to", "starts"),
    [
        ("FREQ=WEEKLY;BYDAY=MO;COUNT=3", "2031-10-20 10:00", ["10-20", "10-27", "11-03"]),
        ("FREQ=WEEKLY;COUNT=3", "2031-10-21 09:00", ["10-21", "10-28", "11-04"]),
        ("FREQ=MONTHLY;COUNT=3", "2031-10-31 09:00", ["10-31", "12-31", "01-31"]),
    ],
)
def test_a_move_follows_the_rule_in_its_zone(world: World, rule: str, to: str, starts: list[str]) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    first, begin = (datetime.fromisoformat(each).replace(tzinfo=berlin) for each in ("2031-10-20 09:00", to))
    asked = SeriesDraft("a", Window(first, first + HOUR), rule, berlin.key, (hosts(1),))
    series = make_series(world.service, DEMO, asked)
    after = amend(world, series, start=begin, end=begin + HOUR)
    assert [f"{each.window.start.astimezone(berlin):%m-%d %H:%M}" for each in leases(world, after)] == [
        f"{day} {begin:%H:%M}" for day in starts
    ]
    check_named(world, after)


@pytest.mark.parametrize(
    ("rule", "field", "later", "said"),
    [
        ("FREQ=WEEKLY;BYDAY=TH;COUNT=3", "start_date", {"start": 25, "end": 26}, "does not give its first start"),
        ("FREQ=DAILY;UNTIL=20310503", "start_date", {"start": 25, "end": 26}, "gives 2 occurrences from there"),
        ("FREQ=DAILY;COUNT=3", "end_date", {"end": 26}, "overlap"),
        ("FREQ=DAILY;COUNT=3", "end_date", {"end": 1}, "later than start"),
    ],
)
def test_a_move_that_the_rule_does_not_have_changes_nothing(
    world: World, rule: str, field: str, later: dict[str, int], said: str
) -> None:
    series = make(world, rule=rule)
    saved = dump(world.engine)
    with pytest.raises(InvalidInputError, match=said) as refused:
        amend(world, series, **{name: world.hour(hour) for name, hour in later.items()})
    assert refused.value.field == field
    assert dump(world.engine) == saved


def test_what_names_no_dates_moves_nothing(world: World) -> None:
    series = make(world)
    extended = leases(world, series)[1]
    world.amend(extended, end=extended.window.end + HOUR)
    after = amend(world, amend(world, series, name="lab", reservations=({"min": 2, "max": 2},)))
    assert [each.window.duration for each in leases(world, after)] == [2 * HOUR, 3 * HOUR, 2 * HOUR]
    assert [each.window for each in after.occurrences] == [each.window for each in series.occurrences]
    moved = amend(world, after, end=world.hour(3))
    assert [each.window.duration for each in leases(world, moved)] == [2 * HOUR] * 3


@pytest.mark.parametrize("by", [24, 36, -24])
def test_a_full_series_moves_by_its_own_interval(world: World, by: int) -> None:
    series = make(world, hosts(5), start=25, hours=24)
    after = amend(world, series, start=world.hour(25 + by), end=world.hour(49 + by))
    assert refusals(after) == [None] * 3
    check_named(world, after)


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
    assert SERIES.page(world.service, "demo") == [other]
    assert {each.id for each in list(queries.each_lease(world.service, "demo"))} == set(other.lease_ids)
    for act in (lambda: SERIES.get(world.service, series.id), lambda: delete_series(world.service, series.id)):
        with pytest.raises(NotFoundError):
            act()
    audit(world)


def test_a_project_may_have_so_many_and_no_more(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_SERIES == 100
    monkeypatch.setattr("leasehold.features.series.use.MOST_SERIES", 2)
    kept = [make(world, start=3 * number + 1, rule="FREQ=DAILY;COUNT=1") for number in range(2)]
    before = dump(world.engine)
    with pytest.raises(TooManySeriesError):
        make(world, start=10)
    assert dump(world.engine) == before
    make_series(world.service, ALT, draft(world, start=10))
    delete_series(world.service, kept[0].id)
    make(world, start=13)
