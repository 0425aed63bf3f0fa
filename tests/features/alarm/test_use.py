"""Capacity alarms: what they count, each crossing told once, and nothing that stops the others."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from leasehold.db.tables import allocations, outbox
from leasehold.features.alarm.job import ROUNDS, AlarmRounds
from leasehold.features.alarm.model import Alarm, AlarmDraft, TooManyAlarmsError
from leasehold.features.alarm.options import AlarmSettings
from leasehold.features.alarm.store import put_event
from leasehold.features.alarm.use import ALARMS, AlarmWatch, make_alarm
from leasehold.leasing.resources.property import set_privacy
from leasehold.manager.monitor import check_once
from leasehold.model.caller import EVERYTHING, Sight
from leasehold.model.errors import InUseError, InvalidInputError, NotEnoughError, NotFoundError, TakesTooLongError
from leasehold.model.event_log import AlarmNews
from leasehold.model.resource import HOST
from tests.factory import (
    ALT,
    AT_ONCE,
    DEMO,
    Clock,
    Killed,
    change_host,
    flavors,
    floating_ips,
    hosts,
    instances,
    open_service,
    remove_host,
    run_for,
    run_manager,
)
from tests.unit.leasing.badges import BADGE, BADGES, BadgeKind, badges, with_badges, without
from tests.unit.leasing.test_plugin_bugs import broken, buggy

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOUR = 3600
RACK_1 = '["==", "$rack", "r1"]'
MEMBER = Sight(hosts=False, private=False)
LOW, RESTORED = AlarmNews.LOW.value, AlarmNews.RESTORED.value


def alarm_on(world: World, raw: Mapping[str, Any], below: int = 3, duration: int = HOUR, **more: Any) -> Alarm:
    caller, sight = more.pop("caller", DEMO), more.pop("sight", EVERYTHING)
    return make_alarm(world.service, caller, AlarmDraft(raw, below, duration, **more), sight)


def check(world: World) -> int:
    """Check all alarms as a manager that has just started; return how many crossings were told."""
    return AlarmWatch(world.service).check()


def told(world: World, alarm: Alarm) -> list[tuple[str, int]]:
    """Return the events of an alarm with how much was available, in order."""
    query = select(outbox).where(outbox.c.event_type.in_(list(AlarmNews))).order_by(outbox.c.id)
    with world.service.db.reading() as connection:
        rows = connection.execute(query).all()
    return [(row.event_type, row.payload["available"]) for row in rows if row.payload["id"] == alarm.id]


def found(world: World, alarm: Alarm) -> tuple[str, int | None]:
    now = ALARMS.get(world.service, alarm.id)
    return now.state.value, now.available


# ---------------------------------------------------------------- crossings


def test_it_tells_once_that_too_little_is_left_and_once_that_there_is_enough_again(world: World) -> None:
    alarm = alarm_on(world, hosts(), below=3, name="a few")
    assert found(world, alarm) == ("unknown", None)
    assert (check(world), found(world, alarm), told(world, alarm)) == (0, ("ok", 5), [])
    lease = world.lease(hosts(3), end=2)
    world.clock.advance(seconds=7)
    assert (check(world), found(world, alarm)) == (1, ("low", 2))
    low = ALARMS.get(world.service, alarm.id)
    assert low.changed_at == low.checked_at == world.now()
    second = world.lease(hosts(1), end=2)
    world.clock.advance(seconds=7)
    assert (check(world), found(world, alarm), told(world, alarm)) == (0, ("low", 1), [(LOW, 2)])
    assert ALARMS.get(world.service, alarm.id).changed_at == low.changed_at
    world.delete(second)
    world.delete(lease)
    run_manager(world)
    assert (check(world), found(world, alarm)) == (1, ("ok", 5))
    assert (check(world), told(world, alarm)) == (0, [(LOW, 2), (RESTORED, 5)])


def test_the_event_has_the_alarm_and_belongs_to_its_project(world: World) -> None:
    alarm = alarm_on(world, hosts(9, resource_properties=RACK_1), below=3, duration=60, name="r1", caller=ALT)
    assert check(world) == 1
    with world.service.db.reading() as connection:
        row = connection.execute(select(outbox).where(outbox.c.event_type == LOW)).one()
    assert (row.project_id, row.lease_id, row.resource_id, row.created_at) == ("alt", "", None, world.now())
    assert row.payload == {
        "id": alarm.id,
        "name": "r1",
        "user_id": "bob",
        "project_id": "alt",
        "reservation": {"resource_type": HOST, "hypervisor_properties": "", "resource_properties": RACK_1},
        "below": 3,
        "duration": 60,
        "state": "low",
        "available": 2,
        "reason": None,
    }


def test_what_is_deleted_tells_nothing_more(world: World) -> None:
    alarm, other = (alarm_on(world, hosts(), below=9) for _ in range(2))
    ALARMS.delete(world.service, alarm.id)
    assert check(world) == 1
    assert (told(world, alarm), told(world, other)) == ([], [(LOW, 5)])
    for use in (ALARMS.get, ALARMS.delete):
        with pytest.raises(NotFoundError):
            use(world.service, alarm.id)
    assert [each.id for each in ALARMS.page(world.service, "demo")] == [other.id]
    assert ALARMS.page(world.service, "alt") == []


# ---------------------------------------------------------------- what is counted


@pytest.mark.parametrize(
    ("raw", "available"),
    [
        (hosts(), 5),
        (hosts(resource_properties=RACK_1), 2),
        (hosts(resource_properties='["==", "$rack", "r9"]'), 0),
        (instances(1, vcpus=8), 4),
        (instances(1, vcpus=8, affinity=True), 2),
        (instances(1, vcpus=8, affinity=False), 3),
        (instances(1, vcpus=64), 0),
        (floating_ips(), 5),
        (floating_ips(2, required_floatingips=["203.0.113.201", "203.0.113.204"]), 5),
        (floating_ips(1, required_floatingips=["203.0.113.99"]), 0),
        (flavors(), None),
    ],
)
def test_it_counts_the_most_that_a_new_lease_would_get(
    world: World, raw: dict[str, Any], available: int | None
) -> None:
    """Whatever amount the reservation has, or without any; and a lease gets so many, and no more."""
    counts = {"min", "max", "amount"} & raw.keys()
    without_amount = {key: value for key, value in raw.items() if key not in counts}
    wishes = [without_amount, raw, {**raw, **dict.fromkeys(counts, 7)}]
    made = [alarm_on(world, each, below=3) for each in wishes]
    assert made[0].reservation == made[1].reservation == made[2].reservation
    check(world)
    assert len({found(world, each) for each in made}) == 1
    _, counted = found(world, made[0])
    assert counted is not None
    assert available in (None, counted)
    with pytest.raises((NotEnoughError, InvalidInputError)):
        world.lease({**raw, **dict.fromkeys(counts, counted + 1)})
    if counted:
        assert world.lease({**raw, **dict.fromkeys(counts, counted)})


def test_it_counts_what_is_free_for_the_whole_duration(world: World) -> None:
    short, long = (alarm_on(world, hosts(), below=4, duration=hours * HOUR) for hours in (1, 3))
    world.lease(hosts(2), start=2, end=4)
    check(world)
    assert (found(world, short), found(world, long)) == (("ok", 5), ("low", 3))
    run_for(world, hours=1, minutes=1)
    check(world)
    assert found(world, short) == ("low", 3)
    run_for(world, hours=3)
    check(world)
    assert (told(world, short), told(world, long)) == ([(LOW, 3), (RESTORED, 5)],) * 2


def test_a_host_that_breaks_or_is_in_maintenance_does_not_count(world: World) -> None:
    alarm = alarm_on(world, hosts(), below=4)
    check(world)
    world.fail("cmp-01")
    world.maintain("cmp-02", end=1)
    check(world)
    assert told(world, alarm) == [(LOW, 3)]
    world.recover("cmp-01")
    check(world)
    assert told(world, alarm) == [(LOW, 3), (RESTORED, 4)]


def test_a_property_that_no_host_has_any_more_is_low_and_says_why(world: World) -> None:
    ident = world.listed()[0].id
    change_host(world.service, ident, {"model": "a100"})
    alarm = alarm_on(world, hosts(resource_properties='["==", "$model", "a100"]'), below=1)
    check(world)
    assert (found(world, alarm), told(world, alarm)) == (("ok", 1), [])
    change_host(world.service, ident, {"model": None})
    check(world)
    assert (found(world, alarm), told(world, alarm)) == (("low", 0), [(LOW, 0)])
    assert "$model" in (ALARMS.get(world.service, alarm.id).reason or "")
    change_host(world.service, ident, {"model": "a100"})
    check(world)
    assert ALARMS.get(world.service, alarm.id).reason is None
    assert told(world, alarm) == [(LOW, 0), (RESTORED, 1)]


# ---------------------------------------------------------------- who may ask what


@pytest.mark.parametrize(
    ("name", "sight", "words"),
    [
        ("$nonsense", EVERYTHING, "No host has a property $nonsense"),
        ("$hypervisor_hostname", MEMBER, "identifies a host"),
        ("$rack", MEMBER, "No host has a property $rack"),
    ],
)
def test_what_a_lease_may_not_ask_an_alarm_may_not(world: World, name: str, sight: Sight, words: str) -> None:
    set_privacy(world.service, HOST, "rack", private=True)
    asked = hosts(resource_properties=f'["==", "{name}", "x"]')
    with pytest.raises(InvalidInputError, match=words.replace("$", r"\$")) as met:
        alarm_on(world, asked, sight=sight)
    assert met.value.field == "reservation.resource_properties"
    assert ALARMS.page(world.service, None) == []
    if name == "$rack":
        mine = alarm_on(world, asked)
        assert (check(world), found(world, mine)) == (1, ("low", 0))


def test_a_property_that_has_become_private_is_not_counted_any_more(world: World) -> None:
    mine = alarm_on(world, hosts(resource_properties=RACK_1), sight=MEMBER)
    theirs = alarm_on(world, hosts(resource_properties=RACK_1))
    check(world)
    counted = found(world, theirs)
    assert found(world, mine) == counted
    set_privacy(world.service, HOST, "rack", private=True)
    check(world)
    assert (found(world, mine), found(world, theirs)) == (("unknown", None), counted)
    assert "$rack cannot be asked for any more" in str(ALARMS.get(world.service, mine.id).reason)
    set_privacy(world.service, HOST, "rack", private=False)
    check(world)
    assert found(world, mine) == counted


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"min": 2}, "reservation.max"),
        ({"min": 0}, "reservation.min"),
        ({"resource_type": "site:none"}, "reservation.resource_type"),
        ({"resource_properties": "x"}, "reservation.resource_properties"),
        ({"resource_properties": "x" * 70_000}, "reservation.resource_properties"),
    ],
)
def test_a_reservation_that_is_wrong_is_refused_by_its_field(world: World, change: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as met:
        alarm_on(world, {**hosts(), **change})
    assert met.value.field == field


def with_options(world: World, **changes: Any) -> World:
    return world.with_settings(features={AlarmSettings: AlarmSettings(**changes)})


def test_a_project_has_a_few(world: World) -> None:
    few = with_options(world, alarms=2)
    made = [alarm_on(few, hosts()) for _ in range(2)]
    with pytest.raises(TooManyAlarmsError, match="may have 2 capacity alarms"):
        alarm_on(few, hosts())
    assert alarm_on(few, hosts(), caller=ALT)
    ALARMS.delete(few.service, made[0].id)
    assert alarm_on(few, hosts())
    for off in ({"alarms": 0}, {"alarm_seconds": 0.0}):
        with pytest.raises(TooManyAlarmsError, match="switched off"):
            alarm_on(with_options(world, **off), hosts(), caller=ALT)
    few.engine.dispose()


# ---------------------------------------------------------------- plugins


def test_a_plugin_of_a_site_is_counted(world: World) -> None:
    world = with_badges(world)
    alarm = alarm_on(world, {"resource_type": BADGE}, below=2)
    check(world)
    world.lease(badges(2))
    check(world)
    assert told(world, alarm) == [(LOW, 1)]


@pytest.mark.parametrize("way", ["missing", "raises", "reads nothing"])
def test_what_cannot_be_counted_is_unknown_and_stops_no_other(world: World, way: str) -> None:
    world = with_badges(world)
    alarm, other = alarm_on(world, badges(), below=9), alarm_on(world, hosts(), below=9)
    check(world)
    verb = "load" if way == "reads nothing" else "allocate"
    lame = without(world, BADGE) if way == "missing" else broken(world, buggy(BadgeKind, verb), BADGES.driver)
    world.lease(hosts(1))
    check(lame)
    assert (found(lame, alarm), found(lame, other)) == (("unknown", None), ("low", 4))
    assert BADGE in (ALARMS.get(lame.service, alarm.id).reason or "")
    # It was low before, and is so when it can be counted again: nothing is told twice.
    assert check(world) == 0
    assert (found(world, alarm), told(world, alarm)) == (("low", 3), [(LOW, 3)])
    assert ALARMS.get(world.service, alarm.id).reason is None


class Ticking:
    """A clock that advances by a second at each reading."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        self.seconds += 1
        return self.seconds


