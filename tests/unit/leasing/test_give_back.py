"""Feature E3: at the end of a lease its hosts leave the reservation pool with the servers on them (decision 0062)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update

from leasehold.cloud.sandbox.boots import BootOrder
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.tables import allocations, outbox
from leasehold.leasing.maintenance.model import MaintenanceConflictError
from leasehold.model.errors import (
    ConflictError,
    InUseError,
    InvalidInputError,
    LimitExceededError,
    NotEnoughError,
    TooMuchHeldError,
)
from leasehold.model.terms.ending import LATEST
from leasehold.resource_types.host.giving_back import POOL_KEY
from tests.boots import begin_boot, claim_boot, land_boot
from tests.factory import at_call, dies_at, floating_ips, hosts, instances, run_for, run_manager, run_until
from tests.mishaps import take_to_upload
from tests.selection import part_of_product
from tests.stateful.audit import audit, audit_cloud
from tests.unit.leasing.looking import findings, in_database
from tests.unit.leasing.test_heal_missing import only

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

GIVE: dict[str, Any] = {"on_end": "give_back"}
ALL = 5


def there(world: World) -> set[str]:
    return {server.name for server in world.cloud.servers.all() if server.status != "DELETING"}


def shared(world: World) -> set[str]:
    return {host.label for host in world.listed() if host.membership == "shared"}


def fits(world: World, asked: Mapping[str, Any], start: float, end: float) -> bool:
    """Say whether a lease is granted then; it is deleted again."""
    try:
        lease = world.lease(asked, start=start, end=end)
    except NotEnoughError:
        return False
    world.delete(lease)
    return True


def check_settled(world: World, *given: str) -> None:
    """Check that exactly these hosts serve everybody, and that nothing is left of what moved them."""
    assert shared(world) == set(given)
    pooled = {host.label for host in world.listed() if host.pooled}
    assert not any(host.membership.moves for host in world.listed())
    assert world.members("freepool") == pooled
    assert not world.cloud.providers.claimed([host.label for host in world.listed()])
    assert all(each.enabled for each in world.cloud.hypervisors.list())
    audit(world)
    audit_cloud(world)
    assert findings(world) == []


def only_on(*labels: str) -> dict[str, Any]:
    return {**hosts(1, **GIVE), **only(*labels)}


def leased(world: World, count: int = 1, **more: Any) -> Lease:
    """Return an active lease of an hour whose first host has a server of its owner."""
    lease = world.active(hosts(count, **GIVE), end=1, **more)
    world.boot(lease)
    return lease


def host_of(world: World, name: str = "server") -> str:
    found = next(server for server in world.cloud.servers.all() if server.name == name)
    assert found.service_host is not None
    return found.service_host


# ------------------------------------------------------------ what happens at the end


def test_servers_live_on_and_their_host_serves_everybody(world: World) -> None:
    lease = leased(world)
    run_until(world, world.hour(1.1))
    assert (world.status(lease), world.reason(lease), there(world)) == ("TERMINATED", "", {"server"})
    check_settled(world, host_of(world))
    assert world.cloud.aggregates.get(lease.reservations[0].id) is None
    query = select(outbox).where(outbox.c.event_type == "resource.given_back")
    with world.service.db.reading() as connection:
        assert len(connection.execute(query).all()) == 1
    # As on any host of the cloud, everybody's servers land there.
    for host in world.cloud.hypervisors.list():
        if host.service_host != host_of(world):
            world.cloud.hypervisors.disable(host.service_host, "a test")
    assert world.cloud.servers.boot("any", "alt", "m1.small").service_host == host_of(world)


def test_hosts_without_servers_are_free_for_the_next_lease(world: World) -> None:
    lease = leased(world, 3)
    run_until(world, world.hour(1.1))
    assert world.status(lease) == "TERMINATED"
    check_settled(world, host_of(world))
    assert fits(world, hosts(ALL - 1), 2, 3)
    assert not fits(world, hosts(ALL), 2, 3)


def test_a_lease_that_nobody_used_gives_nothing_back(world: World) -> None:
    lease = world.active(hosts(2, **GIVE), end=1)
    run_until(world, world.hour(1.1))
    assert world.status(lease) == "TERMINATED"
    check_settled(world)
    assert fits(world, hosts(ALL), 2, 3)


def test_a_lease_that_never_started_gives_nothing_back(world: World) -> None:
    for label in ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03"):
        world.cloud.aggregates.remove_host("freepool", label)
    while (server := world.cloud.servers.boot("stranger", "alt", "m1.small")).service_host != "gpu-03":
        assert server.service_host
    for label in ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03"):
        world.cloud.aggregates.add_host("freepool", label)
    lease = world.active({**hosts(1, **GIVE), **only("gpu-03")}, end=1)
    assert "not this lease's" in world.reason(lease)
    run_until(world, world.hour(1.1))
    assert shared(world) == set()
    assert "stranger" in there(world)


def test_a_boot_that_is_on_its_way_takes_the_host_along(world: World) -> None:
    lease = world.active(hosts(1, **GIVE), end=1)
    servers = world.cloud.servers
    boot = claim_boot(servers, begin_boot(servers, BootOrder("late", "demo", "m1.small", (lease.reservations[0].id,))))
    run_until(world, world.hour(1.1))
    land_boot(servers, boot)
    assert (world.status(lease), host_of(world, "late")) == ("TERMINATED", *shared(world))
    check_settled(world, host_of(world, "late"))


def test_a_boot_that_comes_after_the_look_is_refused(world: World) -> None:
    lease = world.active(hosts(1, **GIVE), end=1)
    servers = world.cloud.servers
    boot = begin_boot(servers, BootOrder("late", "demo", "m1.small", (lease.reservations[0].id,)))
    late: list[str] = []
    world.clock.set(world.hour(1))

    def claim() -> None:
        late.append(claim_boot(servers, boot).server.status)

    at_call(world, 1, lambda: run_for(world, seconds=30), claim, "aggregates.delete")
    assert (world.status(lease), late) == ("TERMINATED", ["ERROR"])
    check_settled(world)


def test_servers_that_are_being_deleted_do_not_take_the_host_along(world: World) -> None:
    lease = leased(world)
    world.cloud.servers.take_to("delete", 120)
    run_until(world, world.hour(0.99))
    world.cloud.servers.delete(world.cloud.servers.find("server")[0].id)
    run_until(world, world.hour(1) + timedelta(seconds=10))
    assert world.status(lease) == "TERMINATING"
    assert "still being removed" in world.reason(lease)
    run_until(world, world.hour(1.1))
    assert world.status(lease) == "TERMINATED"
    check_settled(world)


def test_nothing_is_booted_while_the_hosts_leave(world: World) -> None:
    lease = leased(world)
    world.cloud.faults.set(Fault("aggregates.remove_host", error="before"))
    run_until(world, world.hour(1.05))
    (part,) = lease.reservations
    for hint in ([part.id], []):
        late = world.cloud.servers.boot("late", "demo", "m1.small", hint)
        assert late.service_host != host_of(world)
    world.cloud.faults.clear()
    run_for(world, minutes=10)
    check_settled(world, host_of(world))


def test_images_are_made_before_the_host_is_given_back(world: World) -> None:
    lease = world.active({**hosts(1, **GIVE), "before_end": "snapshot"}, end=2, before_end=world.hour(1))
    world.boot(lease)
    run_until(world, world.hour(2.5))
    assert world.status(lease) == "TERMINATED"
    assert len(world.cloud.images.of_reservation(lease.reservations[0].id)) == 1
    check_settled(world, host_of(world))


def test_an_image_that_is_never_complete_holds_a_host_for_a_while(world: World) -> None:
    lease = world.active({**hosts(1, **GIVE), "before_end": "snapshot"}, end=2, before_end=world.hour(1))
    world.boot(lease)
    take_to_upload(world.cloud, 24 * 3600)
    run_until(world, world.hour(2) + world.service.settings.cloud.end_waits["snapshot"] - timedelta(minutes=1))
    assert (world.status(lease), shared(world)) == ("TERMINATING", set())
    assert "the end waits until" in world.reason(lease)
    run_for(world, minutes=5)
    assert world.status(lease) == "TERMINATED"
    assert "ended without 1 of the images" in world.reason(lease)
    check_settled(world, host_of(world))


def test_a_host_that_failed_is_given_back_with_its_servers_too(world: World) -> None:
    lease = leased(world)
    failed = host_of(world)
    world.fail(failed)
    run_until(world, world.hour(1.1))
    assert (world.status(lease), there(world), shared(world)) == ("TERMINATED", {"server"}, {failed})
    world.recover(failed)
    check_settled(world, failed)


def test_a_host_that_was_swapped_away_is_given_back_with_its_servers_too(world: World) -> None:
    lease = leased(world)
    before = host_of(world)
    swapped = world.swap(lease, world.cloud.servers.find("server")[0].id)
    run_manager(world)
    assert before not in world.holds(swapped)
    run_until(world, world.hour(1.1))
    assert world.status(lease) == "TERMINATED"
    check_settled(world, before)


# ------------------------------------------------------------ what is promised


def test_nothing_is_promised_after_the_end_of_what_may_be_given_back(world: World) -> None:
    first = world.lease(hosts(1, **GIVE), start=1, end=2)
    assert {held.window.end for held in world.part(first).allocations} == {LATEST}
    assert not fits(world, hosts(ALL), 5, 6)
    assert not fits(world, hosts(ALL), 24 * 365, 24 * 365 + 1)
    assert fits(world, hosts(ALL), 0, 1)
    world.lease(hosts(ALL - 1), start=10, end=11)
    with pytest.raises(NotEnoughError) as refused:
        world.lease(hosts(1, **GIVE), start=3, end=4)
    nearest = refused.value.details["nearest"]
    assert nearest == {"start": world.hour(11).isoformat(), "end": world.hour(12).isoformat()}
    assert fits(world, hosts(1, **GIVE), 11, 12)


def test_an_extension_asks_for_no_more(world: World) -> None:
    lease = leased(world)
    world.amend(lease, end=3)
    run_until(world, world.hour(2))
    assert (world.status(lease), shared(world)) == ("ACTIVE", set())
    run_until(world, world.hour(3.1))
    assert world.status(lease) == "TERMINATED"
    check_settled(world, host_of(world))


def test_an_early_end_gives_the_hosts_back_then(world: World) -> None:
    lease = leased(world)
    run_until(world, world.hour(0.5))
    world.amend(lease, end=0.5)
    run_for(world, seconds=30)
    assert world.status(lease) == "TERMINATED"
    check_settled(world, host_of(world))


def test_it_is_chosen_and_dropped_before_the_start_only(world: World) -> None:
    lease = world.lease(hosts(1), start=1, end=2)
    run_manager(world)
    (part,) = lease.reservations
    zone = world.cloud.aggregates.get(part.id)
    assert zone is not None
    assert zone.zone == f"blazar_{part.id}"
    world.amend(lease, GIVE)
    run_manager(world)
    marked = world.cloud.aggregates.get(part.id)
    assert marked is not None
    assert (marked.zone, marked.metadata) == (None, {"blazar:owner": "demo", POOL_KEY: "true"})
    assert world.part(lease).cloud["aggregate_id"] == marked.id
    world.amend(lease, {"on_end": "delete"})
    run_manager(world)
    assert fits(world, hosts(ALL), 3, 4)
    world.amend(lease, GIVE)
    run_until(world, world.hour(1))
    with pytest.raises(ConflictError, match="fixed when the lease starts") as refused:
        world.amend(lease, {"on_end": "delete"})
    assert refused.value.field == "reservations[0].on_end"
    world.amend(lease, {**GIVE, "grace_seconds": 0}, end=3)
    assert findings(world) == []


def test_it_is_refused_later_if_something_is_promised_afterwards(world: World) -> None:
    lease = world.lease(hosts(1), start=1, end=2)
    world.lease(hosts(ALL), start=4, end=5)
    with pytest.raises((InUseError, NotEnoughError)):
        world.amend(lease, GIVE)
    assert not world.part(lease).ending.gives_back


def test_limits_count_the_time_of_the_lease_only(world: World) -> None:
    settings = world.service.settings.leases
    limits = replace(settings.limits, totals={**settings.limits.totals, "hosts": 2}, user_host_hours=6)
    limited = world.with_settings(leases=replace(settings, max_duration=timedelta(hours=3), limits=limits))
    limited.lease(hosts(2, **GIVE), start=1, end=2)
    limited.lease(hosts(2), start=2, end=3)
    with pytest.raises(TooMuchHeldError):
        limited.lease(hosts(1), start=1, end=2)
    with pytest.raises(LimitExceededError):
        limited.lease(hosts(2, **GIVE), start=3, end=5)


def test_a_lease_that_has_not_started_makes_room_for_it(world: World) -> None:
    first = world.lease(hosts(1), start=10, end=11)
    (before,) = world.holds(first)
    second = world.lease({**hosts(1, **GIVE), **only(before)}, start=1, end=2)
    assert set(world.holds(second)) == {before}
    assert set(world.holds(first)) != {before}
    audit(world)


def test_it_moves_before_the_start_as_any_other(world: World) -> None:
    lease = world.lease(hosts(1, **GIVE), start=10, end=11)
    (before,) = world.holds(lease)
    world.active({**hosts(1), **only(before)}, end=100)
    assert set(world.holds(lease)) not in (set(), {before})
    assert {held.window.end for held in world.part(lease).allocations if held.window.duration} == {LATEST}
    audit(world)


def test_a_substitute_is_held_for_good(world: World) -> None:
    lease = world.active(hosts(1, **GIVE), end=2)
    world.fail(next(iter(world.holds(lease))))
    ends = {held.window.end for held in world.part(lease).allocations if held.left_at is None}
    assert ends == {LATEST}
    audit(world)


def test_no_maintenance_is_made_where_a_lease_keeps_the_host(world: World) -> None:
    lease = leased(world)
    with pytest.raises(MaintenanceConflictError):
        world.maintain(host_of(world), start=5, end=6)
    run_until(world, world.hour(1.1))
    assert world.status(lease) == "TERMINATED"


def test_a_window_moves_what_has_not_started(world: World) -> None:
    lease = world.lease(hosts(1, **GIVE), start=2, end=3)
    (before,) = world.holds(lease)
    world.maintain(before, start=100, end=101, on_conflict="move")
    assert before not in world.holds(lease)
    audit(world)


# ------------------------------------------------------------ what else may be asked


def test_whoever_deletes_a_lease_deletes_its_servers(world: World) -> None:
    lease = leased(world)
    world.delete(lease)
    run_for(world, seconds=10)
    assert (world.exists(lease), there(world)) == (False, set())
    check_settled(world)
    assert fits(world, hosts(ALL), 2, 3)


def test_a_host_is_drawn_again_and_its_servers_move_to_others(world: World) -> None:
    leased(world)
    run_until(world, world.hour(1.1))
    label = host_of(world)
    world.move(label, "reservation")
    run_for(world, minutes=5)
    # Nova keeps the hint with which a server was booted; it counts no more, because the reservation is over.
    assert (world.host(label).membership, there(world)) == ("reservation", {"server"})
    assert host_of(world) not in {host.label for host in world.listed()}
    check_settled(world)
    again = world.active({**hosts(1, **GIVE), **only(label)}, start=1.2, end=2)
    assert set(world.holds(again)) == {label}


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (instances(1, **GIVE), "on_end"),
        (hosts(1, **GIVE, grace_seconds=60), "grace_seconds"),
        (hosts(1, **GIVE, recycle_seconds=60), "recycle_seconds"),
        (floating_ips(1, **GIVE), "on_end"),
    ],
)
def test_what_has_no_meaning_is_refused(world: World, asked: Mapping[str, Any], field: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        world.lease(asked)
    assert refused.value.field == f"reservations[0].{field}"


def test_a_host_that_is_promised_all_the_same_stays_until_it_is_not(world: World) -> None:
    """A calendar that was damaged by hand: the lease says what it waits for, and nothing is lost."""
    lease = leased(world, 2)
    label = host_of(world)
    (other,) = set(world.holds(lease)) - {label}
    later = world.lease(hosts(1), start=5, end=6)
    number = world.host(label).number
    world.execute(update(allocations).where(allocations.c.lease_id == later.id).values(resource_number=number))
    run_until(world, world.hour(1.1))
    assert (world.status(lease), there(world), shared(world)) == ("TERMINATING", {"server"}, set())
    assert f"{label} is promised to them, and cannot be given back with its servers" in world.reason(lease)
    assert world.host(other).number not in {
        held.resource_number for held in world.part(lease).allocations if held.released_at is None
    }
    world.delete(later)
    run_for(world, minutes=10)
    assert (world.status(lease), world.reason(lease), there(world)) == ("TERMINATED", "", {"server"})
    assert shared(world) == {label}


# ------------------------------------------------------------ managers that die, and clouds that fail


CALLS = 29
"""How many calls to the cloud it takes to give back two hosts, of which one has a server."""


def test_how_many_calls_giving_back_takes(world: World) -> None:
    leased(world, 2)
    world.clock.set(world.hour(1))
    assert at_call(world, 0, lambda: run_for(world, seconds=30), lambda: None) == CALLS


@pytest.mark.parametrize("number", range(1, CALLS + 1))
def test_a_kill_at_any_call_leaves_the_servers_and_is_made_good(world: World, number: int) -> None:
    lease = leased(world, 2)
    world.clock.set(world.hour(1))

    assert dies_at(world, number, lambda: run_for(world, seconds=30))
    assert there(world) == {"server"}
    assert not fits(world, hosts(ALL), 2, 3)
    audit(world)
    run_for(world, minutes=5)
    assert (world.status(lease), there(world)) == ("TERMINATED", {"server"})
    check_settled(world, host_of(world))


VERBS = [
    "aggregates.ensure",
    "aggregates.get",
    "aggregates.add_host",
    "aggregates.remove_host",
    "aggregates.delete",
    "providers.claim_rest",
    "providers.release_claims",
    "servers.*",
    "hypervisors.enable",
]


@pytest.mark.parametrize(("verb", "error"), part_of_product(VERBS, ["before", "after"], one_in=2))
def test_a_cloud_that_is_away_loses_no_server(world: World, verb: str, error: Any) -> None:
    lease = leased(world, 2)
    world.cloud.faults.set(Fault(verb, error=error, remaining=3))
    run_until(world, world.hour(1.05))
    assert there(world) == {"server"}
    assert not fits(world, hosts(ALL), 2, 3)
    world.cloud.faults.clear()
    run_for(world, minutes=10)
    assert (world.status(lease), there(world)) == ("TERMINATED", {"server"})
    check_settled(world, host_of(world))


def test_an_end_that_the_cloud_refuses_is_reported_and_made_good(world: World) -> None:
    lease = leased(world)
    world.refuse("aggregates.remove_host")
    run_until(world, world.hour(2))
    assert (world.status(lease), there(world), shared(world)) == ("ERROR", {"server"}, set())
    (kept,) = [each for each in in_database(world) if each.kind == "kept"]
    assert host_of(world) in kept.what
    assert not fits(world, hosts(ALL), 3, 4)
    world.cloud.faults.clear()
    run_for(world, hours=1)
    assert (world.status(lease), there(world)) == ("TERMINATED", {"server"})
    check_settled(world, host_of(world))


def test_a_deletion_while_a_host_is_given_back_takes_what_is_left(world: World) -> None:
    """The lease is deleted between the look and the move: its servers go, as in any deletion."""
    lease = leased(world)
    world.cloud.faults.set(Fault("aggregates.add_host", error="before"))
    run_until(world, world.hour(1.01))
    assert world.status(lease) == "TERMINATING"
    world.cloud.faults.clear()
    world.delete(lease)
    run_for(world, minutes=1)
    assert (world.exists(lease), there(world)) == (False, set())
    check_settled(world)
