"""Features E2, E4: servers outlive their lease by a grace period or recycling, and the calendar reserves that time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api.versions import V1_2
from leasehold.api.views.lease import show_lease
from leasehold.cloud.ports import CloudTransientError, Inventory
from leasehold.cloud.sandbox.faults import Fault
from leasehold.leasing.create import create_lease
from leasehold.model.caller import EVERYTHING, Sight
from leasehold.model.draft import LeaseDraft
from leasehold.model.errors import InUseError, InvalidInputError, MissingParameterError, NotEnoughError
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.ending import DELETED_AT_ONCE
from leasehold.resource_types.outliving import LIVING
from leasehold.resource_types.slots.names import child_provider, resource_class
from leasehold.resource_types.slots.objects import remove_class
from tests.factory import DEMO, flavors, floating_ips, hosts, instances, run_for, run_until
from tests.selection import part_of_product
from tests.stateful.audit import audit
from tests.unit.leasing.looking import findings, in_database

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOUR = 3600
GRACE: dict[str, Any] = {"grace_seconds": HOUR}
RECYCLE: dict[str, Any] = {"on_end": "recycle", "recycle_seconds": 2 * HOUR}


def there(world: World) -> set[str]:
    return {server.name for server in world.cloud.servers.all() if server.status != "DELETING"}


def fits(world: World, asked: Mapping[str, Any], start: float, end: float) -> bool:
    """Say whether a lease is granted then; it is deleted again."""
    try:
        lease = world.lease(asked, start=start, end=end)
    except NotEnoughError:
        return False
    world.delete(lease)
    return True


@pytest.fixture
def one(world: World) -> World:
    """Return a world with one enrolled host."""
    world.disable(*(host.label for host in world.listed()[1:]))
    return world


@pytest.mark.parametrize("asked", [hosts(**RECYCLE), instances(**RECYCLE)])
def test_an_owner_is_told_until_when_servers_live_on_and_no_host(world: World, asked: Mapping[str, Any]) -> None:
    lease = world.active(asked, end=1)
    world.boot(lease)
    run_until(world, world.hour(1.5))
    owner = Sight(hosts=False, private=False, disabled=False)
    told, seen = (show_lease(world.get(lease), world.service.types, V1_2, each) for each in (owner, EVERYTHING))
    until = f"{world.hour(3):%Y-%m-%d %H:%M} UTC"
    assert told["status_reason"] == f"Servers {LIVING}, until {until} at most; none can be added."
    assert f"1 servers {LIVING}, until {until} at most" in (seen["status_reason"] or "")


@pytest.mark.parametrize("asked", [hosts(**GRACE), hosts(**RECYCLE), instances(**GRACE), flavors(**RECYCLE)])
def test_servers_live_on_until_the_time_that_was_asked_for(world: World, asked: Mapping[str, Any]) -> None:
    lease = world.active(asked, end=1)
    world.boot(lease)
    hours = 1 if "grace_seconds" in asked else 2
    run_until(world, world.hour(1 + hours) - timedelta(seconds=1))
    assert (world.status(lease), there(world)) == ("TERMINATING", {"server"})
    until = f"{world.hour(1 + hours):%Y-%m-%d %H:%M}"
    assert f"1 servers live on after the end of the lease, until {until} UTC at most" in world.reason(lease)
    assert not [*in_database(world), *findings(world)]
    run_until(world, world.hour(1 + hours) + timedelta(seconds=1))
    assert (world.status(lease), there(world)) == ("TERMINATED", set())
    assert not [*in_database(world), *findings(world)]


def test_the_grace_period_comes_before_the_time_of_recycling(world: World) -> None:
    lease = world.active(hosts(**GRACE, **RECYCLE), end=1)
    world.boot(lease)
    run_until(world, world.hour(3.9))
    assert there(world) == {"server"}
    run_until(world, world.hour(4))
    assert (world.status(lease), there(world)) == ("TERMINATED", set())


@pytest.mark.parametrize("asked", [hosts(**RECYCLE), instances(2, **RECYCLE), flavors(2, **RECYCLE)])
def test_nothing_can_be_booted_after_the_end(world: World, asked: Mapping[str, Any]) -> None:
    lease = world.active(asked, end=1)
    world.boot(lease)
    run_until(world, world.hour(1.5))
    with pytest.raises((AssertionError, Exception), match=r"No valid host|may not use"):
        world.boot(lease, name="late")
    assert there(world) - {"late"} == {"server"}


def test_the_calendar_reserves_the_time_in_which_servers_live_on(one: World) -> None:
    one.lease(hosts(**GRACE, **RECYCLE), start=1, end=2)
    assert not fits(one, hosts(), 4.9, 6)
    assert fits(one, hosts(), 5, 6)
    # The time after the end of the new lease counts as well.
    one.lease(hosts(), start=8, end=9)
    assert not fits(one, hosts(**GRACE), 6, 7.5)
    assert fits(one, hosts(**GRACE), 6, 7)


def test_the_offer_of_a_refusal_fits_with_the_time_after_its_end(one: World) -> None:
    one.lease(hosts(), start=2, end=3)
    with pytest.raises(NotEnoughError) as refused:
        one.lease(hosts(**GRACE), start=0.5, end=1.5)
    nearest = refused.value.details["nearest"]
    assert nearest == {"start": one.hour(3).isoformat(), "end": one.hour(4).isoformat()}
    assert fits(one, hosts(**GRACE), 3, 4)


def test_a_host_whose_servers_are_gone_is_free_at_once(world: World) -> None:
    lease = world.active(hosts(2, **RECYCLE), end=1)
    kept = world.boot(lease, name="kept")
    gone = next(
        each
        for each in (world.boot(lease, name=f"other-{n}") for n in range(9))
        if each.service_host != kept.service_host
    )
    for server in world.cloud.servers.all():
        if server.service_host == gone.service_host:
            world.cloud.servers.delete(server.id)
    run_until(world, world.hour(1.1))
    assert world.status(lease) == "TERMINATING"
    names = {host.attributes["service_name"]: host.label for host in world.listed()}
    assert set(world.holds(lease)) == {names[kept.service_host]}
    assert world.members("freepool") >= {gone.service_host}
    for server in world.cloud.servers.all():
        world.cloud.servers.delete(server.id)
    run_for(world, minutes=2)
    assert (world.status(lease), world.reason(lease)) == ("TERMINATED", "")
    assert world.members("freepool") >= {kept.service_host}
    assert fits(world, hosts(len(world.listed())), 1.5, 2)


def test_slots_without_servers_are_free_at_once(one: World) -> None:
    lease = one.active(instances(2, vcpus=1, **RECYCLE), end=1)
    server = one.boot(lease)
    run_until(one, one.hour(1.1))
    assert one.status(lease) == "TERMINATING"
    one.cloud.servers.delete(server.id)
    run_for(one, minutes=2)
    assert one.status(lease) == "TERMINATED"
    assert fits(one, hosts(), 1.5, 2)


CALLS = [
    "instances providers.remove_inventory",
    "instances aggregates.remove_host",
    "instances servers.with_flavor",
    "hosts aggregates.add_host",
    "hosts aggregates.remove_host",
    "hosts servers.*",
]


@pytest.mark.parametrize(("call", "booted"), part_of_product(CALLS, [False, True], one_in=2))
def test_a_host_is_released_only_when_all_its_calls_succeeded(world: World, call: str, *, booted: bool) -> None:
    kind, verb = call.split()
    asked = hosts(2, **RECYCLE) if kind == "hosts" else instances(2, affinity=False, **RECYCLE)
    lease = world.active(asked, end=1)
    if booted:
        world.boot(lease)
    held = set(world.holds(lease))
    world.cloud.faults.set(Fault(verb, error="before"))
    run_until(world, world.hour(1.1))
    assert (world.status(lease), set(world.holds(lease))) == ("TERMINATING", held)
    world.cloud.faults.clear()
    run_until(world, world.hour(1.5))
    assert len(world.holds(lease)) == int(booted)
    run_until(world, world.hour(3.5))
    assert (world.status(lease), world.reason(lease)) == ("TERMINATED", "")
    assert not [*in_database(world), *findings(world)]


def test_an_end_removes_inventories_that_a_late_call_has_left(world: World) -> None:
    lease = world.active(instances(1), end=1)
    (part,) = lease.reservations
    (held,) = world.holds(lease)
    other = next(host.label for host in world.listed() if host.label != held)
    world.cloud.providers.set_inventory(child_provider(other), resource_class(part.id), Inventory(total=1, max_unit=1))
    run_until(world, world.hour(1.1))
    assert (world.status(lease), world.reason(lease)) == ("TERMINATED", "")
    assert resource_class(part.id) not in world.cloud.providers.classes()
    assert not [*in_database(world), *findings(world)]


def test_no_other_host_is_asked_when_a_class_is_refused_once(world: World) -> None:
    lease = world.active(instances(1), end=1)
    (label,), name = world.holds(lease), resource_class(lease.reservations[0].id)
    world.break_down("providers.delete_class", 1)
    with pytest.raises(CloudTransientError):
        remove_class(world.cloud.providers, name)
    assert name in world.cloud.providers.inventories(child_provider(label))


def test_a_lease_that_nobody_used_ends_at_its_end(world: World) -> None:
    lease = world.active(hosts(**GRACE, **RECYCLE), end=1)
    run_until(world, world.hour(1))
    assert world.status(lease) == "TERMINATED"
    assert fits(world, hosts(len(world.listed())), 1.5, 2)


def test_whoever_deletes_a_lease_deletes_its_servers(world: World) -> None:
    lease = world.active(hosts(**RECYCLE), end=1)
    world.boot(lease)
    run_until(world, world.hour(1.5))
    world.delete(lease)
    run_for(world, seconds=10)
    assert (world.exists(lease), there(world)) == (False, set())
    active = world.active(hosts(**RECYCLE), start=1.5, end=3)
    world.boot(active)
    world.delete(active)
    run_for(world, seconds=10)
    assert (world.exists(active), there(world)) == (False, set())


def test_an_early_end_keeps_its_grace(one: World) -> None:
    lease = one.active(hosts(**GRACE), end=5)
    one.boot(lease)
    run_until(one, one.hour(1))
    one.amend(lease, end=1)
    run_until(one, one.hour(1.9))
    assert (one.status(lease), there(one)) == ("TERMINATING", {"server"})
    assert not fits(one, hosts(), 1.9, 3)
    assert fits(one, hosts(), 2, 3)
    run_until(one, one.hour(2))
    assert (one.status(lease), there(one)) == ("TERMINATED", set())


def test_a_grace_is_given_later_if_it_fits(one: World) -> None:
    lease = one.active(hosts(), end=2)
    after = one.lease(hosts(), start=4, end=5)
    with pytest.raises(InUseError):
        one.amend(lease, {"on_end": "recycle", "recycle_seconds": 2 * HOUR + 1})
    assert not fits(one, hosts(), 1, 3)
    assert fits(one, hosts(), 2, 4)
    one.amend(lease, RECYCLE)
    assert not fits(one, hosts(), 3.9, 4)
    # An extension moves what is reserved after the end too.
    with pytest.raises(InUseError):
        one.amend(lease, end=2.5)
    one.amend(lease, {"on_end": "delete"})
    assert fits(one, hosts(), 2, 4)
    assert one.part(lease).ending.tail == timedelta(0)
    assert one.status(after) == "PENDING"


@pytest.mark.parametrize(("name", "more"), [("grace_seconds", GRACE), ("recycle_seconds", RECYCLE)])
def test_no_grace_is_given_when_the_lease_is_over(one: World, name: str, more: Mapping[str, Any]) -> None:
    """It may be amended until its end is worked on; by then, another lease may have been promised the host."""
    lease = one.active(hosts(), end=1)
    one.lease(hosts(), start=1, end=2)
    one.clock.advance(hours=1, seconds=4)
    with pytest.raises(InvalidInputError, match="The lease has ended") as refused:
        one.amend(lease, reservations=({"id": one.part(lease).id, **more},))
    assert refused.value.field == f"reservations[0].{name}"
    assert one.part(lease).ending == DELETED_AT_ONCE
    one.amend(lease, name="renamed", reservations=({"id": one.part(lease).id, "grace_seconds": 0},))
    audit(one)
    run_until(one, one.hour(1.5))
    assert one.status(lease) == "TERMINATED"
    audit(one)


def test_a_lease_that_is_cut_to_nothing_reserves_nothing_after_that(one: World) -> None:
    lease = one.lease(hosts(**GRACE), start=1, end=2)
    one.amend(lease, end=1)
    run_until(one, one.hour(1))
    assert one.status(lease) == "TERMINATED"
    assert fits(one, hosts(), 1, 2)


@pytest.mark.parametrize("asked", [hosts(**GRACE), hosts(**RECYCLE), instances(**GRACE), flavors(**RECYCLE)])
def test_servers_live_on_after_a_lease_that_ends_in_the_minute_of_its_start(
    one: World, asked: Mapping[str, Any]
) -> None:
    """A lease that begins now begins with the minute, and v1 clients end it with the minute, too."""
    lease = one.active(asked, end=1)
    one.boot(lease)
    one.clock.advance(seconds=50)
    one.amend(lease, end=one.hour(0))
    run_for(one, minutes=10)
    assert (one.status(lease), there(one)) == ("TERMINATING", {"server"})
    assert not fits(one, hosts(), 0.5, 0.9)
    assert not [*in_database(one), *findings(one)]
    for server in one.cloud.servers.all():
        one.cloud.servers.delete(server.id)
    run_for(one, minutes=10)
    assert one.status(lease) == "TERMINATED"
    audit(one)


def test_a_substitute_is_held_as_long(world: World) -> None:
    lease = world.active(hosts(**GRACE), end=2)
    label = next(iter(world.holds(lease)))
    world.fail(label)
    ends = {held.window.end for held in world.part(lease).allocations if held.left_at is None}
    assert ends == {world.hour(3)}
    assert not in_database(world)


def test_the_event_of_the_end_says_until_when_servers_live(world: World) -> None:
    lease = world.active(hosts(**GRACE), end=1)
    world.boot(lease)
    run_until(world, world.hour(1))
    assert world.told(lease)[-1] == ("lease.ending", "TERMINATING")


def test_a_step_of_the_end_is_due_when_the_servers_may_be_deleted(world: World) -> None:
    lease = world.active(hosts(grace_seconds=90), end=1)
    world.boot(lease)
    run_until(world, world.hour(1) + timedelta(seconds=90))
    assert world.get(lease).status is LeaseStatus.TERMINATED


@pytest.mark.parametrize(
    ("ending", "error", "field"),
    [
        ({"on_end": "keep"}, InvalidInputError, "on_end"),
        ({"on_end": "recycle"}, MissingParameterError, "recycle_seconds"),
        ({"on_end": "recycle", "recycle_seconds": 0}, MissingParameterError, "recycle_seconds"),
        ({"recycle_seconds": 60}, InvalidInputError, "recycle_seconds"),
        ({"grace_seconds": -1}, InvalidInputError, "grace_seconds"),
        ({"grace_seconds": 24 * HOUR + 1}, InvalidInputError, "grace_seconds"),
        ({"on_end": "recycle", "recycle_seconds": 7 * 24 * HOUR + 1}, InvalidInputError, "recycle_seconds"),
    ],
)
def test_an_ending_that_is_not_possible_is_refused(
    world: World, ending: Mapping[str, Any], error: type[Exception], field: str
) -> None:
    with pytest.raises(error) as refused:
        world.lease(hosts(**ending))
    assert refused.value.field == f"reservations[0].{field}" or field in str(refused.value)  # type: ignore[attr-defined]


def test_addresses_have_no_servers_that_live_on(world: World) -> None:
    with pytest.raises(InvalidInputError, match="have no servers"):
        world.lease(floating_ips(**GRACE))


def test_a_lease_until_the_end_of_all_time_is_granted(world: World) -> None:
    end = datetime(9998, 12, 31, 23, 59, tzinfo=UTC)
    draft = LeaseDraft("forever", world.now(), end, reservations=(), fingerprint="a")
    longest = replace(
        world.service.settings.leases, longest_recycling=timedelta(days=366), longest_grace=timedelta(days=366)
    )
    service = world.with_settings(leases=longest).service
    year: dict[str, Any] = {"on_end": "recycle", "recycle_seconds": 365 * 24 * HOUR, "grace_seconds": 365 * 24 * HOUR}
    lease = create_lease(service, DEMO, replace(draft, reservations=(hosts(**year),)))
    assert held_until(world, lease) == {datetime(9999, 12, 1, tzinfo=UTC)}
    with pytest.raises(NotEnoughError):
        create_lease(service, DEMO, replace(draft, reservations=(hosts(len(world.listed()), **year),)))


def held_until(world: World, lease: Lease) -> set[Any]:
    return {held.window.end for held in world.part(lease).allocations if held.released_at is None}


def test_a_maintenance_window_moves_what_is_held_after_the_end(world: World) -> None:
    lease = world.lease(hosts(**GRACE), start=2, end=3)
    world.maintain(*world.holds(lease), start=3.5, end=4, on_conflict="move")
    assert held_until(world, lease) == {world.hour(4)}
    assert not in_database(world)
