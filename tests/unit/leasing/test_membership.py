"""Feature E3: hosts that serve everybody are drawn into the reservation pool, and given back (decision 0056)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select, update

from leasehold.cloud.sandbox.boots import BootOrder
from leasehold.db.allocation import end_allocations, held_on
from leasehold.db.pool import bump_pools, lock_pools
from leasehold.db.state_gauges import read_state_gauges
from leasehold.db.tables import outbox, resources, tasks
from leasehold.features.audit.repair import repair
from leasehold.leasing.resources import resource
from leasehold.leasing.resources.membership import give_back_with_guests
from leasehold.manager.monitor import check_once
from leasehold.manager.surveyor import Surveyor
from leasehold.model.errors import InUseError, InvalidInputError, NotEnoughError
from leasehold.model.membership import Membership
from leasehold.model.resource import FLOATING_IP, HOST, HOST_POOL, Health
from leasehold.model.segment import Cause
from leasehold.model.terms.lease_type import LeaseType
from leasehold.resource_types.host.enrolment import DRAWS
from leasehold.resource_types.slots.names import child_provider
from tests.boots import begin_boot, claim_boot, land_boot
from tests.factory import (
    TYPES,
    at_call,
    dies_at,
    enrol_host,
    hosts,
    instances,
    make_service,
    run_for,
    run_manager,
    work_once,
)
from tests.stateful.audit import audit, audit_cloud, dump
from tests.unit.leasing.looking import findings
from tests.unit.leasing.test_heal_missing import only

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Server
    from tests.factory import World

pytestmark = pytest.mark.slow

SHARED = "cmp-09"
"""Servers of users land there first."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Yield a service with a host in the reservation pool, and a shared one that has three servers."""
    with make_service(tmp_path, hosts=("cmp-01",)) as made:
        for number in range(3):
            server = made.cloud.servers.boot(f"theirs-{number}", "alt", "m1.small")
            assert server.service_host == SHARED
        made.share(SHARED)
        yield made


def told(world: World) -> list[tuple[str, str, str | None]]:
    """Return the events of the shared host, each with its pool and why its last draw failed."""
    query = select(outbox).where(outbox.c.resource_id == world.hosts[SHARED].id).order_by(outbox.c.id)
    with world.service.db.reading() as connection:
        rows = connection.execute(query).all()
    return [(row.event_type, row.payload.get("pool"), row.payload.get("pool_reason")) for row in rows]


def guests(world: World, host: str = SHARED) -> list[Server]:
    return list(world.cloud.servers.on_host(host))


def check_settled(world: World, *pooled: str) -> None:
    """Check that exactly these hosts are in the reservation pool, and that nothing is left of what moved them."""
    assert {each.label for each in world.listed() if each.pooled} == set(pooled)
    assert not any(each.membership.moves for each in world.listed())
    assert {each.label for each in world.listed() if each.reservable} == set(pooled)
    assert world.members("freepool") == set(pooled)
    assert not world.cloud.providers.claimed([each.label for each in world.listed()])
    assert all(each.enabled for each in world.cloud.hypervisors.list())
    audit(world)
    audit_cloud(world)
    assert findings(world) == []


# ------------------------------------------------------------ enrolment


def test_a_shared_host_is_enrolled_with_its_servers_and_promised_to_nobody(world: World) -> None:
    assert (world.host(SHARED).membership, len(guests(world))) == ("shared", 3)
    check_settled(world, "cmp-01")
    with pytest.raises(NotEnoughError) as refused:
        world.lease(hosts(2))
    assert "1 enrolled" in refused.value.message
    with pytest.raises(NotEnoughError):
        world.lease(instances(1, **only(SHARED)))
    assert world.cloud.servers.boot("more", "demo", "m1.small").service_host == SHARED
    assert told(world) == [("resource.enrolled", "shared", None)]