def test_a_count_that_takes_too_long_is_not_known(world: World) -> None:
    alarm = alarm_on(world, hosts(resource_properties=RACK_1), below=9)
    leases = replace(world.service.settings.leases, decision_seconds=0.5)
    hurried = replace(world.service, settings=replace(world.service.settings, leases=leases), steady=Ticking())
    with pytest.raises(TakesTooLongError):
        make_alarm(hurried, DEMO, AlarmDraft(hosts(resource_properties=RACK_1), 1, HOUR))
    AlarmWatch(hurried).check()
    assert found(world, alarm) == ("unknown", None)
    assert "takes too long" in (ALARMS.get(world.service, alarm.id).reason or "")


def test_what_a_round_has_no_time_for_comes_first_in_the_next(world: World) -> None:
    """The clock goes on with each step of a count, so that a round has no time for all of them."""
    made = [alarm_on(world, hosts(), below=9).id for _ in range(5)]
    hurried = replace(with_options(world, alarm_seconds=8.0).service, steady=Ticking())
    rounds: list[int] = []
    while not rounds or rounds[-1]:
        world.clock.advance(seconds=1)
        rounds.append(AlarmWatch(hurried).check())
        assert len(rounds) < 9
    assert sum(rounds) == len(made)
    assert max(rounds) < len(made)
    assert {found(world, ALARMS.get(world.service, each)) for each in made} == {("low", 5)}
    hurried.db.engine.dispose()


