"""Feature A13: a lease loses one reservation, and all else of it goes on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.db.tables import segments
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.steps.lifecycle import Outcome, Result, begin
from leasehold.leasing.steps.outcome import complete
from leasehold.model.draft import LeaseChanges
from leasehold.model.errors import BusyError, ConflictError, InvalidInputError, NotFoundError, WaitingLeaseError
from leasehold.model.states import EventType
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import claim_one, flavors, floating_ips, hosts, instances, make_service, run_for, run_manager
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

HOSTS = ("cmp-01", "cmp-02", "cmp-06")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, hosts=HOSTS, addresses=(200, 201)) as made:
        yield made


def drop(world: World, lease: Lease, position: int = 1) -> Lease:
    changes = LeaseChanges(drops=frozenset({lease.reservations[position].id}))
    return amend_lease(world.service, lease.id, changes)


def checked(world: World) -> None:
    audit(world)
    audit_cloud(world)


def test_a_reservation_of_a_lease_to_come_is_free_at_once(world: World) -> None:
    lease = world.active(hosts(1), hosts(2), start=1, end=2)
    assert world.members(lease.reservations[1].id) == set()
    assert world.cloud.aggregates.get(lease.reservations[1].id) is not None
    drop(world, lease)
    assert (world.holds(lease, 0), world.holds(lease, 1)) == ({"cmp-01": 1}, {})
    assert world.lease(hosts(2), start=1, end=2)
    run_manager(world)
    assert world.statuses(lease) == ["pending", "deleted"]
    assert world.cloud.aggregates.get(lease.reservations[1].id) is None
    checked(world)
    run_for(world, minutes=61)
    assert (world.status(lease), world.statuses(lease)) == ("ACTIVE", ["active", "deleted"])
    run_for(world, hours=1)
    assert (world.status(lease), world.statuses(lease)) == ("TERMINATED", ["deleted", "deleted"])
    checked(world)


@pytest.mark.parametrize(
    "asked",
    [hosts(1), hosts(1, before_end="shelve"), instances(2), flavors(2)],
    ids=["hosts", "hosts that shelve", "instances", "flavors"],
)
def test_the_servers_of_a_dropped_reservation_are_deleted(world: World, asked: dict[str, object]) -> None:
    lease = world.active(hosts(1), {**asked, "grace_seconds": 3600, "no_show_seconds": 900}, end=2)
    kept, gone = world.boot(lease), world.boot(lease, 1)
    assert drop(world, lease).generation > lease.generation
    run_for(world, seconds=30)
    assert (gone.id in world.servers(), kept.id in world.servers()) == (False, True)
    assert world.statuses(lease) == ["active", "deleted"]
    assert world.told(lease)[-2:] == [("lease.update", "ACTIVE"), ("lease.released", "ACTIVE")]
    assert all(each.released_at is not None for each in world.part(lease, 1).allocations)
    # What was dropped is free for others, who start on it.
    other = world.active(hosts(2), end=2)
    assert world.status(other) == "ACTIVE"
    run_for(world, minutes=20)
    assert kept.id in world.servers()
    checked(world)


def test_an_address_is_dropped_like_anything_else(world: World) -> None:
    lease = world.active(hosts(1), floating_ips(2))
    drop(world, lease)
    run_for(world, seconds=30)
    assert world.statuses(lease) == ["active", "deleted"]
    assert world.lease(floating_ips(2))
    checked(world)


def dropped_in_an_outage(world: World, end: int) -> Lease:
    """Return an active lease of two hosts, of which the second is dropped while its server cannot be deleted."""
    lease = world.active(hosts(1), hosts(1), end=end)
    world.boot(lease, 1)
    world.refuse("servers.delete")
    drop(world, lease)
    return lease


def test_an_outage_delays_it_and_nothing_else(world: World) -> None:
    lease = dropped_in_an_outage(world, end=2)
    run_for(world, minutes=5)
    assert (world.status(lease), world.statuses(lease)) == ("ACTIVE", ["active", "active"])
    assert world.reason(lease)
    # The rest of the lease goes on, and what still has servers is promised to nobody who starts there.
    assert world.amend(lease, end=3).window.end == world.hour(3)
    world.cloud.faults.clear()
    run_for(world, minutes=10)
    assert (world.statuses(lease), world.reason(lease)) == (["active", "deleted"], "")
    checked(world)


def test_a_lease_ends_with_what_is_still_being_dropped(world: World) -> None:
    lease = dropped_in_an_outage(world, end=1)
    run_for(world, minutes=90)
    assert world.status(lease) in {"TERMINATING", "ERROR"}
    world.cloud.faults.clear()
    run_for(world, hours=1)
    assert (world.status(lease), world.statuses(lease)) == ("TERMINATED", ["deleted", "deleted"])
    checked(world)


def test_a_lease_is_deleted_with_what_is_still_being_dropped(world: World) -> None:
    lease = world.active(hosts(1), hosts(1), end=1)
    drop(world, lease)
    world.delete(lease)
    run_for(world, minutes=5)
    assert not world.exists(lease)
    checked(world)


def test_a_start_and_a_warning_take_along_what_was_dropped(world: World) -> None:
    """A reservation that is dropped just before a step is removed by that step."""
    lease = world.active(hosts(1), hosts(1), instances(1), start=1, end=3)
    drop(world, lease)
    world.clock.advance(hours=1)
    run_manager(world)
    assert (world.status(lease), world.statuses(lease)) == ("ACTIVE", ["active", "deleted", "active"])
    server = world.boot(lease, 2)
    world.clock.advance(hours=1)
    drop(world, lease, 2)
    run_manager(world)
    assert (world.statuses(lease), server.id in world.servers()) == (["active", "deleted", "deleted"], False)
    warning = world.event(lease, EventType.BEFORE_END)
    assert (warning.time, warning.status) == (world.hour(2), "DONE")
    checked(world)


def test_a_step_that_was_under_way_changes_nothing_of_it(world: World) -> None:
    """The step works with what the lease had; the next one removes what was dropped meanwhile."""
    lease = world.lease(hosts(1), hosts(1), start=1, end=2)
    claim = claim_one(world)
    assert claim is not None
    step = begin(world.service, claim)
    assert step is not None
    drop(world, lease)
    driver = world.service.types.get("physical:host").driver
    facts = {job.name: driver.converge(world.cloud, job, step.wanted_of(job)) for job in step.jobs}
    outcomes = [Outcome(name, Result.DONE, cloud=found) for name, found in facts.items()]
    assert complete(world.service, claim, step, outcomes)
    assert world.cloud.aggregates.get(lease.reservations[1].id) is not None
    run_manager(world)
    assert world.statuses(lease) == ["pending", "deleted"]
    checked(world)


def test_what_was_dropped_never_comes_back(world: World) -> None:
    """Not by an extension, by a change of another reservation, by healing, nor by the start."""
    lease = world.lease(hosts(1), hosts(1), start=1, end=2)
    drop(world, lease)
    world.amend(lease, end=3)
    world.amend(lease, {"min": 2, "max": 2})
    run_for(world, minutes=70)
    world.amend(lease, end=4)
    world.fail("cmp-01")
    world.heal()
    run_for(world, minutes=5)
    assert (len(world.holds(lease, 0)), world.holds(lease, 1)) == (2, {})
    assert (world.status(lease), world.statuses(lease)) == ("ACTIVE", ["active", "deleted"])
    assert not world.part(lease, 1).missing_resources
    audit(world)


def test_what_misses_something_is_no_longer_missed(world: World) -> None:
    lease = world.active(hosts(2), hosts(1))
    for name in ("cmp-06",):
        world.fail(name)
    world.heal()
    assert world.get(lease).degraded
    drop(world, lease)
    now = world.get(lease)
    assert (now.degraded, now.reservations[1].missing_resources) == (False, False)
    assert ("lease.restored", "ACTIVE") in world.told(lease)
    run_for(world, minutes=5)
    audit(world)


def test_what_it_was_is_on_record(world: World) -> None:
    lease = world.active(hosts(1), hosts(1), end=2)
    world.clock.advance(minutes=30)
    drop(world, lease)
    run_manager(world)
    with world.service.db.reading() as connection:
        query = select(segments).where(segments.c.reservation_id == lease.reservations[1].id)
        (row,) = connection.execute(query).all()
    assert (row.ends_at - row.starts_at, row.start_cause, row.end_cause) == (1800, "granted", "amended")


def test_limits_count_what_is_left(world: World) -> None:
    settings = world.service.settings.leases
    limits = replace(settings.limits, totals={"hosts": 2})
    limited = world.with_settings(leases=replace(settings, limits=limits))
    lease = limited.active(hosts(1), hosts(1), end=2)
    drop(limited, lease)
    run_manager(limited)
    assert limited.lease(hosts(1), end=2)
    assert limited.amend(lease, end=3)
    limited.engine.dispose()


def test_what_cannot_be_dropped_is_refused(world: World) -> None:
    lease = world.active(hosts(1), hosts(1), end=1)
    other = world.lease(hosts(1), start=1, end=2)
    with pytest.raises(NotFoundError):
        amend_lease(world.service, lease.id, LeaseChanges(drops=frozenset({other.reservations[0].id})))
    with pytest.raises(ConflictError, match="delete the lease"):
        drop(world, other, 0)
    drop(world, lease)
    with pytest.raises(NotFoundError):
        drop(world, lease)
    with pytest.raises(ConflictError, match="delete the lease"):
        drop(world, lease, 0)
    with pytest.raises(InvalidInputError):
        world.amend(lease, {"min": 1}, 1)
    waiting = world.lease(hosts(1), hosts(3), end=1, type=LeaseType.RETRY)
    with pytest.raises(WaitingLeaseError):
        drop(world, waiting)
    run_for(world, hours=2)
    with pytest.raises(BusyError):
        drop(world, lease, 0)
