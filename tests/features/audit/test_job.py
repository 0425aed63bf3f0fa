"""The periodic audit: one of several managers runs a round; a stop request or a cloud that is down ends the round."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest
from prometheus_client import REGISTRY

from leasehold.db.clock import utc_now
from leasehold.db.periodic_lock import add_periodic_lock, take_periodic_lock
from leasehold.features.audit.job import Reconciler
from leasehold.features.audit.options import AuditSettings
from leasehold.features.audit.use import AUDIT_LOCK
from leasehold.manager.periodic_thread import JobThread
from tests.factory import World, hosts, run_manager
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from threading import Event

pytestmark = pytest.mark.slow

OFTEN = 0.05


def make(world: World, pause: float = 0.0) -> Reconciler:
    """Return a reconciler with twenty rounds a second, on the machine's clock: the periodic lock uses real time."""
    settings = world.service.settings.having(AuditSettings(OFTEN, pause))
    return Reconciler(replace(world.service, settings=settings, now=utc_now))


def thread(reconciler: Reconciler) -> JobThread:
    """Return the thread that a manager has for it."""
    return JobThread(reconciler.job())


@contextmanager
def at_work(world: World) -> Iterator[None]:
    reconciler = thread(make(world))
    reconciler.start()
    try:
        yield
    finally:
        reconciler.stop(60)


def rounds(outcome: str) -> float:
    return REGISTRY.get_sample_value("leasehold_audit_rounds_total", {"outcome": outcome}) or 0.0


def test_rounds_go_on_and_mend_what_is_changed_meanwhile(world: World) -> None:
    before = rounds("done")
    with at_work(world):
        wait_for(lambda: rounds("done") >= before + 2)
        world.cloud.aggregates.remove_host("freepool", "cmp-01")

        def mended() -> bool:
            run_manager(world)
            return "cmp-01" in world.members("freepool")

        wait_for(mended)


def test_a_turn_that_another_manager_has_is_left_to_it(world: World) -> None:
    transact = world.service.db.transact
    transact(partial(add_periodic_lock, kind=AUDIT_LOCK))
    now = utc_now()
    assert transact(partial(take_periodic_lock, kind=AUDIT_LOCK, now=now, until=now + timedelta(hours=1)))
    before = rounds("done")
    thread(make(world)).run_once()
    assert rounds("done") == before


def test_a_cloud_that_is_down_ends_the_round_and_the_next_one_comes(world: World) -> None:
    world.break_down("aggregates.list")
    done, failed = rounds("done"), rounds("failed")
    with at_work(world):
        wait_for(lambda: rounds("failed") > failed)
        world.cloud.faults.clear()
        wait_for(lambda: rounds("done") > done)


def test_it_stops_in_the_middle_of_a_long_round(world: World) -> None:
    """A stop ends a round at once, even one that pauses for an hour after each lease."""
    world.lease(hosts(1), start=1, end=2)
    run_manager(world)
    looking = make(world, pause=3600.0)
    begun: list[float] = []
    wait = looking._wait

    def noted(stopping: Event, seconds: float) -> None:
        begun.append(seconds)
        wait(stopping, seconds)

    looking._wait = noted  # type: ignore[method-assign]
    periodic_thread = thread(looking)
    periodic_thread.start()
    wait_for(lambda: bool(begun))
    periodic_thread.stop(60)
    assert begun == [3600.0]