def test_more_alarms_than_a_page_are_checked(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.features.alarm.use.PAGE", 2)
    for number in range(5):
        alarm_on(world, hosts(), below=9 - 2 * number)
    assert check(world) == 2
    world.lease(hosts(5))
    assert check(world) == 3


# ---------------------------------------------------------------- several managers


def during_the_count(world: World, work: Callable[[], object]) -> World:
    """Return the world of another manager, which reads the alarms and the hosts, and then lets `work` happen once."""
    todo = [work]

    def now() -> Any:
        if todo:
            todo.pop()()
        return world.now()

    other = open_service(str(world.engine.url), clock=world.clock)
    return replace(other, service=replace(other.service, now=now))


def test_two_managers_at_the_same_moment_tell_a_crossing_once(world: World) -> None:
    alarm = alarm_on(world, hosts(), below=9)
    both: list[int] = []
    other = during_the_count(world, lambda: both.append(check(world)))
    both.append(check(other))
    assert (both, told(world, alarm)) == ([1, 0], [(LOW, 5)])
    other.engine.dispose()


def test_what_was_counted_on_an_older_state_is_not_written(world: World) -> None:
    """The slower manager has seen the hosts free, the faster one that they are leased."""
    alarm = alarm_on(world, hosts(), below=2)
    check(world)

    def overtake() -> None:
        world.lease(hosts(4))
        assert check(world) == 1

    other = during_the_count(world, overtake)
    assert check(other) == 0
    assert (found(world, alarm), told(world, alarm)) == (("low", 1), [(LOW, 1)])
    other.engine.dispose()


def test_an_alarm_that_is_deleted_while_it_is_counted_tells_nothing(world: World) -> None:
    alarm = alarm_on(world, hosts(), below=9)
    other = during_the_count(world, lambda: ALARMS.delete(world.service, alarm.id))
    assert (check(other), told(world, alarm)) == (0, [])
    other.engine.dispose()


def test_who_dies_before_the_commit_leaves_the_crossing_to_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [alarm_on(world, hosts(), below=9) for _ in range(3)]
    calls = iter([False, True])

    def once(*args: Any) -> None:
        put_event(*args)
        if next(calls):
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("leasehold.features.alarm.store.put_event", once)
        with pytest.raises(Killed):
            check(world)
    assert sorted(len(told(world, each)) for each in made) == [0, 0, 1]
    assert check(world) == 2
    assert [told(world, each) for each in made] == [[(LOW, 5)]] * 3


def test_one_manager_checks_and_another_takes_over_when_it_is_gone(world: World) -> None:
    alarm = alarm_on(world, hosts(), below=2)
    seconds = world.service.settings.of(AlarmSettings).alarm_seconds
    first, second = AlarmRounds(world.service), AlarmRounds(world.service)

    def turn(watcher: AlarmRounds) -> bool:
        """Let a manager have its round, and say whether it made one."""
        world.clock.advance(seconds=1)
        watcher.run()
        return ALARMS.get(world.service, alarm.id).checked_at == world.now()

    for _ in range(5):
        assert [turn(first), turn(second)] == [True, False]
        world.clock.advance(seconds=seconds)
    world.lease(hosts(4), end=9)
    world.clock.advance(seconds=ROUNDS * seconds)
    assert [turn(second), turn(first), turn(second)] == [True, False, True]
    assert told(world, alarm) == [(LOW, 1)]


def test_only_who_checks_alarms_keeps_calendars_for_them(world: World) -> None:
    watcher = AlarmRounds(world.service)
    alarm = alarm_on(world, hosts())
    watcher.run()
    used = watcher._watch.calendars
    watcher.run()
    assert watcher._watch.calendars is used
    ALARMS.delete(world.service, alarm.id)
    watcher.run()
    assert watcher._watch.calendars is not used


# ---------------------------------------------------------------- the law, against an oracle

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("lease"), st.integers(1, 3)),
        st.tuples(st.just("later"), st.integers(1, 3)),
        st.tuples(st.just("slots"), st.integers(1, 3)),
        st.tuples(st.just("delete"), st.integers(0, 5)),
        st.tuples(st.just("fail"), st.integers(0, 4)),
        st.tuples(st.just("recover"), st.integers(0, 4)),
        st.tuples(st.just("remove"), st.integers(0, 4)),
        st.tuples(st.just("wait"), st.integers(1, 90)),
        st.tuples(st.just("restart"), st.just(0)),
    ),
    max_size=14,
)
NAMES = ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03")


