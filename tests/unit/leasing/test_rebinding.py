"""Late binding (feature A9, decision 0057): leases that have not started make room for one that would be refused."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from leasehold.db.tables import leases, outbox, reservations
from leasehold.leasing.maintenance.model import MaintenanceConflictError
from leasehold.leasing.maintenance.use import request_of
from leasehold.leasing.swap import swap_resource
from leasehold.manager.monitor import check_once
from leasehold.model.draft import SwapWish
from leasehold.model.errors import InUseError, InvalidInputError, NotEnoughError
from leasehold.model.terms.lease_type import LeaseType
from tests.approver import approving
from tests.counts.meter import Meter
from tests.factory import World, floating_ips, hosts, instances, make_service, run_for, run_manager
from tests.harness.tables import read_tables
from tests.stateful.audit import audit, audit_cloud, dump

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from datetime import datetime
    from pathlib import Path

    from leasehold.model.lease import Lease

pytestmark = pytest.mark.slow


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Return a world of two equal hosts."""
    with make_service(tmp_path, hosts=("cmp-01", "cmp-02"), addresses=(101, 102)) as made:
        yield made


def fragmented(world: World, *, start: float = 1, **more: Any) -> tuple[Lease, Lease]:
    """Return two leases of an hour, one after the other and on two hosts, though one host would do.

    Each host is free for an hour beside them, and none for both hours.
    """
    blocker = world.lease(hosts(), start=start, end=start + 1)
    first = world.lease(hosts(), start=start, end=start + 1, **more)
    world.delete(blocker)
    second = world.lease(hosts(), start=start + 1, end=start + 2, **more)
    assert set(world.holds(first)) != set(world.holds(second))
    return first, second


def without_it(world: World) -> World:
    return world.with_settings(leases=replace(world.service.settings.leases, rebinding_seconds=0.0))


def events(world: World, lease: Lease) -> list[Any]:
    with world.service.db.reading() as connection:
        return list(connection.execute(select(outbox).where(outbox.c.lease_id == lease.id)).all())


def test_a_lease_that_has_not_started_makes_room_and_nobody_sees_it(world: World) -> None:
    both = fragmented(world)
    seen = [(replace_allocations(world.get(each)), events(world, each)) for each in both]
    before = [world.holds(each) for each in both]
    with pytest.raises(NotEnoughError):
        without_it(world).lease(hosts(), start=1, end=3)
    lease = world.lease(hosts(), start=1, end=3)
    assert [world.holds(each) for each in both] != before
    assert [(replace_allocations(world.get(each)), events(world, each)) for each in both] == seen
    audit(world)
    run_for(world, hours=1.5)
    assert [world.status(each) for each in (*both, lease)] == ["ACTIVE", "PENDING", "ACTIVE"]
    audit_cloud(world)
    run_for(world, hours=2)
    assert [world.status(each) for each in (*both, lease)] == ["TERMINATED"] * 3
    causes = [row.start_cause for row in read_tables(world.engine)["segments"]]
    assert sorted(causes) == ["granted", "granted", "moved"]
    audit(world)
    audit_cloud(world)


def replace_allocations(lease: Lease) -> Lease:
    """Return all of a lease that its owner may see: everything but which resources it has."""
    parts = tuple(replace(part, allocations=()) for part in lease.reservations)
    return replace(lease, reservations=parts)


def on(label: str) -> dict[str, Any]:
    """Return a request for this host alone."""
    return hosts(1, hypervisor_properties=f'["==", "$hypervisor_hostname", "{label}"]')


def refused(world: World, request: dict[str, Any], **more: Any) -> None:
    with pytest.raises(NotEnoughError):
        world.lease(request, **more)


def statements(*works: tuple[World, Callable[[World], object]]) -> list[int]:
    return [Meter(world.engine).of(lambda: work(world))["statements"] for world, work in works]  # noqa: B023 - at once


def test_without_a_need_nothing_is_looked_up_or_moved(world: World) -> None:
    fragmented(world)
    other = without_it(world)
    for there, start in ((world, 4), (other, 5)):
        there.lease(hosts(), start=start, end=start + 1)
    fits = [(there, lambda there: there.lease(hosts(), start=7, end=8)) for there in (world, other)]
    assert len(set(statements(*fits))) == 1


