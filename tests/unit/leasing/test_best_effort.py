"""Feature A4: a best-effort lease gets hosts that are drawn from the shared ones for it (decision 0060)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import update

from leasehold.cloud.observing import Observation
from leasehold.cloud.sandbox.tables import servers
from leasehold.db.store import Database
from leasehold.db.tables import leases, resources, tasks
from leasehold.features.audit.repair import repair
from leasehold.leasing.resources import resource
from leasehold.leasing.resources.enrol import enrol
from leasehold.leasing.resources.pool_size import planned
from leasehold.model.errors import (
    CloudUnavailableError,
    InUseError,
    InvalidDateError,
    InvalidInputError,
    NotEnoughError,
)
from leasehold.model.finding import FindingKind
from leasehold.model.placing.pool_size import Size
from leasehold.model.resource import HOST
from leasehold.model.terms.lease_type import LeaseType
from tests.factory import (
    ALT,
    AT_ONCE,
    START,
    at_call,
    dies_at,
    floating_ips,
    hosts,
    instances,
    make_service,
    run_for,
    run_manager,
    work_once,
)
from tests.stateful.audit import audit, audit_cloud, dump
from tests.unit.leasing.looking import findings, in_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from leasehold.cloud.ports import Cloud
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

FULL, EMPTY, SPARE = "cmp-09", "cmp-02", "cmp-06"
"""Three shared hosts: the first one has servers, and the last one is not in the rack that is asked for."""
RACK = {"rack": "x"}
CALLS = 50
"""How many calls to the cloud it takes from the request for three hosts to the active lease."""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Yield a service with a host in the reservation pool, and three shared ones, of which one has three servers."""
    with make_service(tmp_path) as made:
        made.enrol("cmp-01", **RACK)
        for number in range(3):
            assert boot(made, f"theirs-{number}") == FULL
        for name, properties in ((FULL, RACK), (EMPTY, RACK), (SPARE, {})):
            enrol(made.service, HOST, {"name": name, "pool": "shared"}, properties)
        run_manager(made)
        yield made


def boot(world: World, name: str) -> str | None:
    """Boot a server that needs no reservation, and return its host."""
    return world.cloud.servers.boot(name, "alt", "m1.small").service_host


def racked(number: int) -> dict[str, Any]:
    """Return a request for hosts of the rack."""
    return hosts(number, resource_properties='["==", "$rack", "x"]')


def effort(world: World, *parts: Any, **more: Any) -> Lease:
    return world.lease(*parts, type=LeaseType.BEST_EFFORT, **{"end": 4, **more})


def pools(world: World) -> dict[str, str]:
    return {each.label: str(each.membership) for each in world.listed()}


def held(world: World) -> dict[str, str]:
    return {each.label: each.held_for for each in world.listed() if each.held_for is not None}


def check_as_before(world: World, *pooled: str) -> None:
    """Check that nothing is held, that exactly these hosts are in the reservation pool, and that all agrees."""
    assert held(world) == {}
    assert {label for label, pool in pools(world).items() if pool == "reservation"} == set(pooled)
    assert {label for label, pool in pools(world).items() if pool != "reservation"} == {
        label for label, pool in pools(world).items() if pool == "shared"
    }
    assert all(each.enabled for each in world.cloud.hypervisors.list())
    assert not world.cloud.providers.claimed([each.label for each in world.listed()])
    audit(world)
    audit_cloud(world)
    assert findings(world) == []


# ------------------------------------------------------------ granted


def test_what_fits_is_granted_like_any_other(world: World) -> None:
    lease = effort(world, hosts(1))
    assert (lease.status, held(world)) == ("PENDING", {})
    run_manager(world)
    assert world.status(lease) == "ACTIVE"
    check_as_before(world, "cmp-01")


def test_hosts_are_drawn_held_and_leased(world: World) -> None:
    world.cloud.servers.take_to("migrate", 60)
    before = world.servers()
    lease = effort(world, racked(3))
    assert (lease.status, lease.status_reason) == ("IN_PROGRESS", "Shared hosts are drawn for it: 2.")
    assert pools(world) == {"cmp-01": "reservation", FULL: "drawing", EMPTY: "drawing", SPARE: "shared"}
    assert held(world) == dict.fromkeys(("cmp-01", FULL, EMPTY), lease.id)
    run_for(world, seconds=30)
    assert (world.status(lease), pools(world)[EMPTY]) == ("IN_PROGRESS", "reservation")
    run_for(world, seconds=90)
    assert (world.status(lease), set(world.holds(lease))) == ("ACTIVE", {"cmp-01", FULL, EMPTY})
    assert world.get(lease).window.duration == timedelta(hours=4)
    assert (world.servers(), world.cloud.servers.on_host(FULL)) == (before, [])
    check_as_before(world, "cmp-01", FULL, EMPTY)
    assert [kind for kind, _ in world.told(lease)][:2] == ["lease.create", "lease.waiting"]
    assert "lease.granted" in [kind for kind, _ in world.told(lease)]


