"""A process caches its calendars: the next decision is correct whatever happened to the database meanwhile."""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from leasehold.conf.settings import LeaseSettings, Settings
from leasehold.db.engine import writing
from leasehold.db.past.history import purge
from leasehold.db.pool import lock_pools
from leasehold.model.errors import NotEnoughError
from leasehold.model.resource import HOST_POOL
from leasehold.model.windows import Window
from tests.factory import Clock, hosts, make_service, open_service, run_for, run_manager
from tests.unit.leasing.looking import in_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.factory import World

pytestmark = pytest.mark.slow


@contextmanager
def backed_up(folder: Path) -> Iterator[Callable[[], None]]:
    """Back up a service's database; yield a function that restores the backup while the service keeps running."""
    with closing(sqlite3.connect(":memory:")) as copy, closing(sqlite3.connect(folder / "leasehold.db")) as live:
        live.backup(copy)
        yield lambda: copy.backup(live)


def test_a_process_that_slept_through_a_purge_forgets_what_was_purged(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01"]) as busy:
        idle = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=busy.clock)
        promised = busy.lease(hosts(), start=24 * 10, end=24 * 400)
        idle.lease(hosts(), start=1, end=2)
        busy.delete(promised)
        run_manager(busy)
        run_for(busy, days=40)
        assert purge(busy.engine, busy.now(), timedelta(days=30), dry_run=False)["leases"] == 2
        granted = idle.lease(hosts(), start=24 * 60, end=24 * 61)
        assert idle.exists(granted)
        idle.engine.dispose()


def test_two_processes_see_each_others_promises(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01", "cmp-02"]) as one:
        other = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=one.clock)
        first = one.lease(hosts(), start=1, end=2)
        second = other.lease(hosts(), start=1, end=2)
        assert one.holds(first).keys().isdisjoint(one.holds(second))
        one.delete(first)
        third = other.lease(hosts(), start=1, end=2)
        assert other.holds(third) == {"cmp-01": 1}
        other.engine.dispose()


def test_a_process_that_has_loaded_its_calendars_reads_no_promise_again_to_decide(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01", "cmp-02"]) as one:
        first = one.lease(hosts(), start=1, end=2)
        other = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=one.clock)
        with other.service.db.reading() as connection:
            other.service.calendars.load(connection, other.now())
        asked: list[str] = []
        event.listen(other.engine, "before_cursor_execute", lambda *call: asked.append(call[2]))
        second = other.lease(hosts(), start=1, end=2)
        assert one.holds(first).keys().isdisjoint(other.holds(second))
        decided = asked[: asked.index(next(each for each in asked if each.startswith("INSERT INTO leases")))]
        assert not any("FROM allocations" in statement for statement in decided), decided
        other.engine.dispose()


@contextmanager
def reads_of(world: World) -> Iterator[list[str]]:
    """Yield what is read of allocations and resources inside the block."""
    found: list[str] = []

    def note(*call: Any) -> None:
        if "FROM allocations" in call[2] or "FROM resources" in call[2]:
            found.append(call[2])

    event.listen(world.engine, "before_cursor_execute", note)
    yield found
    event.remove(world.engine, "before_cursor_execute", note)


def test_a_process_does_not_read_back_what_it_wrote_itself(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01", "cmp-02"]) as world:
        made = [world.lease(hosts(), start=1, end=2)]
        with reads_of(world) as found:
            made.append(world.lease(hosts(), start=1, end=2))
        assert world.holds(made[0]).keys().isdisjoint(world.holds(made[1]))
        with pytest.raises(NotEnoughError):
            world.lease(hosts(), start=1, end=2)
        assert found == []


def test_a_process_reads_what_another_one_wrote_between_its_own_decisions(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01", "cmp-02", "cmp-06"]) as one:
        other = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=one.clock)
        made = [world.lease(hosts(), start=1, end=2) for world in (one, one, other)]
        assert len({name for each in made for name in one.holds(each)}) == 3
        one.delete(made[1])
        with reads_of(one) as found:
            again = one.lease(hosts(), start=1, end=2)
        assert len(found) == 1
        assert one.holds(again).keys().isdisjoint(one.holds(made[2]))
        for world in (one, other):
            with pytest.raises(NotEnoughError):
                world.lease(hosts(), start=1, end=2)
        other.engine.dispose()


def test_what_was_written_and_rolled_back_is_not_believed(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01", "cmp-02"]) as world:
        world.lease(hosts(), start=1, end=2)
        assert not world.exists(world.lease(hosts(), start=1, end=2, dry_run=True))
        made = world.lease(hosts(), start=1, end=2)
        assert world.exists(made)
        with pytest.raises(NotEnoughError):
            world.lease(hosts(), start=1, end=2)


def test_a_process_started_after_the_end_of_a_lease_keeps_the_cleaning_time_too(tmp_path: Path) -> None:
    settings = Settings(leases=LeaseSettings(cleaning_time=timedelta(minutes=15)))
    with make_service(tmp_path, hosts=["cmp-01"], settings=settings) as one:
        one.lease(hosts(), start=0, end=1)
        run_for(one, hours=1, minutes=5)
        other = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=one.clock, settings=settings)
        for process in (one, other):
            with pytest.raises(NotEnoughError):
                process.lease(hosts(), start=1 + 1 / 12, end=2)
        assert other.lease(hosts(), start=1.25, end=2)
        other.engine.dispose()


@pytest.mark.parametrize("hours_back", [0, 6, 30])
def test_a_process_whose_clock_goes_back_gives_no_time_a_second_time(tmp_path: Path, hours_back: int) -> None:
    with make_service(tmp_path, hosts=["cmp-01"]) as one:
        one.lease(hosts(), start=0, end=1)
        run_for(one, hours=1 + hours_back)
        clock = Clock(one.now())
        other = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=clock)
        with other.service.db.reading() as connection:
            other.service.calendars.load(connection, other.now())
        clock.moment = one.hour(1) - timedelta(seconds=1)
        with pytest.raises(NotEnoughError):
            other.lease(hosts(), start=1 - 1 / 60, end=2)
        other.engine.dispose()


