"""Feature J6: an owner exchanges a host; the servers on it are named, stay, and keep it from everybody else."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from leasehold.cloud.sandbox.tables import servers as server_rows
from leasehold.db.past.record import SegmentFilter, each_segment
from leasehold.leasing.swap import swap_resource
from leasehold.manager.monitor import check_once
from leasehold.model.draft import SwapWish
from leasehold.model.errors import (
    BusyError,
    CloudUnavailableError,
    ConflictError,
    InvalidInputError,
    LeaseholdError,
    NotEnoughError,
    NotSwappableError,
    ServersNotNamedError,
    StaleError,
    SwapUnfinishedError,
)
from leasehold.model.refusal import NoWindow
from leasehold.model.terms.heal_policy import HealPolicy
from tests.factory import ALT, at_call, during_a_step, floating_ips, hosts, instances, run_for, run_manager, run_until
from tests.stateful.audit import audit, audit_cloud, dump
from tests.unit.leasing.looking import findings

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.cloud.ports import Server
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

CMP_01, CMP_02 = (f'["==", "$hypervisor_hostname", "{name}"]' for name in ("cmp-01", "cmp-02"))
R1 = '["==", "$rack", "r1"]'
"""The rack of cmp-01 and cmp-02."""


def active(world: World, end: float = 2, **asked: Any) -> tuple[Lease, Server]:
    """Return an active lease of cmp-01 and its owner's server there, ten minutes after the start."""
    lease = world.active(hosts(**asked), end=end)
    server = world.boot(lease)
    world.clock.advance(minutes=10)
    assert server.service_host == "cmp-01"
    return lease, server


def refused(world: World, error: type[LeaseholdError], work: Callable[[], Any]) -> Any:
    """Return the error that `work` raises; nothing changed."""
    before = dump(world.engine)
    with pytest.raises(error) as caught:
        work()
    assert dump(world.engine) == before
    return caught.value


def causes(world: World, lease: Lease) -> list[tuple[str, str | None, str | None]]:
    """Return each segment of the record: the host, and why it began and ended."""
    with world.service.db.reading() as connection:
        found = list(each_segment(connection, SegmentFilter(lease_id=lease.id), world.now()))
    return sorted((each.label, each.start_cause, each.end_cause) for each in found)


def test_the_owner_gets_another_host_and_the_servers_stay_until_they_are_gone(world: World) -> None:
    lease, server = active(world)
    own, generation, told = lease.reservations[0].id, world.get(lease).generation, len(world.told(lease))
    after = world.swap(lease, server.id)
    assert (after.generation, after.degraded) == (generation + 1, False)
    assert [kind for kind, _ in world.told(lease)][told:] == ["lease.swapped"]
    run_for(world, minutes=5)
    assert (world.holds(lease), world.members(own)) == ({"cmp-02": 1}, {"cmp-01", "cmp-02"})
    assert world.servers() == {server.id}
    part = world.part(lease)
    assert (part.missing_resources, part.resources_changed, world.status(lease)) == (False, False, "ACTIVE")
    assert causes(world, lease) == [("cmp-01", "granted", "swapped"), ("cmp-02", "swapped", None)]
    with pytest.raises(NotEnoughError):
        world.lease(hosts(resource_properties=CMP_01), start=1, end=1.5, caller=ALT)
    audit(world)
    assert findings(world) == []
    world.cloud.servers.delete(server.id)
    run_for(world, minutes=3)
    assert world.members(own) == {"cmp-02"}
    assert "cmp-01" in world.members("freepool")
    audit_cloud(world)
    assert world.lease(hosts(resource_properties=CMP_01), start=1, end=1.5, caller=ALT)


@pytest.mark.parametrize("way", ["end", "delete"])
def test_the_end_of_the_lease_clears_the_host_that_was_given_up(world: World, way: str) -> None:
    lease, server = active(world, end=1)
    world.swap(lease, server.id)
    run_for(world, minutes=5)
    if way == "delete":
        world.delete(lease)
    run_until(world, world.hour(1.1))
    assert world.servers() == set()
    assert {"cmp-01", "cmp-02"} <= world.members("freepool")
    audit_cloud(world)


# ---------------------------------------------------------------- the servers that the request names


