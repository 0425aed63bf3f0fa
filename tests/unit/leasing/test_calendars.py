"""A process's calendars are a cache: whatever happened to the books meanwhile, the next decision is right."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from sqlalchemy import event

from leasehold.books.history import purge
from tests.factory import hosts, make_service, open_service, run_for, run_manager

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