def test_a_refusal_costs_one_statement_more_where_something_may_move_and_leaves_no_trace(world: World) -> None:
    first = world.lease(on("cmp-01"), start=1, end=2)
    world.lease(on("cmp-02"), start=2, end=3)
    # Without the ways of features, which ask something of their own.
    both = (replace(world, service=replace(world.service, ways=())), without_it(world))

    def more(request: dict[str, Any], end: float) -> int:
        """Return how many statements more a refusal costs with late binding."""
        works = [(each, lambda there: refused(there, request, start=1, end=end)) for each in both]
        statements(*works)
        before = dump(world.engine)
        costs = statements(*works)
        assert dump(world.engine) == before
        return costs[0] - costs[1]

    assert more(hosts(), end=3) == 1
    # Wherever the others are, two hosts are too many.
    assert more(hosts(2), end=3) == 0
    world.clock.set(first.window.start - timedelta(minutes=5))
    assert more(on("cmp-01"), end=2) == 0


@pytest.mark.parametrize(("minutes", "moves"), [(6, True), (5, False), (1, False)])
def test_what_begins_soon_stays(world: World, minutes: int, moves: bool) -> None:  # noqa: FBT001 - a case
    """Each host has one of two leases, of which the first begins soon; only that one could make room."""
    first, second = fragmented(world)
    held = world.holds(second)
    (label,) = held
    world.execute(update(reservations).where(reservations.c.lease_id == second.id).values(missing_resources=True))
    world.clock.set(first.window.start - timedelta(minutes=minutes))
    try:
        lease = world.lease(hosts(), start=1, end=3)
    except NotEnoughError:
        assert not moves
    else:
        assert moves
        assert world.holds(lease).keys().isdisjoint(held)
        assert world.holds(first) == {label: 1}


def test_a_lease_is_extended_over_what_can_move(world: World) -> None:
    first, second = world.lease(hosts(), start=0, end=1), world.lease(hosts(), start=1, end=2)
    world.clock.advance(minutes=1)
    run_manager(world)
    held = world.holds(first)
    assert world.status(first) == "ACTIVE"
    assert world.holds(second) == held
    seen = replace_allocations(world.get(second))
    with pytest.raises(InUseError):
        without_it(world).amend(first, end=1.5)
    world.amend(first, end=1.5)
    assert world.holds(first) == held
    assert world.holds(second).keys().isdisjoint(held)
    assert replace_allocations(world.get(second)) == seen
    assert world.holds(world.lease(hosts(), start=1.5, end=2)) == held
    with pytest.raises(InUseError):
        world.amend(first, end=2)
    audit(world)
    run_for(world, hours=3)
    assert world.status(second) == "TERMINATED"
    audit_cloud(world)


def test_a_lease_that_waits_is_granted_by_moves(world: World) -> None:
    both = fragmented(world)
    waiting = without_it(world).lease(hosts(), start=1, end=3, type=LeaseType.RETRY)
    run_manager(without_it(world))
    assert world.status(waiting) == "IN_PROGRESS"
    seen = [replace_allocations(world.get(each)) for each in both]
    run_for(world, minutes=10)
    assert world.status(waiting) == "PENDING"
    assert [replace_allocations(world.get(each)) for each in both] == seen
    audit(world)


def test_healing_gets_room_by_moves(world: World) -> None:
    world.enrol("cmp-06")
    long = world.lease(hosts(), start=0, end=4)
    both = fragmented(world)
    run_manager(world)
    (lost,) = world.holds(long)
    seen = [replace_allocations(world.get(each)) for each in both]
    assert lost not in {name for each in both for name in world.holds(each)}
    world.fail(lost)
    run_manager(world)
    assert len(world.holds(long)) == 1
    assert lost not in world.holds(long)
    assert [replace_allocations(world.get(each)) for each in both] == seen
    audit(world)


def test_others_make_room_for_leases_that_leave_a_host(world: World) -> None:
    world.enrol("cmp-06")
    blocker = world.lease(hosts(), start=0, end=4)
    first, second = fragmented(world)
    label = next(iter(world.holds(blocker)))
    seen = [replace_allocations(world.get(each)) for each in (first, second)]
    told = [events(world, each) for each in (first, second)]
    window = world.maintain(label, start=0, end=5, on_conflict="move")
    assert request_of(window).moved == (blocker.id,)
    assert set(world.holds(blocker)) != {label}
    assert [set(world.holds(each)) for each in (first, second)] == [set(world.holds(first))] * 2
    assert [replace_allocations(world.get(each)) for each in (first, second)] == seen
    assert [events(world, each) for each in (first, second)] == told
    audit(world)


def test_nobody_makes_room_for_a_window_that_is_refused_all_the_same(world: World) -> None:
    world.enrol("cmp-06")
    blocker = world.lease(hosts(), start=0, end=4)
    first, second = fragmented(world)
    world.lease(hosts(), start=3, end=4)
    world.lease(hosts(), start=3, end=4)
    before = dump(world.engine)
    with pytest.raises(MaintenanceConflictError):
        world.maintain(*world.holds(blocker), start=0, end=5, on_conflict="move")
    assert dump(world.engine) == before
    assert set(world.holds(first)) != set(world.holds(second))