@pytest.mark.parametrize("named", [(), (0,), (1,), (0, 1, "another")])
def test_the_request_names_exactly_the_servers_that_are_there(world: World, named: tuple[Any, ...]) -> None:
    lease, one = active(world)
    there = [one.id, world.boot(lease).id]
    servers = frozenset(there[each] if isinstance(each, int) else each for each in named)
    wish = SwapWish(server=one.id, servers=servers)
    error = refused(world, ServersNotNamedError, lambda: swap_resource(world.service, lease.id, wish))
    assert error.details == {"servers": sorted(there)}
    assert all(each in error.message for each in there)
    world.swap(lease, *there)
    assert world.holds(lease) == {"cmp-02": 1}


def test_a_member_hears_of_no_servers_of_other_projects(world: World) -> None:
    lease, own = active(world)
    foreign = world.boot(lease, name="foreign")
    world.execute(update(server_rows).where(server_rows.c.id == foreign.id).values(project_id="alt"))

    def asks(server: str, *servers: str, everything: bool) -> Callable[[], Lease]:
        wish = SwapWish(server=server, servers=frozenset(servers))
        return lambda: swap_resource(world.service, lease.id, wish, all_servers=everything)

    error = refused(world, InvalidInputError, asks(foreign.id, foreign.id, everything=False))
    assert error.field == "server"
    error = refused(world, ServersNotNamedError, asks(own.id, everything=False))
    assert (error.details, foreign.id in error.message) == ({"servers": [own.id]}, False)
    error = refused(world, ServersNotNamedError, asks(own.id, own.id, everything=True))
    assert error.details == {"servers": sorted([own.id, foreign.id])}
    asks(own.id, own.id, everything=False)()
    run_for(world, minutes=5)
    world.cloud.servers.delete(own.id)
    error = refused(world, InvalidInputError, asks(own.id, own.id, everything=False))
    assert world.servers() == {foreign.id}


def test_a_server_or_a_host_that_the_lease_does_not_have(world: World) -> None:
    lease, server = active(world)
    other = world.active(hosts(), start=0.25, end=2)
    run_until(world, world.hour(0.3))
    theirs = world.boot(other)
    for wrong in ("none-such", theirs.id):
        assert refused(world, InvalidInputError, partial(world.swap, lease, wrong)).field == "server"
    error = refused(world, InvalidInputError, lambda: world.swap(lease, host="cmp-02"))
    assert (error.field, "It has cmp-01." in error.message) == ("host", True)
    assert refused(world, ServersNotNamedError, lambda: world.swap(lease, host="cmp-01")).details == {
        "servers": [server.id]
    }
    refused(world, StaleError, lambda: swap_resource(world.service, lease.id, SwapWish(server.id), if_generation=1))


def test_without_an_answer_of_the_cloud_nothing_is_swapped(world: World) -> None:
    lease, server = active(world)
    world.break_down("servers.*")
    refused(world, CloudUnavailableError, lambda: world.swap(lease, server.id))


# ---------------------------------------------------------------- what it gets instead


def test_without_another_free_host_it_is_refused_with_an_explanation(world: World) -> None:
    lease, server = active(world, resource_properties=R1)
    world.lease(hosts(resource_properties=CMP_02), start=1, end=2, caller=ALT)
    error = refused(world, NotEnoughError, lambda: world.swap(lease, server.id))
    refusal = error.refusal
    assert (refusal.asked, refusal.largest, refusal.nearest, refusal.no_window) == (1, 0, None, NoWindow.KEPT)
    assert "2 matching, 2 healthy, 0 free in the window" in error.message


def test_a_host_that_was_swapped_away_never_comes_back(world: World) -> None:
    """Not by a further swap, nor by healing; an amendment may take it once it is free."""
    lease, server = active(world, resource_properties=R1)
    world.swap(lease, server.id)
    run_for(world, minutes=1)
    with pytest.raises(NotEnoughError):
        world.amend(lease, hosts(2, resource_properties=R1))
    world.cloud.servers.delete(server.id)
    run_for(world, minutes=3)
    again = world.boot(lease)
    refused(world, NotEnoughError, lambda: world.swap(lease, again.id))
    world.fail("cmp-02")
    check_once(world.service)
    run_for(world, minutes=3)
    assert (world.holds(lease), world.part(lease).missing_resources) == ({}, True)
    world.recover("cmp-02")
    assert (world.holds(lease), world.part(lease).missing_resources) == ({"cmp-02": 1}, False)
    world.amend(lease, hosts(2, resource_properties=R1))
    assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1}
    run_for(world, minutes=3)
    audit_cloud(world)


