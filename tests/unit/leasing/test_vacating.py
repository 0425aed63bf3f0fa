"""Features A11 and A13: an active reservation loses what nothing uses, by name or by a smaller amount."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import select, update

from leasehold.cloud.sandbox import tables as sandbox_tables
from leasehold.cloud.sandbox.boots import BootOrder
from leasehold.db.tables import segments
from leasehold.leasing.amend import amend_lease, try_amendment
from leasehold.leasing.steps.vacating import _adding_up
from leasehold.model.allocation import Allocation
from leasehold.model.draft import LeaseChanges
from leasehold.model.errors import (
    BusyError,
    CloudUnavailableError,
    ConflictError,
    InUseError,
    InvalidInputError,
    LeaseholdError,
    NotEnoughError,
    NotFoundError,
    SwapUnfinishedError,
    WaitingLeaseError,
)
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.windows import Window
from tests.boots import begin_boot, claim_boot, land_boot
from tests.factory import (
    ALT,
    START,
    at_call,
    flavors,
    floating_ips,
    hosts,
    instances,
    make_service,
    run_for,
    run_manager,
)
from tests.stateful.audit import audit, audit_cloud, dump

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

HOSTS = ("cmp-01", "cmp-02", "cmp-06")


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, hosts=HOSTS, addresses=(200, 201)) as made:
        yield made


def drop(world: World, lease: Lease, label: str, position: int = 0) -> Lease:
    """Take the resource with this label out of a reservation."""
    found = {**world.hosts, **world.addresses}[label]
    changes = LeaseChanges(vacates=(lease.reservations[position].id, found.id))
    return amend_lease(world.service, lease.id, changes)


def shrink(world: World, lease: Lease, position: int = 0, **asked: Any) -> Lease:
    """Ask for less, as a client of microversion 1.3 does."""
    return world.amend(lease, asked, position, shrinks=True)


def refused(world: World, lease: Lease, error: type[LeaseholdError], **asked: Any) -> LeaseholdError:
    """Return the refusal of a smaller amount, which changes nothing."""
    before = dump(world.engine)
    with pytest.raises(error) as caught:
        shrink(world, lease, **asked)
    assert dump(world.engine) == before
    return caught.value


def checked(world: World) -> None:
    audit(world)
    audit_cloud(world)


def asks(world: World, lease: Lease, position: int = 0) -> dict[str, Any]:
    return dict(world.part(lease, position).request)


# ---------------------------------------------------------------- one named resource


def test_a_host_of_a_lease_to_come_is_free_at_once(world: World) -> None:
    lease = world.lease(hosts(1, 3), start=1, end=2)
    drop(world, lease, "cmp-02")
    assert world.holds(lease) == {"cmp-01": 1, "cmp-06": 1}
    assert (asks(world, lease)["min"], asks(world, lease)["max"]) == (2, 2)
    assert world.holds(world.lease(hosts(1), start=1, end=2, caller=ALT)) == {"cmp-02": 1}
    run_for(world, minutes=61)
    assert world.members(lease.reservations[0].id) == {"cmp-01", "cmp-06"}
    checked(world)


def test_an_active_lease_loses_an_empty_host_and_keeps_its_servers(world: World) -> None:
    lease = world.active(hosts(3), end=2)
    server = world.boot(lease)
    assert server.service_host == "cmp-01"
    drop(world, lease, "cmp-02")
    run_for(world, seconds=30)
    assert (world.holds(lease), world.servers()) == ({"cmp-01": 1, "cmp-06": 1}, {server.id})
    assert world.members(lease.reservations[0].id) == {"cmp-01", "cmp-06"}
    assert "cmp-02" in world.members("freepool")
    assert world.told(lease)[-2:] == [("lease.update", "ACTIVE"), ("lease.released", "ACTIVE")]
    other = world.active(hosts(1), end=2, caller=ALT)
    assert (world.status(other), world.holds(other)) == ("ACTIVE", {"cmp-02": 1})
    checked(world)


def test_nothing_refills_what_was_given_up(world: World) -> None:
    """Not healing, which replaces what fails later, nor an extension."""
    lease = world.active(hosts(3), end=2)
    drop(world, lease, "cmp-02")
    run_for(world, minutes=5)
    world.heal()
    world.amend(lease, end=3)
    run_for(world, minutes=5)
    assert world.holds(lease) == {"cmp-01": 1, "cmp-06": 1}
    part = world.part(lease)
    assert (part.missing_resources, part.resources_changed, world.get(lease).degraded) == (False, False, False)
    checked(world)


def test_a_host_with_servers_is_refused_and_they_are_named(world: World) -> None:
    lease = world.active(hosts(2), end=2)
    server = world.boot(lease)
    before = dump(world.engine)
    with pytest.raises(InUseError) as caught:
        drop(world, lease, "cmp-01")
    assert (caught.value.field, caught.value.details) == ("resource_id", {"servers": [server.id]})
    assert server.id in caught.value.message
    assert dump(world.engine) == before
    world.cloud.servers.delete(server.id)
    drop(world, lease, "cmp-01")
    assert world.holds(lease) == {"cmp-02": 1}


def test_the_same_request_again_changes_nothing(world: World) -> None:
    lease = world.active(hosts(3), end=2)
    again = [drop(world, lease, "cmp-02").generation for _ in range(2)]
    assert again[0] == again[1]
    run_for(world, minutes=1)
    before = dump(world.engine)
    drop(world, lease, "cmp-02")
    assert dump(world.engine) == before
    pending = world.lease(hosts(2), start=3, end=4)
    assert drop(world, pending, "cmp-01").generation == drop(world, pending, "cmp-01").generation


@pytest.mark.parametrize("asked", [instances(2, affinity=False), flavors(15)], ids=["instances", "flavors"])
def test_slots_on_a_named_host_go_without_its_servers(world: World, asked: dict[str, Any]) -> None:
    lease = world.active(asked, end=2)
    held, server = world.holds(lease), world.boot(lease)
    assert len(held) > 1
    used = str(server.service_host)
    unused = next(name for name in held if name != used)
    with pytest.raises(InUseError):
        drop(world, lease, used)
    drop(world, lease, unused)
    run_for(world, seconds=30)
    del held[unused]
    assert (world.holds(lease), asks(world, lease)["amount"]) == (held, sum(held.values()))
    assert world.servers() == {server.id}
    checked(world)


def test_an_address_goes_and_is_no_longer_named(world: World) -> None:
    one, two = sorted(world.addresses)
    lease = world.active(floating_ips(2, required_floatingips=[one]), end=2)
    drop(world, lease, one)
    run_for(world, seconds=30)
    assert world.holds(lease) == {two: 1}
    assert (asks(world, lease)["amount"], asks(world, lease)["required_floatingips"]) == (1, [])
    assert world.lease(floating_ips(1), end=2, caller=ALT)
    assert world.amend(lease, end=3)
    checked(world)


def test_an_address_with_a_port_is_refused(world: World) -> None:
    (one, _), lease = sorted(world.addresses), world.active(floating_ips(2), end=2)
    table = sandbox_tables.floating_ips
    world.execute(update(table).where(table.c.address == one).values(port_id="port-1"))
    with pytest.raises(InUseError) as caught:
        drop(world, lease, one)
    assert "port-1" in caught.value.message


def test_what_cannot_be_taken_out_is_refused(world: World) -> None:
    lease = world.active(hosts(2), end=1)
    one = world.active(hosts(1), end=1)
    with pytest.raises(NotFoundError, match="cmp-none"):
        amend_lease(world.service, lease.id, LeaseChanges(vacates=(lease.reservations[0].id, "cmp-none")))
    with pytest.raises(NotFoundError):
        amend_lease(world.service, lease.id, LeaseChanges(vacates=(one.reservations[0].id, "1")))
    with pytest.raises(NotFoundError):
        drop(world, lease, "cmp-06")
    with pytest.raises(ConflictError, match="drop the reservation"):
        drop(world, one, "cmp-06")
    waiting = world.lease(hosts(3), end=1, type=LeaseType.RETRY)
    with pytest.raises(WaitingLeaseError):
        drop(world, waiting, "cmp-01")
    world.break_down("servers.*")
    before = dump(world.engine)
    with pytest.raises(CloudUnavailableError):
        drop(world, lease, "cmp-01")
    assert dump(world.engine) == before
    world.cloud.faults.clear()
    run_for(world, hours=2)
    with pytest.raises(BusyError):
        drop(world, lease, "cmp-01")


# ---------------------------------------------------------------- less of what it has


def test_less_is_asked_for_and_only_unused_hosts_go(world: World) -> None:
    lease = world.active(hosts(3), end=2)
    server = world.boot(lease)
    shrink(world, lease, min=1, max=1)
    run_for(world, seconds=30)
    assert (world.holds(lease), world.servers()) == ({str(server.service_host): 1}, {server.id})
    assert world.active(hosts(2), end=2, caller=ALT)
    checked(world)


def test_with_a_server_on_each_host_it_is_refused(world: World) -> None:
    lease = world.active(hosts(3), end=2)
    while {server.service_host for server in world.cloud.servers.all()} != set(HOSTS):
        world.boot(lease)
    error = refused(world, lease, InUseError, min=2, max=2)
    assert (error.field, error.details) == ("reservations[0].max", {"servers": sorted(world.servers())})
    # A range that the hosts in use meet takes none of them.
    shrink(world, lease, min=1, max=3)
    assert len(world.holds(lease)) == 3


def test_instances_in_use_stay(world: World) -> None:
    lease = world.active(instances(3, affinity=False), end=2)
    one, two = world.boot(lease), world.boot(lease)
    error = refused(world, lease, InUseError, amount=1)
    assert (error.field, error.details["servers"]) == ("reservations[0].amount", sorted([one.id, two.id]))
    shrink(world, lease, amount=2)
    run_for(world, seconds=30)
    assert set(world.holds(lease)) == {one.service_host, two.service_host}
    assert (world.servers(), asks(world, lease)["amount"]) == ({one.id, two.id}, 2)
    checked(world)


def test_slots_on_one_host_go_together(world: World) -> None:
    """Between the look and the withdrawal a boot may take a slot: so a host is given up whole, or not at all."""
    lease = world.active(instances(2, affinity=True), end=2)
    error = refused(world, lease, InUseError, amount=1)
    assert error.message == (
        "The active reservation has 2 instances, of which 2 are on resources that nothing uses; these are given up "
        "whole, so amount cannot become 1."
    )
    apart = world.active(instances(2, affinity=False), end=2)
    assert refused(world, apart, InvalidInputError, amount=1, vcpus=2).field == "reservations[0].vcpus"


def test_older_versions_refuse_to_shrink(world: World) -> None:
    lease = world.active(hosts(2), instances(1), end=2)
    with pytest.raises(InUseError):
        world.amend(lease, {"min": 1, "max": 1})
    world.amend(lease, {"amount": 2}, 1)
    with pytest.raises(InvalidInputError):
        world.amend(lease, {"amount": 1}, 1)


def test_a_dry_run_looks_and_gives_up_nothing(world: World) -> None:
    lease = world.active(hosts(3), end=2)
    before = dump(world.engine)
    change = {"id": lease.reservations[0].id, "min": 2, "max": 2}
    tried = try_amendment(world.service, lease.id, LeaseChanges(reservations=(change,), shrinks=True))
    assert tried.reservations[0].request["max"] == 2
    assert dump(world.engine) == before


def test_what_was_given_up_does_not_keep_a_lease_from_going_on(world: World) -> None:
    lease = world.active(hosts(3), end=1)
    theirs = world.holds(world.lease(hosts(2), start=2, end=3, caller=ALT))
    with pytest.raises(InUseError):
        world.amend(lease, end=3)
    for name in theirs:
        drop(world, lease, name)
    run_for(world, minutes=1)
    assert world.amend(lease, end=3).window.end == world.hour(3)
    run_for(world, minutes=1)
    checked(world)


def test_limits_and_the_record_have_what_is_left(world: World) -> None:
    settings_ = world.service.settings.leases
    limited = world.with_settings(leases=replace(settings_, limits=replace(settings_.limits, totals={"hosts": 3})))
    lease = limited.active(hosts(3), end=2)
    world.clock.advance(minutes=30)
    shrink(limited, lease, min=1, max=1)
    run_manager(limited)
    assert limited.lease(hosts(2), start=1, end=2)
    with limited.service.db.reading() as connection:
        query = select(segments).where(segments.c.lease_id == lease.id)
        found = [(row.ends_at - row.starts_at, row.start_cause, row.end_cause) for row in connection.execute(query)]
    assert found == [(1800, "granted", "dropped")] * 2
    limited.engine.dispose()


# ---------------------------------------------------------------- boots on their way


def test_a_boot_that_lands_after_the_look_keeps_its_host(world: World) -> None:
    """Its server is not deleted, no other lease gets the host, and the reservation gives up nothing more meanwhile."""
    lease = world.active(hosts(3), end=4)
    drop(world, lease, "cmp-02")
    there = world.boot(lease)
    while there.service_host != "cmp-02":
        there = world.boot(lease)
    run_for(world, minutes=5)
    assert there.id in world.servers()
    assert "cmp-02" in world.members(lease.reservations[0].id)
    with pytest.raises(SwapUnfinishedError) as caught:
        shrink(world, lease, min=1, max=1)
    assert caught.value.details == {"servers": [there.id]}
    with pytest.raises(NotEnoughError):
        world.lease(hosts(1), start=1, end=4, caller=ALT)
    world.cloud.servers.delete(there.id)
    run_for(world, minutes=3)
    assert "cmp-02" in world.members("freepool")
    assert world.lease(hosts(1), start=1, end=4, caller=ALT)
    run_manager(world)
    checked(world)


def test_a_slot_that_is_taken_after_the_look_stays_until_its_server_is_gone(world: World) -> None:
    lease = world.active(instances(2, affinity=False), end=4)
    drop(world, lease, "cmp-02")
    servers = [world.boot(lease) for _ in range(2)]
    (there,) = (server for server in servers if server.service_host == "cmp-02")
    run_for(world, minutes=5)
    assert there.id in world.servers()
    assert world.part(lease).allocations
    world.cloud.servers.delete(there.id)
    run_for(world, minutes=3)
    assert all(held.released_at is not None for held in world.part(lease).allocations if held.left_at is not None)
    checked(world)


@pytest.mark.parametrize(
    "verb", ["providers.claim_rest", "aggregates.add_host", "aggregates.remove_host", "providers.release_claims"]
)
def test_what_breaks_off_is_finished_and_leaves_no_claim(world: World, verb: str) -> None:
    lease = world.active(hosts(2), end=2)
    drop(world, lease, "cmp-02")
    world.break_down(verb, times=1)
    run_for(world, minutes=2)
    assert (world.members(lease.reservations[0].id), "cmp-02" in world.members("freepool")) == ({"cmp-01"}, True)
    assert not world.cloud.providers.claimed([each.label for each in world.listed()])
    checked(world)


def test_a_boot_that_is_on_its_way_keeps_its_host(world: World) -> None:
    """It has passed the scheduler and is listed nowhere yet: Placement knows of it."""
    lease = world.active(hosts(2), end=2)
    servers = world.cloud.servers
    boot = claim_boot(
        servers,
        begin_boot(servers, BootOrder("late", "demo", "m1.small", (lease.reservations[0].id,), preemptible=False)),
    )
    assert boot.server.service_host == "cmp-01"
    drop(world, lease, "cmp-01")
    run_for(world, seconds=30)
    assert "cmp-01" in world.members(lease.reservations[0].id)
    land_boot(servers, boot)
    run_for(world, minutes=2)
    assert len(world.servers()) == 1
    servers.delete(*world.servers())
    run_for(world, minutes=3)
    assert "cmp-01" in world.members("freepool")
    checked(world)


def test_the_lease_ends_while_a_host_is_given_up(world: World) -> None:
    lease = world.active(hosts(2), end=1)
    drop(world, lease, "cmp-02")
    world.delete(lease)
    run_for(world, minutes=2)
    assert set(HOSTS) <= world.members("freepool")
    checked(world)


def test_a_lease_that_changes_meanwhile_is_looked_at_again(world: World) -> None:
    lease = world.active(hosts(3), end=2)
    at_call(world, 1, lambda: drop(world, lease, "cmp-02"), lambda: world.amend(lease, end=3), "servers.on_hosts")
    after = world.get(lease)
    assert (after.window.end, len(world.holds(lease))) == (world.hour(3), 2)


# ---------------------------------------------------------------- which of them


@settings(max_examples=200)
@given(st.lists(st.integers(1, 6), max_size=8), st.integers(1, 20))
def test_what_is_given_up_adds_up_exactly(sizes: list[int], wanted: int) -> None:
    window = Window(START, START.replace(hour=20))
    held = [Allocation(n, "r", "l", "hosts", n, window, slots, {"VCPU": 1}) for n, slots in enumerate(sizes)]
    chosen = _adding_up(held, wanted)
    sums = {0}
    for size in sizes:
        sums |= {each + size for each in sums}
    if wanted not in sums:
        assert chosen is None
        return
    assert chosen is not None
    assert sum(each.slots for each in chosen) == wanted
    assert len({each.id for each in chosen}) == len(chosen)