def free_hosts(world: World, rack: str | None, duration: int) -> int:
    """Count, from the rows alone, the hosts that work, are of the rack, and are nobody's for so many seconds."""
    begin = int(world.now().timestamp())
    with world.service.db.reading() as connection:
        held = connection.execute(select(allocations).where(allocations.c.ends_at > allocations.c.starts_at)).all()
    taken = {
        each.resource_number
        for each in held
        if each.starts_at < begin + duration and (each.ends_at > begin or each.released_at is None)
    }
    listed = [each for each in world.listed() if rack is None or each.properties.get("rack") == rack]
    return sum(each.reservable and each.number not in taken for each in listed)


def do(world: World, step: str, what: int, leases: list[Lease]) -> None:
    """Let something happen, unless it is refused."""
    start = (world.now() - world.hour(0)) / timedelta(hours=1)

    def delete() -> None:
        for lease in leases[what : what + 1]:
            leases.remove(lease)
            world.delete(lease)

    def remove() -> None:
        for ident in [each.id for each in world.listed() if each.label == NAMES[what]]:
            remove_host(world.service, ident)

    steps: Mapping[str, Callable[[], object]] = {
        "lease": lambda: leases.append(world.lease(hosts(what), start=start, end=start + 1)),
        "later": lambda: leases.append(world.lease(hosts(what), start=start + 0.5, end=start + 1)),
        "slots": lambda: leases.append(world.lease(instances(what, 2), start=start, end=start + 0.5)),
        "delete": delete,
        "fail": lambda: world.fail(NAMES[what]),
        "recover": lambda: world.recover(NAMES[what]),
        "remove": remove,
        "wait": lambda: run_for(world, minutes=what),
        "restart": lambda: None,
    }
    # There are too few hosts, or the host is in use.
    with suppress(NotEnoughError, InUseError):
        steps[step]()
    run_manager(world)
    check_once(world.service)
    run_manager(world)