def test_a_reservation_vacates_one_host_at_a_time(world: World) -> None:
    """Otherwise it could hold more hosts than it was promised, by leaving a server on each."""
    lease, server = active(world, end=4)
    other = world.active(hosts(), start=0.25, end=4)
    world.swap(lease, server.id)
    run_until(world, world.hour(0.5))
    fresh = world.boot(lease)
    for wish in (server.id, fresh.id):
        error = refused(world, SwapUnfinishedError, partial(world.swap, lease, wish))
        assert server.id in error.details["servers"]
    # Another lease is not concerned.
    theirs = world.boot(other)
    assert world.swap(other, theirs.id)
    for each in world.cloud.servers.on_host("cmp-01"):
        world.cloud.servers.delete(each.id)
    error = refused(world, SwapUnfinishedError, lambda: world.swap(lease, host=next(iter(world.holds(lease)))))
    assert error.details == {"servers": []}
    run_for(world, minutes=3)
    (name,) = world.holds(lease)
    world.swap(lease, *(each.id for each in world.cloud.servers.on_host(name)), host=name)
    assert set(world.holds(lease)).isdisjoint({name, "cmp-01"})


def test_of_several_hosts_only_the_one_is_swapped(world: World) -> None:
    lease = world.active(hosts(3), floating_ips(1), end=2)
    server = world.boot(lease)
    before = set(world.holds(lease))
    world.clock.advance(minutes=1)
    world.swap(lease, server.id)
    run_for(world, minutes=5)
    after = set(world.holds(lease))
    assert before - after == {server.service_host}
    assert len(after - before) == 1
    assert world.members(lease.reservations[0].id) == before | after
    audit_cloud(world)


def test_other_types_say_that_they_cannot(world: World) -> None:
    lease = world.active(instances(2), floating_ips(1), end=2)
    server = world.boot(lease)
    for ask in (lambda: world.swap(lease, server.id), lambda: world.swap(lease, host="cmp-01")):
        error = refused(world, NotSwappableError, ask)
        assert (error.details, "physical:host" in error.message) == ({"types": ["physical:host"]}, True)


# ---------------------------------------------------------------- the state of the lease


def test_before_the_start_nothing_is_on_the_host_and_it_is_free_at_once(world: World) -> None:
    """Servers that run there now are those of the lease before it."""
    first, server = active(world, end=1)
    lease = world.lease(hosts(resource_properties=CMP_01), start=1, end=2)
    world.amend(lease, hosts(resource_properties=R1))
    run_manager(world)
    assert world.holds(lease) == {"cmp-01": 1}
    refused(world, InvalidInputError, lambda: world.swap(lease, server.id))
    refused(world, ServersNotNamedError, lambda: world.swap(lease, None, server.id, host="cmp-01"))
    world.swap(lease, host="cmp-01")
    assert world.holds(lease) == {"cmp-02": 1}
    assert world.lease(hosts(resource_properties=CMP_01), start=1, end=2, caller=ALT)
    refused(world, NotEnoughError, lambda: world.swap(lease, host="cmp-02"))
    run_until(world, world.hour(1.1))
    assert (world.status(first), world.status(lease)) == ("TERMINATED", "ACTIVE")
    assert world.members(lease.reservations[0].id) == {"cmp-02"}
    audit_cloud(world)


def test_a_lease_that_starts_ends_or_is_over_refuses(world: World) -> None:
    lease = world.lease(hosts(), end=1)
    refused(world, BusyError, lambda: world.swap(lease, host="cmp-01"))
    world.refuse("aggregates.add_host")
    run_manager(world)
    assert world.status(lease) == "STARTING"
    refused(world, BusyError, lambda: world.swap(lease, host="cmp-01"))
    world.cloud.faults.clear()
    run_for(world, minutes=5)
    assert world.status(lease) == "ACTIVE"
    world.clock.set(world.hour(1))
    refused(world, BusyError, lambda: world.swap(lease, host="cmp-01"))
    run_manager(world)
    error = refused(world, ConflictError, lambda: world.swap(lease, host="cmp-01"))
    assert "over" in error.message
    going = world.active(hosts(), start=1, end=3)
    server = world.boot(going)
    world.delete(going)
    refused(world, BusyError, lambda: world.swap(going, server.id))