def test_a_host_with_servers_is_not_enrolled_for_the_reservation_pool(world: World) -> None:
    resource.remove(world.service, HOST, world.host(SHARED).id)
    with pytest.raises(InUseError, match="pool `shared`"):
        enrol_host(world.service, SHARED, {})


def test_a_shared_host_is_removed_with_its_servers(world: World) -> None:
    resource.remove(world.service, HOST, world.host(SHARED).id)
    run_manager(world)
    assert len(guests(world)) == 3
    assert child_provider(SHARED) not in world.cloud.providers.names()
    check_settled(world, "cmp-01")


def test_addresses_have_one_pool(world: World) -> None:
    world.enrol_addresses(200)
    (address,) = world.addresses.values()
    with pytest.raises(InvalidInputError) as refused:
        resource.change(world.service, FLOATING_IP, address.id, {}, None, Membership.SHARED)
    assert refused.value.field == "pool"


def test_no_window_is_made_on_a_shared_host(world: World) -> None:
    with pytest.raises(InvalidInputError, match="reservation pool"):
        world.maintain(SHARED)


# ------------------------------------------------------------ drawing


def test_a_draw_moves_the_servers_away_and_the_host_into_the_pool(world: World) -> None:
    world.cloud.servers.take_to("migrate", 60)
    before = {each.id for each in guests(world)}
    assert world.move(SHARED, "reservation").membership == "drawing"
    run_for(world, seconds=30)
    there = world.cloud.hypervisors.find(SHARED)
    assert there is not None
    assert (there.enabled, there.disabled_reason) == (False, DRAWS)
    assert {each.status for each in guests(world)} == {"MIGRATING"}
    assert (world.host(SHARED).membership, world.members("freepool")) == ("drawing", {"cmp-01"})
    with pytest.raises(NotEnoughError):
        world.lease(hosts(2), start=10, end=11)
    run_for(world, seconds=60)
    check_settled(world, "cmp-01", SHARED)
    assert before <= world.servers()
    assert told(world)[1:] == [("resource.drawn", "reservation", None)]
    lease = world.active(hosts(2), end=10)
    assert world.holds(lease) == {"cmp-01": 1, SHARED: 1}
    audit(world)


def test_a_host_is_drawn_at_once_if_it_is_empty(world: World) -> None:
    for each in guests(world):
        world.cloud.servers.delete(each.id)
    world.move(SHARED, "reservation")
    run_manager(world)
    check_settled(world, "cmp-01", SHARED)


def test_leases_that_wait_get_the_host_that_was_drawn(world: World) -> None:
    waits = world.lease(hosts(2), start=1, end=2, type=LeaseType.WAITLIST, deadline=world.hour(3))
    world.move(SHARED, "reservation")
    run_for(world, seconds=30)
    assert (world.status(waits), world.holds(waits)) == ("PENDING", {"cmp-01": 1, SHARED: 1})


def test_a_boot_that_has_passed_the_scheduler_does_not_land_on_a_drawn_host(world: World) -> None:
    """Emptiness is proved: the claims refuse what the scheduler had chosen before, or the draw waits for it."""
    for each in guests(world):
        world.cloud.servers.delete(each.id)
    servers = world.cloud.servers
    early, late = (begin_boot(servers, order(name)) for name in ("early", "late"))
    assert {early.server.service_host, late.server.service_host} == {SHARED}
    early = claim_boot(servers, early)
    world.move(SHARED, "reservation")
    run_for(world, seconds=30)
    assert world.host(SHARED).membership == "drawing"
    assert claim_boot(servers, late).server.status == "ERROR"
    land_boot(servers, early)
    run_for(world, seconds=30)
    assert guests(world) == []
    check_settled(world, "cmp-01", SHARED)


def order(name: str) -> BootOrder:
    return BootOrder(name, "alt", "m1.small", (), preemptible=False)