def test_as_few_servers_as_possible_move(world: World) -> None:
    lease = effort(world, racked(2))
    assert pools(world) == {"cmp-01": "reservation", FULL: "shared", EMPTY: "drawing", SPARE: "shared"}
    run_for(world, seconds=30)
    assert (world.status(lease), set(world.holds(lease))) == ("ACTIVE", {"cmp-01", EMPTY})
    assert len(world.cloud.servers.on_host(FULL)) == 3
    check_as_before(world, "cmp-01", EMPTY)


def test_a_host_that_becomes_free_is_taken_instead_of_the_drawn_ones(world: World) -> None:
    first = world.lease(hosts(1), end=8)
    world.cloud.servers.take_to("migrate", 600)
    lease = effort(world, racked(2), end=2)
    assert pools(world)[FULL] == pools(world)[EMPTY] == "drawing"
    run_for(world, seconds=30)
    world.delete(first)
    run_for(world, seconds=30)
    # With the host that was empty already.
    assert (world.status(lease), set(world.holds(lease))) == ("ACTIVE", {"cmp-01", EMPTY})
    run_for(world, minutes=15)
    check_as_before(world, "cmp-01", EMPTY)


def test_other_reservations_are_decided_as_usual(world: World) -> None:
    world.enrol_addresses(200)
    lease = effort(world, racked(2), floating_ips(1))
    assert lease.status == "IN_PROGRESS"
    with pytest.raises(NotEnoughError):
        world.lease(floating_ips(1), caller=ALT, end=1)
    run_for(world, seconds=30)
    assert (world.status(lease), len(world.holds(lease, 1))) == ("ACTIVE", 1)


# ------------------------------------------------------------ refused


def refused(world: World, *parts: Any, **more: Any) -> str:
    """Ask in vain, check that nothing was stored or changed, and return the sentence."""
    before, said = dump(world.engine), []

    def ask(cloud: Cloud) -> None:
        with pytest.raises(NotEnoughError) as error:
            effort(replace(world, service=replace(world.service, cloud=cloud)), *parts, **more)
        said.append(error.value.message)

    assert Observation(world.cloud).changes(ask) == ()
    assert dump(world.engine) == before
    return said[0]


def test_too_few_candidates_are_a_refusal(world: World) -> None:
    assert refused(world, racked(4)).endswith("Drawing shared hosts would not be enough either.")
    assert "4 asked, 1 free" in refused(world, racked(4))


def test_only_whole_hosts_are_drawn(world: World) -> None:
    world.lease(hosts(1), end=9)
    assert "physical:host" in refused(world, instances(1))


def test_servers_that_fit_nowhere_else_are_a_refusal(world: World) -> None:
    assert [boot(world, name) for name in "ab"] == [FULL, FULL]
    assert refused(world, racked(3)).endswith("because their servers do not fit on the others.")
    # The empty one is enough, and keeps the others as they are.
    assert effort(world, racked(2)).status == "IN_PROGRESS"


def test_the_servers_of_hosts_that_are_drawn_already_need_room_too(world: World) -> None:
    assert [boot(world, name) for name in "ab"] == [FULL, FULL]
    world.move(FULL, "reservation")
    assert "do not fit" in refused(world, racked(2))


@pytest.mark.parametrize("status", ["SHUTOFF", "ERROR"])
def test_a_server_that_cannot_be_moved_keeps_its_host_shared(world: World, status: str) -> None:
    victim = world.cloud.servers.on_host(FULL)[0]
    world.execute(update(servers).where(servers.c.id == victim.id).values(status=status))
    assert "do not fit" in refused(world, racked(3))


def test_nothing_is_drawn_beyond_the_ceiling(world: World) -> None:
    manager = replace(AT_ONCE.manager, pool_sizes={HOST: Size(0, 2, timedelta(hours=1))})
    bounded = world.with_settings(manager=manager)
    assert "beyond 2 hosts" in refused(bounded, racked(3))
    assert effort(bounded, racked(2)).status == "IN_PROGRESS"


@pytest.mark.parametrize("call", ["servers.on_hosts", "providers.inventories"])
def test_a_cloud_that_does_not_answer_is_said_so(world: World, call: str) -> None:
    world.break_down(call)
    before = dump(world.engine)
    with pytest.raises(CloudUnavailableError, match=r"Try again later\.$") as caught:
        effort(world, racked(3))
    # Members do not learn which host is which.
    assert call not in str(caught.value)
    world.cloud.faults.clear()
    assert dump(world.engine) == before


