"""What the creation of a lease reads when many others are there: it may not depend on how many."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from bench.fill import BUSY, filled, first_day
from leasehold.conf.settings import LeaseSettings, LimitSettings, Settings
from leasehold.leasing.create import create_lease
from leasehold.model.draft import LeaseDraft
from tests.counts.meter import Meter
from tests.factory import DEMO, Clock, hosts, open_service

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from tests.factory import World

HOSTS = 10
HOUR = timedelta(hours=1)


def reading_costs(url: str, leases: int) -> dict[str, int]:
    """Return what one create costs on an empty database that is filled with so many leases.

    On SQLite the steps that its machine takes are counted too: whatever is read, passes through them.
    """
    filled(url, HOSTS, leases)
    # One project has them all, which is more than a project may have by default.
    limits = LeaseSettings(limits=LimitSettings(open_leases=None, totals={"vcpus": 1000}))
    clock = Clock(first_day() - timedelta(days=1))
    world = open_service(url, clock=clock, settings=replace(Settings(), leases=limits))
    try:
        _create(world, 0)  # Loads the calendar: that reads every lease, once.
        steps = _Steps(world.engine)
        cost = Meter(world.engine).of(lambda: _create(world, 1))
    finally:
        world.engine.dispose()
    return cost | steps.taken


def _create(world: World, day: int) -> None:
    """Create a lease in an hour in which every host is free."""
    start = first_day() + timedelta(days=day) + BUSY
    create_lease(world.service, DEMO, LeaseDraft("counted", start, start + HOUR, reservations=(hosts(1),)))


class _Steps:
    """Counts the steps of SQLite's virtual machine; of another database nothing."""

    def __init__(self, engine: Engine) -> None:
        self.taken: dict[str, int] = {}
        if engine.dialect.name == "sqlite":
            self.taken["steps"] = 0
            event.listen(engine, "checkout", self._watch)

    def _watch(self, connection: Any, *_: Any) -> None:
        connection.set_progress_handler(self._step, 1)

    def _step(self) -> int:
        self.taken["steps"] += 1
        return 0