def test_a_host_that_is_not_empty_in_time_goes_back_as_it_was(world: World) -> None:
    world.cloud.servers.take_to("migrate", 7200)
    world.move(SHARED, "reservation")
    run_for(world, minutes=29)
    assert world.host(SHARED).membership == "drawing"
    run_for(world, minutes=2)
    found = world.host(SHARED)
    assert found.membership == "shared"
    assert found.membership_reason == "It was not empty after 1800 seconds: It still has 3 servers."
    assert told(world)[1:] == [("resource.draw_failed", "giving_back", found.membership_reason)]
    run_for(world, hours=3)
    assert not guests(world), "what is on its way elsewhere goes on"
    check_settled(world, "cmp-01")
    # It says why until it is asked again.
    assert world.move(SHARED, "reservation").membership_reason is None
    run_for(world, seconds=5)
    check_settled(world, "cmp-01", SHARED)


def test_a_host_whose_servers_fit_nowhere_else_goes_back_after_four_refusals(world: World) -> None:
    world.refuse("servers.migrate")
    world.move(SHARED, "reservation")
    run_for(world, minutes=5)
    found = world.host(SHARED)
    assert (found.membership, len(guests(world))) == ("shared", 3)
    assert (found.membership_reason or "").startswith("The cloud refused: ")
    world.cloud.faults.clear()
    check_settled(world, "cmp-01")


@pytest.mark.parametrize("verb", ["hypervisors.disable", "providers.claim_rest", "aggregates.add_host"])
def test_a_draw_survives_a_cloud_that_is_away(world: World, verb: str) -> None:
    world.break_down(verb)
    world.move(SHARED, "reservation")
    run_for(world, minutes=10)
    assert world.host(SHARED).membership == "drawing"
    world.cloud.faults.clear()
    run_for(world, minutes=2)
    check_settled(world, "cmp-01", SHARED)


def test_a_host_that_an_operator_has_disabled_stays_so(world: World) -> None:
    world.cloud.hypervisors.set_health(SHARED, enabled=False)
    check_once(world.service)
    world.move(SHARED, "reservation")
    run_for(world, seconds=30)
    found, there = world.host(SHARED), world.cloud.hypervisors.find(SHARED)
    assert there is not None
    assert (found.membership, found.reservable, there.enabled) == ("reservation", False, False)
    world.recover(SHARED)
    assert world.host(SHARED).reservable


def test_a_draw_that_is_called_off_leaves_the_host_as_it_was(world: World) -> None:
    world.cloud.servers.take_to("migrate", 600)
    world.move(SHARED, "reservation")
    run_for(world, seconds=30)
    assert world.move(SHARED, "shared").membership == "giving_back"
    run_manager(world)
    assert [each[0] for each in told(world)[1:]] == ["resource.given_back"]
    check_settled(world, "cmp-01")


def test_a_host_that_is_removed_while_it_is_drawn_is_left_as_it_was(world: World) -> None:
    world.cloud.servers.take_to("migrate", 600)
    world.move(SHARED, "reservation")
    run_for(world, seconds=30)
    resource.remove(world.service, HOST, world.host(SHARED).id)
    run_manager(world)
    there = world.cloud.hypervisors.find(SHARED)
    assert there is not None
    assert there.enabled
    assert not world.cloud.providers.claimed([SHARED])
    check_settled(world, "cmp-01")


# ------------------------------------------------------------ giving back


def test_a_host_is_given_back_and_serves_everybody(world: World) -> None:
    assert world.move("cmp-01", "shared").membership == "giving_back"
    with pytest.raises(NotEnoughError):
        world.lease(hosts(1))
    run_manager(world)
    check_settled(world)
    assert child_provider("cmp-01") in world.cloud.providers.names()
    world.move("cmp-01", "reservation")
    run_manager(world)
    check_settled(world, "cmp-01")