@settings(max_examples=60, deadline=None)
@given(below=st.lists(st.integers(1, 5), min_size=4, max_size=4), steps=STEPS)
def test_the_events_are_the_crossings_of_what_the_rows_say(
    enrolled: Path, below: Sequence[int], steps: Sequence[tuple[str, int]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copyfile(enrolled, Path(folder) / "leasehold.db")
        world = open_service(f"sqlite:///{folder}/leasehold.db", clock=Clock(), settings=AT_ONCE)
        kinds = [(None, HOUR), (None, 60), ("r1", HOUR), ("r2", 20 * 60)]
        made = [
            alarm_on(world, hosts(resource_properties=f'["==", "$rack", "{rack}"]' if rack else ""), least, duration)
            for (rack, duration), least in zip(kinds, below, strict=True)
        ]
        watch, sides = AlarmWatch(world.service), [[False] for _ in made]
        leases: list[Lease] = []
        for step, what in [("restart", 0), *steps]:
            world.clock.advance(seconds=1)
            do(world, step, what, leases)
            if step == "restart":
                watch = AlarmWatch(world.service)
            watch.check()
            for alarm, (rack, duration), least, seen in zip(made, kinds, below, sides, strict=True):
                free = free_hosts(world, rack, duration)
                assert found(world, alarm) == ("low" if free < least else "ok", free), (step, what)
                seen.append(free < least)
                changes = [now for before, now in pairwise(seen) if before != now]
                assert [kind for kind, _ in told(world, alarm)] == [LOW if each else RESTORED for each in changes]
        world.engine.dispose()