@pytest.mark.parametrize("after", [0, 1, 2, 3, 5])
def test_a_process_forgets_what_a_restored_database_does_not_know(tmp_path: Path, after: int) -> None:
    """A restore undoes four decisions, another process makes `after` decisions, then the first process decides."""
    with make_service(tmp_path, hosts=["cmp-01"]) as one, backed_up(tmp_path) as restore:
        for hour in (1, 2, 3, 4):
            one.lease(hosts(), start=hour, end=hour + 1)
        restore()
        other = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=one.clock)
        promised = [other.lease(hosts(), start=10 + hour, end=11 + hour) for hour in range(after)]
        for hour in range(after):
            with pytest.raises(NotEnoughError):
                one.lease(hosts(), start=10 + hour, end=11 + hour)
        # The time of the four lost leases is free again.
        assert one.holds(one.lease(hosts(), start=1, end=5)) == {"cmp-01": 1}
        assert all(other.holds(each) == {"cmp-01": 1} for each in promised)
        assert in_database(one) == []
        other.engine.dispose()


def test_a_lost_calendar_is_loaded_while_the_pool_is_not_locked(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01"]) as one, backed_up(tmp_path) as restore:
        one.lease(hosts(), start=1, end=2)
        one.lease(hosts(), start=2, end=3)
        restore()
        asked: list[str] = []
        event.listen(one.engine, "before_cursor_execute", lambda *call: asked.append(call[2]))
        one.lease(hosts(), start=1, end=3)
        begins = [each for each in asked if each.startswith("BEGIN")]
        assert begins == ["BEGIN IMMEDIATE", "BEGIN", "BEGIN IMMEDIATE"]
        last = len(asked) - asked[::-1].index("BEGIN IMMEDIATE")
        assert not any("FROM allocations" in each for each in asked[last:])


def free(world: World) -> int:
    """Count the hosts that are free for the hour after the first, as a process sees them that promises nothing."""
    window = Window(world.hour(1), world.hour(2))
    return world.service.look([HOST_POOL], lambda snapshots, _: int(snapshots[HOST_POOL].free(window).sum()))


def test_a_look_sees_what_was_committed_before_it_and_locks_nothing(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01", "cmp-02"]) as one:
        other = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=one.clock)
        assert free(other) == free(one) == 2
        promised = one.lease(hosts(), start=1, end=2)
        asked: list[str] = []
        event.listen(other.engine, "before_cursor_execute", lambda *call: asked.append(call[2]))
        with writing(one.engine) as connection:
            # While another process decides, and holds the only lock for writing that SQLite has.
            lock_pools(connection, {HOST_POOL})
            assert free(other) == 1
        assert "BEGIN IMMEDIATE" not in asked
        one.delete(promised)
        run_manager(one)
        assert free(other) == free(one) == 2
        other.engine.dispose()


def test_a_look_forgets_what_a_restored_database_does_not_know(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01", "cmp-02"]) as one, backed_up(tmp_path) as restore:
        one.lease(hosts(2), start=1, end=2)
        assert free(one) == 0
        restore()
        assert free(one) == 2
        one.lease(hosts(), start=1, end=2)
        assert free(one) == 1


def test_decisions_go_on_after_a_look_at_an_older_state(tmp_path: Path) -> None:
    """A look that waits for the calendar sees what the decision before it saw, or a later state."""
    with make_service(tmp_path, hosts=["cmp-01", "cmp-02"]) as one:
        other = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=one.clock)

        def between(_snapshots: object, _now: object) -> None:
            other.lease(hosts(), start=1, end=2)

        one.service.look([HOST_POOL], between)
        second = one.lease(hosts(), start=1, end=2)
        assert one.exists(second)
        assert (free(one), free(other)) == (0, 0)
        other.engine.dispose()
