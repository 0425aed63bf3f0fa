"""Requests that sleeping hosts delay are counted by day, class of machines and zone."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.features.power.delays import DelayCounts
from leasehold.features.power.model import zone_of
from leasehold.features.power.report import report
from leasehold.features.power.store import forget_machine
from leasehold.model.delay import Delay
from leasehold.model.errors import NotEnoughError
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import hosts, run_manager
from tests.features.power.night import HOSTS, Night, night

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Night]:
    with night(tmp_path) as made:
        yield made


def counted(site: Night) -> dict[tuple[str, str, str], tuple[int, int]]:
    now = site.world.now()
    rows = report(site.world.service, now - timedelta(days=2), now + timedelta(days=2))
    return {
        (f"{part.day}", part.power_class, part.zone): (saved.delayed_requests, saved.delay_seconds)
        for part, saved in rows
        if saved.delayed_requests
    }


def test_one_counts_in_each_class_and_zone_that_it_needs_whichever_process_hears_of_it(site: Night) -> None:
    site.fall_asleep()
    world, now = site.world, site.world.now()
    numbers = [world.host(name).number for name in HOSTS]
    zones = [zone_of(world.host(name)) for name in HOSTS]
    assert len(set(zones)) > 1
    one, other = DelayCounts(world.service.db), DelayCounts(world.service.db)
    one.note(now, Delay(frozenset(numbers), timedelta(minutes=10)))
    other.note(now, Delay(frozenset(numbers[:1])))
    other.note(now + timedelta(days=1), Delay(frozenset(numbers[:1]), timedelta(minutes=1)))
    for each in (one, other, one):
        each.write()
    expected = {("2031-05-01", "box", zone): (1, 600) for zone in zones}
    expected["2031-05-01", "box", zones[0]] = (2, 600)
    expected["2031-05-02", "box", zones[0]] = (1, 60)
    assert counted(site) == expected


def test_what_was_forgotten_since_is_of_no_class(site: Night) -> None:
    site.fall_asleep()
    db, host = site.world.service.db, site.world.host(HOSTS[0])
    counts = DelayCounts(db)
    counts.note(site.world.now(), Delay(frozenset({host.number})))
    db.transact(lambda connection: forget_machine(connection, host.number))
    counts.write()
    assert counted(site) == {}


def test_what_waits_for_something_else_than_for_hosts_that_sleep_is_not_counted(site: Night) -> None:
    counts = DelayCounts(site.world.service.db)
    counts.note(site.world.now(), Delay(frozenset({site.world.host(HOSTS[0]).number}), timedelta(minutes=7)))
    counts.write()
    assert counted(site) == {}


def test_a_lease_that_waits_for_sleeping_hosts_is_counted_when_it_is_sent(site: Night) -> None:
    site.fall_asleep()
    world = site.world
    hours = (world.now() - world.hour(0)) / timedelta(hours=1)
    deadline = world.now() + timedelta(hours=2)
    lease = world.lease(hosts(3), start=hours, end=hours + 1, type=LeaseType.WAITLIST, deadline=deadline)
    once = counted(site)
    assert {requests for requests, _ in once.values()} == {1}
    for _ in range(3):
        world.clock.advance(minutes=1)
        run_manager(world)
    assert world.status(lease) == "IN_PROGRESS"
    assert counted(site) == once


def test_whoever_would_be_refused_all_the_same_is_not_counted(site: Night) -> None:
    site.fall_asleep()
    world = site.world
    hours = (world.now() - world.hour(0)) / timedelta(hours=1)
    lease = world.lease(hosts(4), start=hours + 2, end=hours + 3)
    for count, start in ((5, 0), (1, 2)):
        with pytest.raises(NotEnoughError):
            world.lease(hosts(count), start=hours + start, end=hours + 3)
    assert world.status(lease) == "PENDING"
    assert counted(site) == {}