def test_a_host_that_failed_is_swapped_where_healing_may_not(world: World) -> None:
    """The flags go with what they were about; what the owner asked for is no substitute."""
    lease = world.active(hosts(), end=3, heal_policy=HealPolicy.NEVER)
    server = world.boot(lease)
    world.clock.advance(minutes=10)
    world.fail("cmp-01")
    assert world.part(lease).missing_resources
    told = len(world.told(lease))
    world.swap(lease, server.id)
    part = world.part(lease)
    assert (part.missing_resources, part.resources_changed, world.get(lease).degraded) == (False, False, False)
    assert [kind for kind, _ in world.told(lease)][told:] == ["lease.swapped", "lease.restored"]
    run_for(world, minutes=5)
    assert world.servers() == {server.id}
    world.recover("cmp-01")
    assert world.holds(lease) == {"cmp-02": 1}
    audit(world)


def test_a_further_host_that_failed_keeps_the_flag(world: World) -> None:
    lease = world.active(hosts(2), end=3, heal_policy=HealPolicy.NEVER)
    world.clock.advance(minutes=10)
    for name in ("cmp-01", "cmp-02"):
        world.fail(name)
    for name, missing in (("cmp-01", True), ("cmp-02", False)):
        world.swap(lease, host=name)
        assert (world.part(lease).missing_resources, world.get(lease).degraded) == (missing, missing)
        run_for(world, minutes=3)
    assert set(world.holds(lease)) == {"cmp-06", "cmp-07"}
    audit(world)


def test_a_substitute_that_is_swapped_is_none_any_more(world: World) -> None:
    lease = world.active(hosts(), end=3)
    world.clock.advance(minutes=10)
    world.fail("cmp-01")
    run_for(world, minutes=3)
    assert world.part(lease).resources_changed
    world.swap(lease, host="cmp-02")
    assert not world.part(lease).resources_changed
    assert set(world.holds(lease)).isdisjoint({"cmp-01", "cmp-02"})


# ---------------------------------------------------------------- what else happens at the same time


def test_a_step_in_progress_notices_the_swap(world: World) -> None:
    lease, server = active(world)
    world.amend(lease, name="another")
    world.amend(lease, end=2.5)
    during_a_step(world, lambda: world.swap(lease, server.id))
    run_manager(world)
    assert world.members(lease.reservations[0].id) == {"cmp-01", "cmp-02"}
    assert (world.holds(lease), world.servers()) == ({"cmp-02": 1}, {server.id})
    audit_cloud(world)


@pytest.mark.parametrize("what", ["delete", "heal", "swap", "end", "grow"])
def test_what_happens_while_the_servers_are_looked_up_comes_first(world: World, what: str) -> None:
    """The look-up is outside of the transaction, which notices that the lease has changed, and looks again."""
    lease, server = active(world)
    during: dict[str, Callable[[], Any]] = {
        "delete": lambda: world.delete(lease),
        "heal": lambda: world.fail("cmp-01"),
        "swap": lambda: world.swap(lease, server.id),
        "end": lambda: world.clock.set(world.hour(2)),
        "grow": lambda: world.amend(lease, hosts(1, 2)),
    }
    error = {"heal": SwapUnfinishedError, "swap": SwapUnfinishedError, "grow": None}.get(what, BusyError)
    with nullcontext() if error is None else pytest.raises(error):
        at_call(world, 1, lambda: world.swap(lease, server.id), during[what], "servers.on_hosts")
    if what not in ("delete", "end"):
        assert set(world.holds(lease)) == {"heal": {"cmp-02"}, "swap": {"cmp-02"}, "grow": {"cmp-02", "cmp-06"}}[what]
    run_for(world, minutes=5)
    assert world.servers() == (set() if what in ("delete", "end") else {server.id})
    audit_cloud(world)