def test_a_host_that_is_promised_is_not_given_back(world: World) -> None:
    first = world.lease(hosts(1), start=5, end=6)
    second = world.lease(hosts(1), start=2, end=3)
    before = dump(world.engine)
    with pytest.raises(InUseError) as refused:
        world.move("cmp-01", "shared")
    assert refused.value.field == "pool"
    assert refused.value.details == {"leases": [second.id, first.id], "from": world.hour(2).isoformat()}
    assert "from 2031-05-01 11:00 on" in refused.value.message
    assert dump(world.engine) == before
    world.delete(first)
    world.delete(second)
    run_manager(world)
    world.move("cmp-01", "shared")
    run_manager(world)
    check_settled(world)


def test_a_host_is_given_back_at_the_end_of_a_lease_with_its_servers(world: World) -> None:
    """As an end action does it: the lease keeps its allocation until its own task has released it."""
    lease = world.active(hosts(1), end=1)
    server = world.boot(lease)

    def end(connection: Connection, lease_id: str) -> bool:
        generations, found = lock_pools(connection, {HOST_POOL}), world.host("cmp-01")
        now, next_one = world.now(), generations[HOST_POOL] + 1
        done = give_back_with_guests(connection, TYPES.get(HOST), found, lease_id, next_one, now)
        if done:
            held = held_on(connection, [found.number], now)
            end_allocations(connection, held, next_one, now, Cause.ENDED, released=True)
            bump_pools(connection, generations)
        return done

    later = world.lease(hosts(1), start=2, end=3)
    assert not world.service.db.transact(lambda connection: end(connection, lease.id))
    world.delete(later)
    run_manager(world)
    assert world.service.db.transact(lambda connection: end(connection, lease.id))
    with pytest.raises(NotEnoughError):
        world.lease(hosts(1), start=5, end=6)
    run_manager(world)
    found = world.host("cmp-01")
    assert (found.membership, found.reservable) == ("shared", False)
    assert server.id in world.servers()


# ------------------------------------------------------------ managers that die or are suspended

CALLS_OF_A_DRAW = 8
CALLS_OF_GIVING_BACK = 4


def way(world: World, pool: str) -> tuple[str, ...]:
    """Ask for the shared host in the reservation pool, or for the other one back; return what is pooled at the end."""
    if pool == "reservation":
        for each in guests(world):
            world.cloud.servers.delete(each.id)
        world.move(SHARED, pool)
        return ("cmp-01", SHARED)
    world.move("cmp-01", pool)
    return ()


EACH_CALL = pytest.mark.parametrize(
    ("pool", "number"),
    [
        *(("reservation", number) for number in range(1, CALLS_OF_A_DRAW + 1)),
        *(("shared", number) for number in range(1, CALLS_OF_GIVING_BACK + 1)),
    ],
)


@EACH_CALL
def test_another_manager_goes_on_after_one_that_died_at_any_call(world: World, pool: str, number: int) -> None:
    expected = way(world, pool)

    assert dies_at(world, number, lambda: work_once(world))
    with pytest.raises(NotEnoughError):
        world.lease(hosts(2 if pool == "reservation" else 1), start=1, end=2)
    run_for(world, minutes=1)
    check_settled(world, *expected)


@EACH_CALL
def test_a_call_that_takes_effect_late_is_undone(world: World, pool: str, number: int) -> None:
    """A manager is suspended in a call until its claim has expired; meanwhile another one has done everything."""
    expected = way(world, pool)
    assert at_call(world, number, lambda: work_once(world), lambda: run_for(world, minutes=1)) >= number
    run_for(world, minutes=1)
    check_settled(world, *expected)