def test_the_fields_of_other_types_are_refused(world: World) -> None:
    with pytest.raises(InvalidInputError) as error:
        effort(world, hosts(1), retry_pause=timedelta(minutes=1))
    assert error.value.field == "retry_seconds"
    late = datetime(9998, 12, 31, 23, 30, tzinfo=UTC)
    for kind, part in ((LeaseType.BEST_EFFORT, racked(3)), (LeaseType.WAITLIST, hosts(1))):
        with pytest.raises(InvalidDateError, match="would end after 9998") as caught:
            world.lease(part, end=1, type=kind, deadline=late)
        assert caught.value.field == "deadline"


# ------------------------------------------------------------ in vain


def test_slow_servers_are_a_timeout_and_the_hosts_go_back(world: World) -> None:
    world.cloud.servers.take_to("migrate", 7200)
    lease = effort(world, racked(3), deadline=world.hour(0.25))
    run_for(world, minutes=14)
    assert (world.status(lease), pools(world)[FULL], pools(world)[EMPTY]) == ("IN_PROGRESS", "drawing", "reservation")
    run_for(world, minutes=2)
    assert world.status(lease) == "TIMEDOUT"
    assert world.reason(lease).startswith("Not granted. The hosts that were drawn for it were not empty")
    assert world.told(lease)[-1] == ("lease.timedout", "TIMEDOUT")
    run_for(world, hours=3)
    check_as_before(world, "cmp-01")


def test_a_draw_that_fails_ends_it_and_the_hosts_go_back(world: World) -> None:
    world.refuse("servers.migrate")
    lease = effort(world, racked(3), deadline=world.hour(3))
    run_for(world, minutes=10)
    assert (world.status(lease), world.reason(lease)) == (
        "TIMEDOUT",
        "Not granted. A shared host could not be drawn for it.",
    )
    world.cloud.faults.clear()
    check_as_before(world, "cmp-01")
    # Its servers are left in peace for an hour.
    assert "not be enough" in refused(world, racked(3), start=0.5)


def test_without_a_deadline_it_has_the_time_of_a_draw(world: World) -> None:
    world.cloud.servers.take_to("migrate", 7200)
    lease = effort(world, racked(3))
    assert lease.waiting is not None
    assert lease.waiting.deadline == world.hour(0.5)
    run_for(world, minutes=31)
    assert world.status(lease) == "TIMEDOUT"
    run_for(world, hours=3)
    check_as_before(world, "cmp-01")


def test_a_deleted_lease_lets_all_go(world: World) -> None:
    world.cloud.servers.take_to("migrate", 600)
    lease = effort(world, racked(3))
    run_for(world, seconds=30)
    world.delete(lease)
    assert (world.exists(lease), held(world)) == (False, {})
    run_for(world, minutes=15)
    check_as_before(world, "cmp-01")


@pytest.mark.parametrize("number", range(1, CALLS + 1, 3))
def test_a_lease_that_is_deleted_at_any_call_leaves_all_as_it_was(world: World, number: int) -> None:
    """Whoever deletes it does so in the middle of a step of the draws, or of the start."""
    before, lease = world.servers(), effort(world, racked(3))
    assert at_call(world, number, lambda: run_for(world, minutes=1), lambda: world.delete(lease)) >= number
    run_for(world, minutes=15)
    assert (world.exists(lease), world.servers()) == (False, before)
    # Who is granted already has what was drawn, which stays in the reservation pool as that of any lease.
    pooled = {label for label, pool in pools(world).items() if pool == "reservation"}
    assert pooled in ({"cmp-01"}, {"cmp-01", FULL, EMPTY})
    check_as_before(world, *pooled)


def test_a_host_that_fails_after_its_draw_ends_it(world: World) -> None:
    world.cloud.servers.take_to("migrate", 600)
    lease = effort(world, racked(3))
    run_for(world, seconds=30)
    world.fail(EMPTY)
    run_for(world, minutes=11)
    assert world.status(lease) == "TIMEDOUT"
    assert "Not enough hosts" in world.reason(lease)
    world.recover(EMPTY)
    run_for(world, minutes=5)
    check_as_before(world, "cmp-01")


# ------------------------------------------------------------ others meanwhile


def test_nobody_else_gets_what_is_held(world: World) -> None:
    world.cloud.servers.take_to("migrate", 600)
    lease = effort(world, racked(3))
    run_for(world, seconds=30)
    for asked in (hosts(1), instances(1)):
        with pytest.raises(NotEnoughError):
            world.lease(asked, caller=ALT, start=10, end=11)
    waits = world.lease(hosts(1), caller=ALT, type=LeaseType.WAITLIST, deadline=world.hour(2), end=1)
    run_for(world, seconds=30)
    assert (world.status(waits), held(world)[EMPTY]) == ("IN_PROGRESS", lease.id)
    run_for(world, minutes=15)
    assert (world.status(lease), world.status(waits)) == ("ACTIVE", "IN_PROGRESS")


