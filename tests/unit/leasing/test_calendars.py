"""A process's calendars are a cache: whatever happened to the books meanwhile, the next decision is right."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event

from leasehold.books.history import purge
from leasehold.conf.settings import LeaseSettings, Settings
from leasehold.model.errors import NotEnoughError
from tests.factory import Clock, hosts, make_service, open_service, run_for, run_manager

if TYPE_CHECKING:
    from pathlib import Path


def test_a_process_that_slept_through_a_purge_forgets_what_was_purged(tmp_path: Path) -> None:
    with make_service(tmp_path, hosts=["cmp-01"]) as busy:
        idle = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=busy.clock)
        promised = busy.lease(hosts(), start=24 * 10, end=24 * 400)
        idle.lease(hosts(), start=1, end=2)
        busy.delete(promised)
        run_manager(busy)
        run_for(busy, days=40)
        assert purge(busy.engine, busy.now() - timedelta(days=30), dry_run=False)["leases"] == 2
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
        with other.service.books.reading() as connection:
            other.service.calendars.load(connection, other.now())
        asked: list[str] = []
        event.listen(other.engine, "before_cursor_execute", lambda *call: asked.append(call[2]))
        second = other.lease(hosts(), start=1, end=2)
        assert one.holds(first).keys().isdisjoint(other.holds(second))
        decided = asked[: asked.index(next(each for each in asked if each.startswith("INSERT INTO leases")))]
        assert not any("FROM allocations" in statement for statement in decided), decided
        other.engine.dispose()


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
        with other.service.books.reading() as connection:
            other.service.calendars.load(connection, other.now())
        clock.moment = one.hour(1) - timedelta(seconds=1)
        with pytest.raises(NotEnoughError):
            other.lease(hosts(), start=1 - 1 / 60, end=2)
        other.engine.dispose()
