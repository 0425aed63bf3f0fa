"""Features G8, L9: what a reservation held stays known, with why it began and ended, whatever its lease becomes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.db.engine import reading
from leasehold.db.past.history import LEAST_AGE, purge
from leasehold.db.past.record import SegmentFilter, each_segment
from tests.factory import START, floating_ips, hosts, instances, run_for, run_manager, run_until
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from leasehold.model.segment import Segment
    from tests.factory import World

pytestmark = pytest.mark.slow

Line = tuple[str, int, float, float | None, str | None, str | None]


def told(world: World, lease: Lease) -> list[Line]:
    """Return resource, slots, hours after `START` and causes of a lease's segments; None: it is still held."""
    audit(world)
    with reading(world.engine) as connection:
        return sorted(_line(each) for each in each_segment(connection, SegmentFilter(lease_id=lease.id), world.now()))


def _line(each: Segment) -> Line:
    start, end = (round((moment - START).total_seconds() / 3600, 2) for moment in (each.window.start, each.window.end))
    return each.label, each.slots, start, None if each.open else end, each.start_cause, each.end_cause


def test_a_lease_that_runs_to_its_end_held_its_window(world: World) -> None:
    lease = world.lease(hosts(), floating_ips(), start=1, end=3)
    assert told(world, lease) == []
    run_until(world, world.hour(2))
    assert told(world, lease) == [
        ("203.0.113.200", 1, 1, None, "granted", None),
        ("cmp-01", 1, 1, None, "granted", None),
    ]
    run_until(world, world.hour(4))
    assert told(world, lease) == [
        ("203.0.113.200", 1, 1, 3, "granted", "ended"),
        ("cmp-01", 1, 1, 3, "granted", "ended"),
    ]


def test_a_lease_that_never_began_held_nothing(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=3)
    world.amend(lease, start=2, end=4)
    world.delete(lease)
    run_for(world, hours=5)
    assert told(world, lease) == []


def test_what_could_not_be_started_was_held_all_the_same(world: World) -> None:
    """Nobody else could have it."""
    world.refuse("*")
    lease = world.lease(hosts(), end=1)
    run_until(world, world.hour(0.5))
    assert world.status(lease) == "ERROR"
    run_for(world, hours=2)
    world.cloud.faults.clear()
    run_for(world, hours=1)
    assert told(world, lease) == [("cmp-01", 1, 0, 1, "granted", "ended")]


def test_each_amendment_of_what_runs_begins_a_new_segment(world: World) -> None:
    lease = world.active(hosts(1, 2), end=2)
    run_until(world, world.hour(0.5))
    world.amend(lease, end=4)
    run_until(world, world.hour(1))
    world.amend(lease, {"min": 3, "max": 3})
    run_until(world, world.hour(2))
    world.amend(lease, end=3)
    world.amend(lease, name="other")
    run_until(world, world.hour(2.5))
    world.amend(lease, end=2.5)
    run_for(world, hours=9)
    kept = [
        (0, 0.5, "granted", "extended"),
        (0.5, 2, "extended", "amended"),
        (2, 2.5, "amended", "ended_early"),
    ]
    assert told(world, lease) == [
        *(("cmp-01", 1, *each) for each in kept),
        *(("cmp-02", 1, *each) for each in kept),
        ("cmp-06", 1, 1, 2, "amended", "amended"),
        ("cmp-06", 1, 2, 2.5, "amended", "ended_early"),
    ]


def test_another_amount_on_the_same_host_is_another_segment(world: World) -> None:
    lease = world.active(instances(4, 1), end=2)
    run_until(world, world.hour(1))
    world.amend(lease, {"amount": 6})
    run_for(world, hours=9)
    assert told(world, lease) == [
        ("cmp-01", 4, 0, 1, "granted", "amended"),
        ("cmp-01", 6, 1, 2, "amended", "ended"),
    ]


def test_a_host_that_fails_is_held_until_it_is_vacated_and_its_replacement_from_then(world: World) -> None:
    lease = world.active(hosts(), end=2)
    world.boot(lease)
    run_until(world, world.hour(1))
    world.fail("cmp-01")
    run_for(world, hours=9)
    assert told(world, lease) == [
        ("cmp-01", 1, 0, 1, "granted", "healed"),
        ("cmp-02", 1, 1, 2, "healed", "ended"),
    ]


def test_servers_that_are_slow_to_go_do_not_prolong_what_was_held(world: World) -> None:
    lease = world.active(hosts(), end=1)
    world.boot(lease)
    world.cloud.servers.take_to("delete", 1800)
    run_until(world, world.hour(0.5))
    world.delete(lease)
    run_for(world, hours=1)
    assert told(world, lease) == [("cmp-01", 1, 0, 0.5, "granted", "deleted")]


def test_the_record_outlives_the_lease_and_the_host(world: World) -> None:
    lease = world.active(hosts(), end=1)
    run_for(world, hours=2)
    before = told(world, lease)
    run_for(world, days=2)

    def purged(*, record: bool = False) -> dict[str, int]:
        return purge(world.engine, world.now(), LEAST_AGE, dry_run=False, record=record)

    gone = purged()
    assert (gone["leases"], gone["segments"]) == (1, 0)
    assert told(world, lease) == before == [("cmp-01", 1, 0, 1, "granted", "ended")]
    younger = world.active(hosts(), start=50, end=51)
    run_manager(world)
    assert purge(world.engine, world.now(), LEAST_AGE, dry_run=True, record=True)["segments"] == 1
    assert purged(record=True)["segments"] == 1
    assert told(world, lease) == []
    run_until(world, world.hour(52))
    assert purged(record=True)["segments"] == 0
    assert told(world, younger) == [("cmp-01", 1, 50, 51, "granted", "ended")]