def test_two_best_effort_leases_never_share_a_host(world: World) -> None:
    world.cloud.servers.take_to("migrate", 60)
    first = effort(world, racked(2))
    with pytest.raises(NotEnoughError):
        effort(world, racked(2), caller=ALT)
    run_for(world, minutes=3)
    assert (world.status(first), set(world.holds(first))) == ("ACTIVE", {"cmp-01", EMPTY})


def test_an_operator_is_told_who_has_a_held_host(world: World) -> None:
    world.cloud.servers.take_to("migrate", 600)
    lease = effort(world, racked(3))
    for label, pool in ((FULL, "shared"), ("cmp-01", "shared")):
        with pytest.raises(InUseError, match=lease.id):
            world.move(label, pool)
    with pytest.raises(InUseError, match=lease.id):
        resource.remove(world.service, HOST, world.host(FULL).id)
    assert held(world).keys() == {"cmp-01", FULL, EMPTY}
    # What it asks for is the case already.
    assert world.move(FULL, "reservation").held_for == lease.id


def test_a_pool_that_follows_the_leases_leaves_held_hosts_alone(world: World) -> None:
    manager = replace(AT_ONCE.manager, pool_sizes={HOST: Size(0, None, timedelta(0))})
    sized = world.with_settings(manager=manager)
    sized.cloud.servers.take_to("migrate", 600)
    effort(sized, racked(3))
    run_for(sized, seconds=30)
    (found,) = planned(sized.service)
    assert (found.draw, found.give_back) == ((), ())
    assert "Leases that wait: 0" in found.why[0]


def test_the_dates_of_one_that_waits_may_change(world: World) -> None:
    world.cloud.servers.take_to("migrate", 60)
    lease = effort(world, racked(3))
    world.amend(lease, end=6)
    run_for(world, minutes=3)
    assert (world.status(lease), world.get(lease).window.duration) == ("ACTIVE", timedelta(hours=6))


# ------------------------------------------------------------ restarts


@pytest.mark.parametrize("number", range(1, CALLS + 1))
def test_a_manager_that_dies_at_any_call_is_followed_by_one_that_goes_on(world: World, number: int) -> None:
    lease = effort(world, racked(3))

    assert dies_at(world, number, lambda: run_for(world, minutes=1))
    run_for(world, minutes=5)
    assert (world.status(lease), len(world.holds(lease))) == ("ACTIVE", 3)
    check_as_before(world, "cmp-01", FULL, EMPTY)


def test_the_calls_are_counted(world: World) -> None:
    """So that the test above tries each of them."""
    effort(world, racked(3))
    assert at_call(world, 0, lambda: run_for(world, minutes=1), lambda: None) == CALLS


@dataclass(frozen=True)
class Between(Database):
    """Calls what is in `during`, once, after the first transaction that is rolled back."""

    during: list[Callable[[], None]] = field(default_factory=list)

    def transact(self, work: Callable[[Connection], Any]) -> Any:
        try:
            return super().transact(work)
        except Exception:
            while self.during:
                self.during.pop()()
            raise


def test_a_draw_that_ends_after_the_refusal_of_a_try_is_not_in_vain(world: World) -> None:
    """The try has seen a host that was not there yet; when its refusal is written, all are there."""
    world.cloud.servers.take_to("migrate", 60)
    lease = effort(world, racked(3))
    run_for(world, seconds=59)
    world.execute(update(tasks).where(tasks.c.subject == lease.id).values(due_at=START))
    between = Between(world.engine, during=[lambda: run_for(world, seconds=20)])
    slow = replace(world, service=replace(world.service, db=between))
    work_once(slow)
    assert pools(world)[FULL] == "reservation"
    run_for(world, seconds=5)
    assert world.status(lease) == "ACTIVE"


@pytest.mark.parametrize("over", ["gone", "over", "never"])
def test_a_hold_without_a_lease_that_waits_is_found_and_repaired(world: World, over: str) -> None:
    world.cloud.servers.take_to("migrate", 600)
    lease = effort(world, racked(3))
    run_for(world, seconds=30)
    changes: dict[str, Any] = {} if over == "never" else {"status": "TERMINATED"}
    if over == "gone":
        changes["deleted_at"] = world.now()
    if changes:
        world.execute(update(leases).where(leases.c.id == lease.id).values(**changes))
    else:
        world.execute(update(resources).where(resources.c.held_for == lease.id).values(held_for="nobody"))
    found = [each for each in in_database(world) if each.kind is FindingKind.HOLD]
    assert len(found) == 3
    assert all(repair(world.service, each) for each in found)
    assert held(world) == {}
    run_for(world, minutes=15)
    assert [each for each in in_database(world) if each.kind is FindingKind.HOLD] == []