@pytest.mark.parametrize("number", range(1, CALLS_OF_A_DRAW + 1))
def test_a_call_that_takes_effect_when_the_host_is_leased_already_is_undone(world: World, number: int) -> None:
    way(world, "reservation")
    leases = []

    def meanwhile() -> None:
        run_for(world, minutes=1)
        leases.append(world.active(hosts(2), start=1 / 60, end=5))

    at_call(world, number, lambda: work_once(world), meanwhile)
    run_for(world, minutes=1)
    assert world.cloud.providers.claimed([SHARED]) == frozenset()
    assert all(each.enabled for each in world.cloud.hypervisors.list())
    assert world.holds(leases[0]) == {"cmp-01": 1, SHARED: 1}
    assert {world.boot(leases[0], name=name).service_host for name in "ab"} <= {"cmp-01", SHARED}
    audit_cloud(world)
    assert findings(world) == []


@pytest.mark.parametrize(("pool", "calls"), [("reservation", CALLS_OF_A_DRAW), ("shared", CALLS_OF_GIVING_BACK)])
def test_the_calls_of_a_move_are_counted(world: World, pool: str, calls: int) -> None:
    """So that the tests above try each of them."""
    way(world, pool)
    assert at_call(world, 0, lambda: work_once(world), lambda: None) == calls


# ------------------------------------------------------------ health, survey, metrics


def test_a_shared_host_that_fails_and_recovers_stays_shared(world: World) -> None:
    world.fail(SHARED)
    assert world.host(SHARED).health is Health.FAILED
    world.recover(SHARED)
    found = world.host(SHARED)
    assert (found.health, found.membership, found.reservable, found.admitted) == ("healthy", "shared", False, False)
    check_settled(world, "cmp-01")


def test_what_a_draw_disables_is_not_in_maintenance(world: World) -> None:
    world.cloud.servers.take_to("migrate", 600)
    world.move(SHARED, "reservation")
    run_for(world, seconds=30)
    check_once(world.service)
    assert world.host(SHARED).health is Health.HEALTHY


def test_what_a_shared_host_has_is_read_again(world: World) -> None:
    for _ in range(70):
        Surveyor(world.service).survey()
    assert world.host(SHARED).capacity["VCPU"] > 0


def test_the_gauges_count_shared_hosts_apart(world: World) -> None:
    world.fail(SHARED)
    with world.service.db.reading() as connection:
        gauges = read_state_gauges(connection, world.now()).resources[HOST]
    assert (gauges.healthy, gauges.failed, gauges.disabled, gauges.shared) == (1, 0, 0, 1)


# ------------------------------------------------------------ the audit


def test_a_host_in_the_wrong_place_is_found_and_repaired(world: World) -> None:
    world.cloud.aggregates.add_host("freepool", SHARED)
    world.cloud.hypervisors.disable("cmp-01", DRAWS)
    world.cloud.providers.claim_rest("cmp-01")
    found = findings(world)
    whats = " ".join(each.what for each in found)
    assert "is shared and in the free pool" in whats
    assert "still disabled for a draw" in whats
    assert "still claimed" in whats
    assert all(repair(world.service, each) for each in found)
    run_manager(world)
    check_settled(world, "cmp-01")


@pytest.mark.parametrize("membership", ["drawing", "giving_back"])
def test_a_move_that_nobody_works_on_is_found_and_repaired(world: World, membership: str) -> None:
    mine = resources.c.id == world.hosts[SHARED].id
    world.execute(update(resources).where(mine).values(membership=membership, membership_since=world.now()))
    world.execute(update(tasks).where(tasks.c.subject == world.hosts[SHARED].id).values(due_at=None))
    (finding,) = findings(world)
    assert "nobody works on it" in finding.what
    assert repair(world.service, finding)
    run_for(world, seconds=30)
    check_settled(world, "cmp-01", *([SHARED] if membership == "drawing" else []))


def test_a_drawn_host_that_is_not_in_the_free_pool_is_put_there(world: World) -> None:
    world.move(SHARED, "reservation")
    run_for(world, seconds=30)
    world.cloud.aggregates.remove_host("freepool", SHARED)
    (finding,) = findings(world)
    assert repair(world.service, finding)
    run_manager(world)
    check_settled(world, "cmp-01", SHARED)