def test_two_reservations_of_a_lease_are_healed_by_moves(world: World) -> None:
    both = fragmented(world)
    world.enrol("cmp-05", "cmp-06", "cmp-07")
    broken = world.lease(hosts(), hosts(), start=0, end=4)
    running = world.lease(hosts(), start=0, end=0.9)
    run_manager(world)
    lost = {*world.holds(broken, 0), *world.holds(broken, 1)}
    assert lost.isdisjoint(world.holds(running))
    for name in lost:
        world.cloud.hypervisors.fail(name)
    check_once(world.service)
    world.heal()
    assert [sum(world.holds(each).values()) for each in both] == [1, 1]
    assert [sum(world.holds(broken, position).values()) for position in (0, 1)] == [1, 1]
    assert lost.isdisjoint({*world.holds(broken, 0), *world.holds(broken, 1)})
    audit(world)


def test_addresses_do_not_move_because_their_owners_see_them(world: World) -> None:
    blocker = world.lease(floating_ips(), start=1, end=2)
    first = world.lease(floating_ips(), start=1, end=2)
    world.delete(blocker)
    second = world.lease(floating_ips(), start=2, end=3)
    assert set(world.holds(first)) != set(world.holds(second))
    with pytest.raises(NotEnoughError):
        world.lease(floating_ips(), start=1, end=3)


@pytest.mark.parametrize("affinity", [None, True, False])
def test_slots_move_as_they_were_asked_for(world: World, affinity: bool | None) -> None:  # noqa: FBT001 - a case
    """Each host has room for some slots beside the others, and one host could take all of them."""
    wish = instances(1 if affinity is False else 2, 1, affinity=affinity)
    blocker = world.lease(hosts(), start=1, end=2)
    first = world.lease(wish, start=1, end=2)
    world.delete(blocker)
    second = world.lease(hosts(), start=2, end=3)
    assert world.holds(first).keys().isdisjoint(world.holds(second))
    lease = world.lease(hosts(), start=1, end=3)
    assert len(world.holds(lease)) == 1
    assert sum(world.holds(first).values()) == wish["amount"]
    assert len(world.holds(first)) == 1
    audit(world)


def test_what_is_flagged_or_has_a_failed_host_stays(world: World) -> None:
    first, second = fragmented(world)
    world.execute(update(leases).values(at_risk=True))
    with pytest.raises(NotEnoughError):
        world.lease(hosts(), start=1, end=3)
    world.execute(update(leases).values(at_risk=None))
    world.execute(update(reservations).values(missing_resources=True))
    with pytest.raises(NotEnoughError):
        world.lease(hosts(), start=1, end=3)
    world.execute(update(reservations).values(missing_resources=False))
    assert world.lease(hosts(), start=1, end=3)
    assert [world.status(each) for each in (first, second)] == ["PENDING"] * 2


def test_many_move_at_once(world: World) -> None:
    """A day in which the two hosts take turns, hour by hour, cannot be leased but by moving one of each two."""
    made = []
    for hour in range(2, 12):
        blocker = world.lease(hosts(), start=hour, end=hour + 1) if hour % 2 else None
        made.append(world.lease(hosts(), start=hour, end=hour + 1))
        if blocker is not None:
            world.delete(blocker)
    assert world.lease(hosts(), start=2, end=12)
    assert len({name for each in made for name in world.holds(each)}) == 1
    audit(world)


def test_what_moves_is_part_of_what_was_approved(tmp_path: Path) -> None:
    with approving() as service, make_service(tmp_path, hosts=("cmp-01", "cmp-02")) as world:
        fragmented(world)
        asking = world.with_settings(leases=service.settings())
        assert asking.lease(hosts(), start=1, end=3)
        assert len(service.asked) == 1
        audit(world)


def test_a_swap_does_not_take_what_has_made_room_since_it_looked(world: World) -> None:
    """The generation of a lease that makes room stays the same, so a swap compares what the lease has."""
    first, _ = fragmented(world)
    world.enrol("cmp-06")
    world.disable("cmp-06")
    (held,) = world.holds(first)
    made: list[Lease] = []

    def now() -> datetime:
        """Return the time; when it is first asked for, after the look, another lease is made."""
        if not made:
            made.append(first)
            made.append(world.lease(hosts(), start=1, end=3))
            world.enable("cmp-06")
        return world.now()

    with pytest.raises(InvalidInputError):
        swap_resource(replace(world.service, now=now), first.id, SwapWish(None, held, frozenset()))
    assert len(world.holds(first)) == 1
    assert held not in world.holds(first)
    audit(world)
