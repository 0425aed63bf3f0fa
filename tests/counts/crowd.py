"""The cost of creating a lease beside many others; it must not depend on their number."""

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
    """Return the cost of one create after filling an empty database with this many leases.

    On SQLite, also count the steps of its virtual machine, because every row read takes steps.
    """
    filled(url, HOSTS, leases)
    # One project owns all leases. Together they exceed its limit of hosts, so what is in the window is counted.
    limits = LeaseSettings(limits=LimitSettings(open_leases=None, totals={"hosts": HOSTS}))
    clock = Clock(first_day() - timedelta(days=1))
    world = open_service(url, clock=clock, settings=replace(Settings(), leases=limits))
    try:
        _create(world, 0)  # Load the calendar, which reads every lease once.
        steps = _Steps(world.engine)
        cost = Meter(world.engine).of(lambda: _create(world, 1))
    finally:
        world.engine.dispose()
    return cost | steps.taken


def _create(world: World, day: int) -> None:
    """Create a lease of one hour in which every host is free."""
    start = first_day() + timedelta(days=day) + BUSY
    create_lease(world.service, DEMO, LeaseDraft("counted", start, start + HOUR, reservations=(hosts(1),)))


class _Steps:
    """Counts the steps of SQLite's virtual machine; counts nothing on other databases."""

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
