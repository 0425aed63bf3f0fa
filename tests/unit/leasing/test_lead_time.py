"""The lead time of each type: the work of a start begins so early that the lease is ready at its start (issue 12)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.resources.strangers import project_has_lease
from leasehold.features.availability.search import Wish, search_windows
from leasehold.features.availability.use import AvailabilityQuestion, availability_of
from leasehold.features.held_offer import use as held_offer
from leasehold.leasing.create import try_creation
from leasehold.manager.monitor import check_once
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import InvalidInputError, NotEnoughError
from leasehold.model.resource import FLOATING_IP, HOST
from leasehold.model.states import EventType
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import Window, from_seconds
from leasehold.resource_types.flavor.kind import FlavorKind
from leasehold.resource_types.instance.kind import InstanceKind
from tests.factory import DEMO, flavors, floating_ips, hosts, instances, run_for, run_until
from tests.unit.leasing.badges import BADGE, badges, given, with_badges
from tests.unit.leasing.looking import findings, in_database

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

LEAD = timedelta(minutes=10)
BEGINS = 2 - 1 / 6
"""The hour at which the work for a lease begins that starts in hour 2."""


def with_lead(world: World, **more: Any) -> World:
    """Return the world with a lead of ten minutes for hosts, or with these lead times by type."""
    by_type = more.pop("by_type", {HOST: LEAD})
    return world.with_settings(leases=replace(world.service.settings.leases, lead_time_by_type=by_type, **more))


def held(world: World, lease: Lease) -> set[Window]:
    """Return the windows in which a lease holds anything that is not empty."""
    parts = world.get(lease).reservations
    return {each.window for part in parts for each in part.allocations if each.window.duration}


def hours(world: World, start: float, end: float) -> Window:
    return Window(world.hour(start), world.hour(end))


def is_sound(world: World) -> bool:
    return in_database(world) == [] and findings(world) == []


# ---------------------------------------------------------------- each type


REQUESTS = {
    HOST: hosts(2),
    "virtual:instance": instances(3),
    "flavor:instance": flavors(2),
    FLOATING_IP: floating_ips(2),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_the_work_of_a_start_begins_by_the_lead_before_it(world: World, name: str) -> None:
    world = with_lead(world, by_type={name: LEAD})
    lease = world.lease(REQUESTS[name], start=2, end=3)
    assert lease.window == hours(world, 2, 3)
    assert held(world, lease) == {hours(world, BEGINS, 3)}
    run_until(world, world.hour(BEGINS) - timedelta(seconds=1))
    assert world.status(lease) == "PENDING"
    run_for(world, seconds=1)
    assert world.status(lease) == "ACTIVE"
    assert world.get(lease).window == hours(world, 2, 3)
    assert is_sound(world)
    run_until(world, world.hour(3) + timedelta(minutes=1))
    assert world.status(lease) == "TERMINATED"
    assert is_sound(world)


def test_a_third_partys_type_has_a_lead_too(world: World) -> None:
    world = with_badges(with_lead(world, by_type={BADGE: LEAD}))
    lease = world.lease(badges(2), start=2, end=3)
    run_until(world, world.hour(BEGINS) - timedelta(seconds=1))
    assert given(world) == set()
    run_for(world, seconds=1)
    assert len(given(world)) == 2
    assert world.status(lease) == "ACTIVE"


@pytest.mark.parametrize(
    ("kinds", "minutes"),
    [
        ([FLOATING_IP], 0),
        ([HOST], 10),
        ([InstanceKind.name], 10),
        ([FlavorKind.name], 2),
        ([FLOATING_IP, FlavorKind.name], 2),
        ([FlavorKind.name, InstanceKind.name, FLOATING_IP], 10),
    ],
)
def test_the_longest_lead_of_its_types_is_that_of_a_lease(world: World, kinds: list[str], minutes: int) -> None:
    """All reservations start in one step. Instances have no time of their own here, so they have that of hosts."""
    world = with_lead(world, by_type={HOST: LEAD, FlavorKind.name: timedelta(minutes=2)})
    lease = world.lease(*(REQUESTS[kind] for kind in kinds), start=2, end=3)
    assert held(world, lease) == {Window(world.hour(2) - timedelta(minutes=minutes), world.hour(3))}


# ---------------------------------------------------------------- what is promised


def test_the_lead_lies_between_two_leases_and_what_is_offered_instead_is_granted(world: World) -> None:
    world = with_lead(world)
    world.lease(hosts(5), start=1, end=2)
    with pytest.raises(NotEnoughError) as refused:
        world.lease(hosts(1), start=2, end=3)
    nearest = refused.value.refusal.nearest
    assert nearest == Window(world.hour(2) + LEAD, world.hour(3) + LEAD)
    wish = Wish([[hosts(1)]], timedelta(hours=1), world.hour(2))
    assert [each.window for each in search_windows(world.service, DEMO, wish).windows] == [nearest]
    draft = LeaseDraft("dry", nearest.start, nearest.end, reservations=(hosts(1),))
    assert try_creation(world.service, DEMO, draft).window == nearest
    assert held(world, world.lease(hosts(1), start=2 + 1 / 6, end=3 + 1 / 6)) == {hours(world, 2, 3 + 1 / 6)}


def test_nothing_is_reserved_before_now(world: World) -> None:
    world = with_lead(world)
    world.clock.advance(minutes=55)
    lease = world.lease(hosts(5), start=1, end=2)
    assert held(world, lease) == {Window(world.now(), world.hour(2))}
    run_for(world, seconds=1)
    assert world.status(lease) == "ACTIVE"


def test_within_the_lead_from_now_on_less_of_it_is_enough(world: World) -> None:
    """What is free at once can be had at once, although no whole lead is before it."""
    world = with_lead(world)
    world.lease(hosts(5), start=1.5, end=3)
    with pytest.raises(NotEnoughError) as refused:
        world.lease(hosts(1), start=1, end=2)
    wish = Wish([[hosts(1)]], timedelta(minutes=75), world.hour(0), limit=2)
    found = [each.window for each in search_windows(world.service, DEMO, wish).windows]
    nearest = refused.value.refusal.nearest
    assert found[0] == hours(world, 0, 1.25)
    assert nearest is not None
    assert found[1].start == nearest.start == world.hour(3) + LEAD


def test_availability_counts_the_lead_after_a_lease_as_reserved(world: World) -> None:
    world = with_lead(world)
    world.lease(hosts(3), start=1, end=2)
    world.clock.set(world.hour(0.5))
    question = AvailabilityQuestion(hosts(1), world.hour(0.5), world.hour(4))
    found = availability_of(world.service, DEMO, question)
    steps = dict(zip([from_seconds(each) for each in found.moments], found.free, strict=True))
    assert steps == {world.hour(0.5): 5, world.hour(5 / 6): 2, world.hour(2) + LEAD: 5}
    assert found.throughout == 2


def test_waiting_leases_and_offers_have_a_lead(world: World) -> None:
    world = with_lead(world)
    first = world.lease(hosts(5), start=1, end=2)
    waiting = world.lease(hosts(2), start=2, end=3, type=LeaseType.RETRY)
    assert world.status(waiting) == "IN_PROGRESS"
    world.delete(first)
    run_for(world, seconds=10)
    assert held(world, waiting) == {hours(world, BEGINS, 3)}
    draft = LeaseDraft("offer", world.hour(2), world.hour(3), reservations=(hosts(1),), hold=timedelta(minutes=5))
    offer = held_offer.make_offer(world.service, DEMO, draft)
    assert {each.window for part in offer.reservations for each in part.allocations} == {hours(world, BEGINS, 3)}
    taken = held_offer.accept_offer(world.service, offer.id)
    run_until(world, world.hour(2))
    assert (world.status(waiting), world.status(taken)) == ("ACTIVE", "ACTIVE")
    assert is_sound(world)


def test_a_maintenance_window_and_late_binding_keep_the_lead(world: World) -> None:
    world = with_lead(world)
    lease = world.lease(hosts(1), start=2, end=3)
    (name,) = world.holds(lease)
    world.maintain(name, start=1, end=2, on_conflict="move")
    assert name not in world.holds(lease)
    assert held(world, lease) == {hours(world, BEGINS, 3)}
    assert is_sound(world)


# ---------------------------------------------------------------- changes


def test_a_start_that_moves_takes_its_lead_along(world: World) -> None:
    world = with_lead(world)
    lease = world.lease(hosts(2), start=2, end=4)
    assert held(world, world.amend(lease, start=3)) == {hours(world, 3 - 1 / 6, 4)}
    assert held(world, world.amend(lease, start=1)) == {hours(world, 5 / 6, 4)}
    assert world.event(lease, EventType.START).time == world.hour(5 / 6)
    world.amend(lease, start=3)
    run_until(world, world.hour(2))
    assert world.status(lease) == "PENDING"
    world.amend(lease, start=2)
    run_for(world, seconds=1)
    assert world.status(lease) == "ACTIVE"
    assert is_sound(world)


def test_an_extension_needs_no_second_lead(world: World) -> None:
    world = with_lead(world)
    lease = world.lease(hosts(5), start=1, end=2)
    world.lease(hosts(5), start=3, end=4)
    assert world.amend(lease, end=3 - 1 / 6).window.end == world.hour(3 - 1 / 6)
    with pytest.raises(NotEnoughError):
        world.amend(lease, end=3)


def test_the_start_stays_once_its_work_has_begun(world: World) -> None:
    world = with_lead(world)
    lease = world.lease(hosts(2), start=2, end=4)
    run_until(world, world.hour(BEGINS))
    with pytest.raises(InvalidInputError, match="already started"):
        world.amend(lease, start=3)
    assert world.amend(lease, end=3).window == hours(world, 2, 3)
    assert is_sound(world)


@pytest.mark.parametrize("begun", [False, True])
def test_a_lease_that_is_cut_to_nothing_is_over_at_its_start(world: World, *, begun: bool) -> None:
    world = with_lead(world)
    lease = world.lease(hosts(5), start=2, end=4)
    run_until(world, world.hour(BEGINS if begun else 1))
    world.amend(lease, end=2)
    assert held(world, lease) == ({hours(world, BEGINS, 2)} if begun else set())
    if not begun:
        world.lease(hosts(5), start=1.5, end=2)
        run_until(world, world.hour(2) - timedelta(seconds=1))
        assert world.status(lease) == "PENDING"
    run_until(world, world.hour(2) + timedelta(minutes=1))
    assert world.status(lease) == "TERMINATED"
    assert is_sound(world)


def test_what_is_deleted_during_its_lead_is_free_at_once(world: World) -> None:
    world = with_lead(world)
    lease = world.lease(hosts(5), start=2, end=4)
    run_until(world, world.hour(BEGINS))
    assert world.status(lease) == "ACTIVE"
    world.delete(lease)
    run_for(world, seconds=5)
    assert not world.exists(lease)
    assert world.active(hosts(5), start=BEGINS, end=2)
    assert is_sound(world)


def test_a_change_of_the_option_leaves_what_is_promised(world: World) -> None:
    lease = world.lease(hosts(5), start=2, end=3)
    world = with_lead(world)
    world.lease(hosts(5), start=1, end=2 - 1 / 6)
    world.amend(lease, end=4)
    assert held(world, lease) == {hours(world, 2, 4)}
    run_until(world, world.hour(2) - timedelta(seconds=1))
    assert world.status(lease) == "PENDING"
    run_for(world, minutes=1)
    assert world.status(lease) == "ACTIVE"


def test_a_no_show_counts_from_the_start_and_not_from_when_it_is_ready(world: World) -> None:
    world = with_lead(world)
    lease = world.lease(hosts(1, no_show_seconds=1200), start=2, end=4)
    run_until(world, world.hour(2) + timedelta(minutes=19))
    assert world.status(lease) == "ACTIVE"
    run_for(world, minutes=3)
    assert world.status(lease) == "TERMINATED"


@pytest.mark.parametrize(("minutes", "there"), [(-1, False), (0, True), (15, True)])
def test_a_server_that_is_booted_during_the_lead_is_one_of_the_lease(
    world: World, minutes: int, *, there: bool
) -> None:
    """What a project boots without a lease may be a leftover of a former one, and is deleted then (decision 0022)."""
    world = with_lead(world)
    world.lease(hosts(1), start=2, end=3)
    moment = world.hour(BEGINS) + timedelta(minutes=minutes)
    with world.service.db.reading() as connection:
        assert project_has_lease(connection, DEMO.project_id, moment) is there


# ---------------------------------------------------------------- the work of the start


def slow(world: World, seconds: int) -> World:
    """Let each call to the cloud take so long, on the clock of the test."""
    world.cloud.faults.set(Fault("*", latency_ms=1000 * seconds))
    world.cloud.faults._sleep = lambda taken: world.clock.advance(seconds=taken)
    return world


@pytest.mark.parametrize(("lead", "ready"), [(LEAD, True), (timedelta(0), False)])
def test_a_lease_is_ready_at_its_start_although_the_cloud_is_slow(
    world: World, lead: timedelta, *, ready: bool
) -> None:
    world = slow(with_lead(world, by_type={HOST: lead} if lead else {}), seconds=10)
    leases = [world.lease(hosts(1), start=2, end=3), world.lease(instances(2), floating_ips(1), start=2, end=3)]
    run_until(world, world.hour(2) - lead)
    while any(world.status(each) != "ACTIVE" for each in leases):
        run_for(world, seconds=1)
    assert (world.now() <= world.hour(2)) is ready


@pytest.mark.parametrize(("minutes", "then"), [(9, "ACTIVE"), (11, "ERROR")])
def test_what_the_cloud_refuses_during_the_lead_is_no_failure_before_the_start(
    world: World, minutes: int, then: str
) -> None:
    world = with_lead(world)
    lease = world.lease(hosts(1), start=2, end=3)
    world.refuse("aggregates.add_host")
    run_until(world, world.hour(2) - timedelta(seconds=1))
    assert world.status(lease) == "STARTING"
    assert "refused" in world.reason(lease)
    if minutes < 10:
        world.cloud.faults.clear()
    run_until(world, world.hour(2) + timedelta(minutes=5))
    assert world.status(lease) == then
    world.cloud.faults.clear()
    run_for(world, minutes=6)
    assert world.status(lease) == "ACTIVE"


def test_a_host_that_fails_during_the_lead_is_replaced_before_the_start(world: World) -> None:
    world = with_lead(world)
    lease = world.lease(hosts(1), start=2, end=3)
    (name,) = world.holds(lease)
    run_until(world, world.hour(BEGINS) + timedelta(minutes=2))
    world.fail(name)
    check_once(world.service)
    world.heal()
    run_until(world, world.hour(2))
    assert world.status(lease) == "ACTIVE"
    assert name not in world.holds(lease)
