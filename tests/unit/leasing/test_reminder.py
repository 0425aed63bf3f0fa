"""The ladder of reminders before the end: each once, re-armed by an extension, the last of those that were missed."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event, select

from leasehold.db.tables import outbox
from leasehold.leasing.reminder import remind
from leasehold.model.event_log import LeaseNews
from leasehold.model.states import LeaseStatus
from tests.factory import AT_ONCE, Clock, Killed, hosts, open_service, planted_database, run_manager

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

DAY, FORTY, TEN, TWO = RUNGS = AT_ONCE.manager.warn_before_end


def told(world: World, lease: Lease) -> list[int]:
    """Return the rungs that were told, in order."""
    query = select(outbox.c.payload).where(outbox.c.lease_id == lease.id, outbox.c.event_type == LeaseNews.ENDS_SOON)
    with world.service.db.reading() as connection:
        return [each["before_end_seconds"] for each in connection.execute(query.order_by(outbox.c.id)).scalars()]


def after(world: World, lease: Lease, **until_the_end: float) -> list[int]:
    """Let the time pass until so long before the end, remind, and return all that was told."""
    world.clock.set(world.get(lease).window.end - timedelta(**until_the_end))
    remind(world.service)
    return told(world, lease)


@pytest.fixture
def active(world: World) -> tuple[World, Lease]:
    """Return a service with an active lease of three days."""
    return world, world.active(hosts(), end=72)


def test_what_cannot_be_written_for_all_is_written_for_each(active: tuple[World, Lease]) -> None:
    world, first = active
    leases = [first, *(world.active(hosts(), end=72) for _ in range(2))]
    world.clock.set(world.get(first).window.end - timedelta(hours=23))
    refused: list[str] = []

    def refuse(_c: object, _u: object, statement: str, _p: object, _x: object, executemany: bool) -> None:  # noqa: FBT001 - SQLAlchemy's signature.
        if executemany and statement.startswith("UPDATE leases"):
            refused.append(statement)
            raise OSError("One of them cannot be written.")

    event.listen(world.engine, "before_cursor_execute", refuse)
    assert remind(world.service) == 3
    assert len(refused) == 1
    assert [told(world, each) for each in leases] == [[DAY]] * 3


def test_each_rung_is_told_once_when_its_time_comes(active: tuple[World, Lease]) -> None:
    world, lease = active
    said = [after(world, lease, hours=24, seconds=1), after(world, lease, hours=24), after(world, lease, hours=1)]
    assert said == [[], [DAY], [DAY]]
    assert after(world, lease, minutes=40) == after(world, lease, minutes=11) == [DAY, FORTY]
    assert after(world, lease, minutes=10) == [DAY, FORTY, TEN]
    assert after(world, lease, seconds=1) == [DAY, FORTY, TEN, TWO]
    assert after(world, lease, seconds=0) == [DAY, FORTY, TEN, TWO]


def test_after_an_outage_the_last_rung_stands_for_those_that_were_missed(active: tuple[World, Lease]) -> None:
    world, lease = active
    assert after(world, lease, minutes=5) == [TEN]
    assert after(world, lease, minutes=1) == [TEN, TWO]


def test_after_the_end_nothing_is_told(active: tuple[World, Lease]) -> None:
    world, lease = active
    assert after(world, lease, minutes=-5) == []


@pytest.mark.parametrize(("minutes", "wanted"), [(24 * 60, [FORTY, TEN, TWO]), (30, [TEN, TWO]), (2, [])])
def test_who_asks_for_less_time_than_a_rung_knows_that(world: World, minutes: int, wanted: list[int]) -> None:
    lease = world.active(hosts(), end=minutes / 60)
    for left in range(minutes, -1, -1):
        after(world, lease, minutes=left)
    assert told(world, lease) == wanted


def test_an_extension_arms_the_rungs_that_are_to_come(active: tuple[World, Lease]) -> None:
    world, lease = active
    assert after(world, lease, minutes=1) == [TWO]
    world.amend(lease, end=world.get(lease).window.end + timedelta(minutes=30))
    assert after(world, lease, minutes=30) == [TWO]
    assert after(world, lease, minutes=9) == [TWO, TEN]
    world.amend(lease, end=world.get(lease).window.end + timedelta(days=2))
    assert after(world, lease, hours=24) == [TWO, TEN, DAY]
    assert after(world, lease, minutes=39) == [TWO, TEN, DAY, FORTY]


def test_who_shortens_a_lease_has_its_project_told_at_once(active: tuple[World, Lease]) -> None:
    world, lease = active
    world.clock.advance(hours=2)
    world.amend(lease, end=world.now() + timedelta(minutes=35))
    remind(world.service)
    assert told(world, lease) == [FORTY]
    world.amend(lease, end=world.now() + timedelta(minutes=30))
    remind(world.service)
    assert told(world, lease) == [FORTY]
    assert after(world, lease, minutes=10) == [FORTY, TEN]


def test_a_lease_that_is_not_active_is_not_told_of(world: World) -> None:
    ended, deleted, late = (world.lease(end=end, start=start) for start, end in ((0, 1), (0, 2), (1.5, 2)))
    run_manager(world)
    world.delete(deleted)
    world.clock.advance(minutes=119)
    assert world.get(late).status is LeaseStatus.PENDING
    assert remind(world.service) == 0
    run_manager(world)
    assert world.get(ended).status is LeaseStatus.TERMINATED
    assert remind(world.service) == 1
    assert [told(world, each) for each in (ended, deleted, late)] == [[], [], [TWO]]


def test_who_dies_before_the_commit_leaves_the_reminder_to_the_next(
    active: tuple[World, Lease], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, lease = active

    def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr("leasehold.leasing.reminder.put_event", die)
    with pytest.raises(Killed):
        after(world, lease, minutes=30)
    monkeypatch.undo()
    assert world.get(lease).reminded is None
    assert after(world, lease, minutes=30) == [FORTY]


def test_more_leases_than_a_page_are_told_of(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.leasing.reminder.PAGE", 2)
    leases = [world.lease(end=2) for _ in range(5)]
    run_manager(world)
    world.clock.advance(minutes=85)
    assert remind(world.service) == 5
    assert [told(world, lease) for lease in leases] == [[FORTY]] * 5
    assert remind(world.service) == 0


def test_an_operator_may_have_none(world: World) -> None:
    silent = world.with_settings(manager=replace(AT_ONCE.manager, warn_before_end=()))
    lease, own = silent.active(hosts(), end=1), silent.active(hosts(), end=1, reminders=(120,))
    assert after(silent, lease, minutes=1) == []
    assert told(silent, own) == [120]
    silent.engine.dispose()


def test_an_owner_chooses_other_times_for_a_lease_and_none_for_another(world: World) -> None:
    own, quiet = world.lease(hosts(), end=3, reminders=(7200, 60)), world.lease(hosts(), end=3, reminders=())
    run_manager(world)
    assert after(world, own, minutes=120) == after(world, own, minutes=2) == [7200]
    assert after(world, own, minutes=1) == [7200, 60]
    assert told(world, quiet) == []


def test_who_goes_back_to_the_operators_times_is_told_at_those_that_are_to_come(world: World) -> None:
    lease = world.active(hosts(), end=3, reminders=(7200,))
    assert after(world, lease, minutes=15) == [7200]
    world.amend(lease, reminders="default")
    assert world.told(lease)[-1][0] == LeaseNews.REMINDERS
    assert after(world, lease, minutes=14) == [7200]
    assert after(world, lease, minutes=10) == [7200, TEN]


# ---------------------------------------------------------------- the law, against an oracle

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(1, 30 * 60)),
        st.tuples(st.just("move"), st.integers(-30 * 60, 30 * 60)),
        st.tuples(st.just("down"), st.integers(1, 60)),
        st.tuples(st.just("choose"), st.integers(0, 3)),
    ),
    max_size=12,
)
CHOICES: list[tuple[int, ...] | None] = [None, (), (3600, 60), (20 * 3600, 2400, 300)]
"""What an owner may choose; None is to leave it to the operator."""


class Oracle:
    """Keeps the set of rungs that are still to be told; times are minutes since the start."""

    def __init__(self, end: int) -> None:
        self.end, self.rungs = end, RUNGS
        self.open = {rung for rung in RUNGS if end * 60 > rung}
        self.told: list[int] = []

    def choose(self, now: int, rungs: tuple[int, ...]) -> None:
        if rungs != self.rungs:
            self.rungs = rungs
            self.open = {rung for rung in rungs if (self.end - now) * 60 > rung}

    def look(self, now: int) -> None:
        passed = {rung for rung in self.open if (self.end - now) * 60 <= rung}
        if passed and now < self.end:
            self.told.append(min(passed))
            self.open = {rung for rung in self.open if rung < min(passed)}

    def move(self, now: int, end: int) -> None:
        if end > self.end:
            self.open = {rung for rung in self.rungs if (end - now) * 60 > rung}
        self.end = end


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40 * 60), STEPS)
def test_the_ladder_does_what_the_oracle_says(
    tmp_path_factory: pytest.TempPathFactory, minutes: int, steps: list[tuple[str, int]]
) -> None:
    path = tmp_path_factory.mktemp("ladder") / "leasehold.db"
    shutil.copyfile(planted_database(), path)
    world = open_service(f"sqlite:///{path}", clock=Clock())
    lease = world.lease(end=minutes / 60)
    run_manager(world)
    begun, oracle = lease.window.start, Oracle(minutes)

    def moment(minute: int) -> datetime:
        return begun + timedelta(minutes=minute)

    now = 0
    for kind, number in steps:
        if kind == "move":
            end = oracle.end + number
            if not now < end:
                continue
            world.amend(lease, end=moment(end))
            run_manager(world)
            oracle.move(now, end)
        elif kind == "choose":
            own = CHOICES[number]
            world.amend(lease, reminders="default" if own is None else own)
            oracle.choose(now, RUNGS if own is None else own)
        elif now + number >= oracle.end:
            continue
        elif kind == "down":
            now += number
            world.clock.set(moment(now))
        else:
            for _ in range(number):
                now += 1
                world.clock.set(moment(now))
                if now % 20 == 0 or (oracle.end - now) * 60 in oracle.rungs:
                    remind(world.service)
                    oracle.look(now)
        remind(world.service)
        oracle.look(now)
        assert told(world, lease) == oracle.told
    world.engine.dispose()
