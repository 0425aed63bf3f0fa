"""Feature I4: a lease lends hosts to another project inside its own window, and has them again afterwards."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.db.past.record import SegmentFilter, each_segment
from leasehold.features.lending.lend import lend
from leasehold.features.lending.lendable import lendable
from leasehold.features.lending.model import LendWish, NotLendableError, SubLeaseFixedError, SubLeaseLevelError
from leasehold.leasing.create import create_lease
from leasehold.leasing.swap import swap_resource
from leasehold.model.caller import Caller
from leasehold.model.draft import LeaseDraft, Once, SwapWish
from leasehold.model.errors import (
    ExternallyDeniedError,
    InUseError,
    InvalidDateError,
    InvalidInputError,
    LeaseholdError,
    LendingError,
    NotEnoughError,
    NotFoundError,
    StaleError,
    SwapUnfinishedError,
    TooManyLeasesError,
    TooMuchHeldError,
)
from leasehold.model.terms.heal_policy import HealPolicy
from leasehold.model.windows import OPEN_END
from tests.approver import approving, deny
from tests.factory import (
    ALT,
    DEMO,
    at_call,
    dies_at,
    floating_ips,
    hosts,
    next_moment_of_work,
    run_for,
    run_manager,
    run_until,
    work_once,
)
from tests.refused import refused
from tests.selection import part_of_product
from tests.stateful.audit import audit, audit_cloud
from tests.unit.leasing.looking import findings
from tests.unit.leasing.test_host_interleaved import before_commit

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.cloud.ports import Server
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow

CMP_01 = '["==", "$hypervisor_hostname", "cmp-01"]'
EVERYBODY = {"cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03"}
"""All enrolled hosts."""


def lent(world: World, end: float | None = 2) -> tuple[Lease, Lease]:
    """Return an active lease of cmp-01 and cmp-02 up to hour 4, and a sub-lease that has started with cmp-01."""
    lease = world.active(hosts(2), end=4)
    world.clock.advance(minutes=1)
    child = world.lend(lease, "cmp-01", end=end)
    run_for(world, minutes=1)
    assert world.status(child) == "ACTIVE"
    return lease, child


def on(world: World, lease: Lease, project: str = "alt") -> Server:
    """Boot a server of a project in a lease."""
    return world.cloud.servers.boot("server", project, "m1.small", [lease.reservations[0].id])


def check(world: World) -> None:
    """The database and the cloud agree, and no work is left."""
    audit(world)
    assert findings(world) == []
    audit_cloud(world)


def members(world: World, lease: Lease) -> set[str]:
    return world.members(lease.reservations[0].id)


def causes(world: World, lease: Lease) -> list[tuple[str, str | None, str | None]]:
    """Return each segment of the record: the host, and why it began and ended."""
    with world.service.db.reading() as connection:
        found = list(each_segment(connection, SegmentFilter(lease_id=lease.id), world.now()))
    return [(each.label, each.start_cause, each.end_cause) for each in found]


def taken(world: World) -> bool:
    """Say whether nobody gets cmp-01 at any time before hour 4."""
    for start in (world.now(), world.hour(1.5), world.hour(2), world.hour(3.9)):
        hours = (max(start, world.now()) - world.hour(0)).total_seconds() / 3600
        try:
            world.lease(hosts(resource_properties=CMP_01), start=hours, end=4, caller=ALT)
        except NotEnoughError:
            continue
        return False
    return True


def test_a_host_is_lent_and_comes_back(world: World) -> None:
    lease, child = lent(world)
    assert (child.project_id, child.window.end, child.lent and child.lent.lease_id) == ("alt", world.hour(2), lease.id)
    assert (world.holds(lease), world.holds(child)) == ({"cmp-02": 1}, {"cmp-01": 1})
    assert (members(world, lease), members(world, child)) == ({"cmp-02"}, {"cmp-01"})
    assert (world.get(lease).degraded, world.part(lease).missing_resources) == (False, False)
    server = on(world, child)
    assert server.service_host == "cmp-01"
    assert taken(world)
    check(world)
    run_until(world, world.hour(2.1))
    assert (world.status(child), world.holds(lease)) == ("TERMINATED", {"cmp-01": 1, "cmp-02": 1})
    assert members(world, lease) == {"cmp-01", "cmp-02"}
    assert world.servers() == set()
    assert on(world, lease, "demo").service_host == "cmp-01"
    assert [kind for kind, _ in world.told(lease)][-3:] == ["lease.lent", "lease.released", "lease.returned"]
    assert sorted(causes(world, lease), key=str) == [
        ("cmp-01", "granted", "lent"),
        ("cmp-01", "returned", None),
        ("cmp-02", "granted", None),
    ]
    assert causes(world, child) == [("cmp-01", "granted", "ended")]
    assert taken(world)
    check(world)
    run_until(world, world.hour(4.1))
    assert world.members("freepool") == EVERYBODY
    check(world)


def test_all_of_a_lease_is_lent_to_its_end(world: World) -> None:
    lease = world.active(hosts(2), end=4)
    child = world.lend(lease, amount=2)
    run_for(world, minutes=1)
    assert (world.status(child), child.window.end, members(world, lease)) == ("ACTIVE", world.hour(4), set())
    on(world, child)
    check(world)
    run_until(world, world.hour(4.1))
    assert (world.status(child), world.status(lease)) == ("TERMINATED", "TERMINATED")
    assert (world.servers(), world.members("freepool")) == (set(), EVERYBODY)
    check(world)


def test_two_sub_leases_of_one_lease_end_by_themselves(world: World) -> None:
    lease = world.active(hosts(3), end=4)
    first, second = world.lend(lease, amount=1, end=1), world.lend(lease, amount=1, end=3, to="third")
    run_for(world, minutes=1)
    assert (world.status(first), world.status(second)) == ("ACTIVE", "ACTIVE")
    run_until(world, world.hour(1.1))
    assert (len(world.holds(lease)), world.status(second)) == (2, "ACTIVE")
    again = world.lend(lease, amount=2, end=2)
    run_until(world, world.hour(1.2))
    assert (world.status(again), len(world.holds(again)), world.holds(lease)) == ("ACTIVE", 2, {})
    check(world)
    run_until(world, world.hour(3.1))
    assert len(world.holds(lease)) == 3
    check(world)


# ------------------------------------------------------------ servers of the lender


def test_a_host_with_servers_is_not_lent(world: World) -> None:
    lease = world.active(hosts(2), end=4)
    server = world.boot(lease)
    assert server.service_host == "cmp-01"
    error = refused(world, InUseError, lambda: world.lend(lease, "cmp-01"))
    assert (error.field, error.details) == ("hosts", {"servers": [server.id], "unused": 0})
    error = refused(world, InUseError, lambda: world.lend(lease, amount=2))
    assert (error.field, error.details["unused"]) == ("amount", 1)
    assert world.holds(world.lend(lease, amount=1)) == {"cmp-02": 1}


def during_the_lending(world: World, work: Callable[[], Any]) -> World:
    """Return the world with a database that runs `work` just before the transaction of the next request."""
    return before_commit(world, work)


def test_a_server_that_comes_while_the_host_is_lent_stays_and_the_sub_lease_waits(world: World) -> None:
    lease = world.active(hosts(1), end=4)
    came: list[Server] = []
    child = during_the_lending(world, lambda: came.append(world.boot(lease))).lend(lease, "cmp-01", end=2)
    (server,) = came
    run_for(world, minutes=5)
    assert (world.status(child), "cmp-01" in world.reason(child)) == ("PENDING", True)
    assert (members(world, lease), members(world, child)) == ({"cmp-01"}, set())
    assert world.servers() == {server.id}
    audit(world)
    assert taken(world)
    world.cloud.servers.delete(server.id)
    run_for(world, minutes=5)
    assert (world.status(child), members(world, child)) == ("ACTIVE", {"cmp-01"})
    check(world)


def test_no_more_is_lent_while_a_server_is_left_on_what_was_lent_before(world: World) -> None:
    lease = world.active(hosts(2), end=4)
    during_the_lending(world, lambda: world.boot(lease)).lend(lease, "cmp-01", end=2)
    run_for(world, minutes=1)
    refused(world, SwapUnfinishedError, lambda: world.lend(lease, amount=1))


@pytest.mark.parametrize("way", ["delete", "end", "now"])
def test_a_sub_lease_that_never_came_deletes_no_server_of_its_lender(world: World, way: str) -> None:
    lease = world.active(hosts(2), end=4)
    came: list[Server] = []
    child = during_the_lending(world, lambda: came.append(world.boot(lease))).lend(lease, "cmp-01", "cmp-02", end=2)
    run_for(world, minutes=5)
    assert (world.status(child), world.holds(lease)) == ("PENDING", {})
    if way == "delete":
        world.delete(child)
        run_for(world, minutes=5)
        assert not world.exists(child)
    elif way == "now":
        world.amend(child, end=5 / 60)
        run_for(world, minutes=5)
        assert world.status(child) in ("ERROR", "TERMINATED")
    else:
        run_until(world, world.hour(2.1))
        assert world.status(child) == "ERROR"
    assert world.servers() == {came[0].id}
    assert (world.holds(lease), members(world, lease)) == ({"cmp-01": 1, "cmp-02": 1}, {"cmp-01", "cmp-02"})
    assert {on(world, lease, "demo").service_host, on(world, lease, "demo").service_host} <= {"cmp-01", "cmp-02"}
    check(world)
    run_until(world, world.hour(4.2))
    assert (world.servers(), world.members("freepool")) == (set(), EVERYBODY)
    check(world)


def test_the_end_of_the_lender_ends_a_sub_lease_that_never_came(world: World) -> None:
    lease = world.active(hosts(1), end=4)
    child = during_the_lending(world, lambda: world.boot(lease)).lend(lease, "cmp-01")
    run_until(world, world.hour(4.2))
    assert (world.status(child), world.status(lease)) == ("ERROR", "TERMINATED")
    assert (world.servers(), world.members("freepool")) == (set(), EVERYBODY)
    check(world)


# ------------------------------------------------------------ ends


def test_the_deletion_of_a_sub_lease_gives_its_hosts_back_and_nobody_gets_them_meanwhile(world: World) -> None:
    lease, child = lent(world)
    on(world, child)
    world.break_down("servers.delete")
    world.delete(child)
    run_for(world, minutes=2)
    assert (world.status(child), world.holds(lease)) == ("DELETING", {"cmp-02": 1})
    assert taken(world)
    audit(world)
    world.cloud.faults.clear()
    run_for(world, minutes=5)
    assert not world.exists(child)
    assert (world.holds(lease), world.servers()) == ({"cmp-01": 1, "cmp-02": 1}, set())
    check(world)


@pytest.mark.parametrize("state", ["started", "waits"])
def test_the_deletion_of_the_lender_deletes_its_sub_leases(world: World, state: str) -> None:
    if state == "started":
        lease, child = lent(world)
        on(world, child)
    else:
        lease = world.active(hosts(2), end=4)
        child = world.lend(lease, "cmp-01", end=2)
    mine = world.boot(lease)
    begun = (world.now() - world.hour(0)).total_seconds() / 3600
    other = world.active(hosts(1), start=begun, end=4)
    kept = world.boot(other)
    world.delete(lease)
    run_for(world, minutes=5)
    assert not world.exists(lease)
    assert not world.exists(child)
    assert world.servers() == {kept.id}
    assert mine.id not in world.servers()
    assert world.members("freepool") == EVERYBODY - members(world, other)
    check(world)
    assert world.lease(hosts(resource_properties=CMP_01), start=1, end=4, caller=ALT)


def test_the_lender_is_deleted_while_a_sub_lease_is_being_deleted(world: World) -> None:
    lease, child = lent(world)
    on(world, child)
    world.break_down("servers.delete")
    world.delete(child)
    run_for(world, minutes=1)
    world.delete(lease)
    run_for(world, minutes=1)
    audit(world)
    world.cloud.faults.clear()
    run_for(world, minutes=5)
    assert (world.exists(lease), world.exists(child), world.members("freepool")) == (False, False, EVERYBODY)
    check(world)


def test_an_end_that_fails_beyond_the_lenders_end_keeps_the_host_closed(world: World) -> None:
    lease, child = lent(world, end=None)
    on(world, child)
    world.break_down("servers.delete")
    run_until(world, world.hour(4.2))
    assert world.status(lease) == "TERMINATED"
    following = world.lease(hosts(resource_properties=CMP_01), start=4.3, end=5, caller=DEMO)
    run_until(world, world.hour(4.4))
    assert world.status(following) == "PENDING"
    assert members(world, child) == {"cmp-01"}
    world.cloud.faults.clear()
    run_for(world, minutes=10)
    assert (world.status(child), world.status(following)) == ("TERMINATED", "ACTIVE")
    check(world)


def test_an_end_that_takes_longer_than_the_lender_lasts_frees_the_host(world: World) -> None:
    lease, child = lent(world, end=3.9)
    on(world, child)
    world.break_down("servers.delete")
    run_until(world, world.hour(4.2))
    assert world.status(lease) == "TERMINATED"
    world.cloud.faults.clear()
    run_for(world, minutes=10)
    assert (world.status(child), world.members("freepool")) == ("TERMINATED", EVERYBODY)
    check(world)


# ------------------------------------------------------------ one level, and what is fixed


def test_there_is_one_level(world: World) -> None:
    _, child = lent(world)
    refused(world, SubLeaseLevelError, lambda: world.lend(child, amount=1, to="third"))


def test_what_is_lent_has_to_be_there_and_to_be_whole(world: World) -> None:
    coming = world.lease(hosts(1), start=1, end=2)
    refused(world, NotLendableError, lambda: world.lend(coming, amount=1))
    slots = world.active(floating_ips(1))
    refused(world, NotLendableError, lambda: world.lend(slots, amount=1))
    lease = world.active(hosts(1), hosts(1), end=4)
    assert refused(world, InvalidInputError, lambda: world.lend(lease, amount=1)).field == "reservation_id"
    lease = world.active(hosts(1), end=4)
    assert refused(world, InvalidInputError, lambda: world.lend(lease, "cmp-99")).field == "hosts"
    assert refused(world, NotLendableError, lambda: world.lend(lease, amount=2)).field == "amount"
    assert refused(world, InvalidInputError, lambda: world.lend(lease, amount=1, to="demo")).field == "project_id"
    for end in (4.5, 0, -1):
        error = refused(world, InvalidDateError, partial(world.lend, lease, amount=1, end=end))
        assert error.field == "end_date"
    gone = world.active(hosts(1), end=4)
    world.delete(gone)
    run_for(world, minutes=1)
    with pytest.raises(NotFoundError):
        world.lend(gone, amount=1)


def test_hosts_whose_servers_live_on_are_not_lent(world: World) -> None:
    lease = world.active(hosts(1, on_end="recycle", recycle_seconds=3600), end=2)
    assert refused(world, NotLendableError, lambda: world.lend(lease, amount=1)).field == "reservation_id"


def test_a_lease_that_is_ready_before_its_start_lends_from_then_on(world: World) -> None:
    settings = replace(world.service.settings.leases, lead_time_by_type={"physical:host": timedelta(minutes=30)})
    world = world.with_settings(leases=settings)
    lease = world.lease(hosts(1), start=1, end=4)
    run_until(world, world.hour(0.9))
    assert world.status(lease) == "ACTIVE"
    refused(world, NotLendableError, lambda: world.lend(lease, amount=1))
    world.clock.set(world.hour(1))
    child = world.lend(lease, amount=1, end=2)
    run_for(world, minutes=1)
    assert world.status(child) == "ACTIVE"


def test_what_was_claimed_of_a_published_offer_is_not_lent(world: World) -> None:
    world.give("demo", "cmp-01")
    claimed = world.claim(world.publish("cmp-01"), end=4)
    run_manager(world)
    assert world.status(claimed) == "ACTIVE"
    refused(world, NotLendableError, lambda: world.lend(claimed, amount=1, to="third"))


def test_a_lease_without_an_end_lends_for_a_time(world: World) -> None:
    settings = replace(world.service.settings.leases, open_ended=timedelta(days=30))
    world = world.with_settings(leases=settings)
    draft = LeaseDraft("l", world.hour(0), OPEN_END, reservations=(hosts(2),), open_ended=True)
    lease = create_lease(world.service, DEMO, draft)
    run_manager(world)
    assert refused(world, InvalidDateError, lambda: world.lend(lease, amount=1)).field == "end_date"
    child = world.lend(lease, amount=1, end=2)
    run_for(world, minutes=1)
    assert (world.status(child), child.window.end) == ("ACTIVE", world.hour(2))
    check(world)
    run_until(world, world.hour(2.1))
    assert (len(world.holds(lease)), world.get(lease).open_ended) == (2, True)
    check(world)


def test_what_may_still_be_a_no_show_is_not_lent(world: World) -> None:
    lease = world.active(hosts(2, no_show_seconds=1800), end=4)
    server = world.boot(lease)
    refused(world, NotLendableError, lambda: world.lend(lease, amount=1))
    world.amend(lease, hosts(2, no_show_seconds=0))
    child = world.lend(lease, amount=1, end=2)
    run_for(world, minutes=50)
    assert (world.status(child), world.servers()) == ("ACTIVE", {server.id})
    check(world)


def test_the_dates_and_reservations_of_a_lender_stay(world: World) -> None:
    lease, child = lent(world)
    changes: list[Callable[[], Any]] = [
        lambda: world.amend(lease, end=5),
        lambda: world.amend(lease, end=3),
        lambda: world.amend(lease, end=0.1),
        lambda: world.amend(lease, hosts(3)),
        lambda: world.amend(lease, hosts(1), shrinks=True),
    ]
    for change in changes:
        error = refused(world, LendingError, change)
        assert error.details == {"sub_leases": [child.id]}
    assert world.amend(lease, name="other").name == "other"
    world.delete(child)
    run_for(world, minutes=5)
    assert world.amend(lease, end=5).window.end == world.hour(5)
    run_for(world, minutes=5)
    assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1}
    check(world)


def test_a_sub_lease_changes_its_name_and_its_end(world: World) -> None:
    lease, child = lent(world)
    before = dict(world.holds(child))
    assert world.amend(child, name="mine").name == "mine"
    for end in (3, 1, 4, 2.5):
        assert world.amend(child, end=end).window.end == world.hour(end)
        run_for(world, minutes=1)
        assert (world.holds(child), world.status(child)) == (before, "ACTIVE")
        assert taken(world)
        check(world)
    changes: list[Callable[[], Any]] = [
        lambda: world.amend(child, end=4.5),
        lambda: world.amend(child, hosts(2)),
        lambda: world.amend(child, heal_policy="replace"),
        lambda: world.heal_now(child),
        lambda: swap_resource(world.service, child.id, SwapWish(resource="cmp-01")),
        lambda: world.amend(child, drops=frozenset({child.reservations[0].id})),
        lambda: world.amend(child, vacates=(child.reservations[0].id, world.host("cmp-01").id)),
    ]
    for change in changes:
        refused(world, SubLeaseFixedError, change)
    world.clock.set(world.hour(1.5))
    world.amend(child, end=1.5)
    run_for(world, minutes=5)
    assert (world.status(child), world.holds(lease)) == ("TERMINATED", {"cmp-01": 1, "cmp-02": 1})
    check(world)


def test_a_sub_lease_that_waits_keeps_its_hosts_and_its_start(world: World) -> None:
    lease = world.active(hosts(1), end=4)
    child = during_the_lending(world, lambda: world.boot(lease)).lend(lease, "cmp-01", end=2)
    run_for(world, minutes=5)
    refused(world, SubLeaseFixedError, lambda: world.amend(child, start=1, end=3))
    assert world.amend(child, end=3).window.end == world.hour(3)
    assert world.holds(child) == {"cmp-01": 1}
    audit(world)


def test_a_stale_request_lends_nothing(world: World) -> None:
    lease = world.active(hosts(1), end=4)
    wish = LendWish("lent", "alt", amount=1)
    refused(world, StaleError, lambda: lend(world.service, DEMO, lease.id, wish, lease.generation))


# ------------------------------------------------------------ what else may change the hosts


def test_a_failed_host_of_a_sub_lease_is_not_replaced_until_it_is_the_lenders_again(world: World) -> None:
    lease, child = lent(world)
    server = on(world, child)
    world.fail("cmp-01")
    world.heal()
    run_for(world, minutes=5)
    assert (world.holds(child), world.get(child).degraded, world.get(lease).degraded) == ({"cmp-01": 1}, True, False)
    assert world.servers() == {server.id}
    audit(world)
    run_until(world, world.hour(2.1))
    world.recover("cmp-02")
    run_for(world, minutes=5)
    assert world.status(child) == "TERMINATED"
    assert len(world.holds(lease)) == 2
    assert "cmp-01" not in world.holds(lease)
    assert world.get(lease).degraded
    audit(world)
    world.recover("cmp-01")
    run_for(world, minutes=5)
    check(world)


def test_healing_of_the_lender_leaves_alone_what_it_has_lent(world: World) -> None:
    lease, child = lent(world)
    world.fail("cmp-02")
    run_for(world, minutes=5)
    assert (world.holds(lease), world.holds(child)) == ({"cmp-06": 1}, {"cmp-01": 1})
    audit(world)
    run_until(world, world.hour(2.1))
    assert world.holds(lease) == {"cmp-06": 1, "cmp-01": 1}
    world.fail("cmp-06")
    run_for(world, minutes=5)
    assert (len(world.holds(lease)), world.holds(lease).get("cmp-01")) == (2, 1)
    audit(world)


def test_a_swap_of_the_lender_leaves_alone_what_it_has_lent(world: World) -> None:
    lease, child = lent(world)
    world.swap(lease, host="cmp-02")
    run_for(world, minutes=5)
    assert (world.holds(lease), world.holds(child)) == ({"cmp-06": 1}, {"cmp-01": 1})
    run_until(world, world.hour(2.1))
    assert world.holds(lease) == {"cmp-01": 1, "cmp-06": 1}
    check(world)


def test_a_maintenance_window_does_not_move_a_sub_lease(world: World) -> None:
    lease = world.active(hosts(1), end=4)
    child = during_the_lending(world, lambda: world.boot(lease)).lend(lease, "cmp-01", end=2)
    world.maintain("cmp-01", start=1, end=1.5, on_conflict="warn")
    run_for(world, minutes=5)
    assert (world.holds(child), world.status(child)) == ({"cmp-01": 1}, "PENDING")
    audit(world)


@pytest.mark.parametrize(
    ("start", "end", "told"), [(1, 1.5, {"child"}), (1, 3, {"child", "lender"}), (2.5, 3, {"lender"})]
)
def test_who_misses_a_host_in_a_maintenance_window_is_told(
    world: World, start: float, end: float, told: set[str]
) -> None:
    lease, child = lent(world)
    world.maintain("cmp-01", start=start, end=end, on_conflict="warn")
    names = {"child": child, "lender": lease}
    kinds = {name: [kind for kind, _ in world.told(each)] for name, each in names.items()}
    assert {name for name, found in kinds.items() if "lease.maintenance" in found} == told


def test_a_request_that_needs_the_host_does_not_move_a_sub_lease(world: World) -> None:
    lease = world.active(hosts(1), end=4)
    child = during_the_lending(world, lambda: world.boot(lease)).lend(lease, "cmp-01", end=2)
    world.clock.advance(minutes=-world.now().minute)
    with pytest.raises(NotEnoughError):
        world.lease(hosts(resource_properties=CMP_01), start=0.5, end=1, caller=ALT)
    assert world.holds(child) == {"cmp-01": 1}


def test_a_host_for_other_projects_alone_is_not_lent(world: World) -> None:
    lease = world.active(hosts(2), end=4)
    world.restrict({"demo", "third"}, "cmp-01")
    assert refused(world, NotLendableError, lambda: world.lend(lease, "cmp-01")).field == "hosts"
    assert world.holds(world.lend(lease, amount=1)) == {"cmp-02": 1}
    assert world.holds(world.lend(lease, amount=1, to="third")) == {"cmp-01": 1}


def test_a_failed_host_is_not_lent(world: World) -> None:
    lease = world.active(hosts(2), end=4, heal_policy=HealPolicy.NEVER)
    world.fail("cmp-01")
    refused(world, NotLendableError, lambda: world.lend(lease, "cmp-01"))


# ------------------------------------------------------------ limits


def limited(world: World, **limits: Any) -> World:
    """Return the same service with these limits for each project."""
    return world.with_settings(leases=LeaseSettings(limits=LimitSettings(**limits)))


def test_a_sub_lease_counts_for_the_project_that_has_it(world: World) -> None:
    lease = world.active(hosts(2), end=4)
    world.lease(hosts(), start=0, end=4, caller=ALT)
    run_manager(world)
    tight = limited(world, totals={"hosts": 2})
    refused(tight, TooMuchHeldError, lambda: tight.lend(lease, amount=2))
    child = tight.lend(lease, amount=1, end=2)
    refused(tight, TooMuchHeldError, lambda: tight.lease(hosts(), start=1, end=2, caller=ALT))
    assert tight.lease(hosts(), start=2, end=3, caller=ALT)
    few = limited(world, open_leases=3)
    refused(few, TooManyLeasesError, lambda: few.lend(lease, amount=1))
    assert world.exists(child)


def test_an_offer_whose_time_is_over_keeps_no_loan_from_its_project(world: World) -> None:
    lease = world.active(hosts(), end=4)
    few = limited(world, open_leases=1, offers=1)
    draft = LeaseDraft("held", world.hour(1), world.hour(2), reservations=(hosts(),), hold=timedelta(minutes=5))
    create_lease(few.service, ALT, draft)
    refused(few, TooManyLeasesError, lambda: few.lend(lease, amount=1))
    # No manager has ended the offer since.
    few.clock.advance(minutes=5)
    assert few.lend(lease, amount=1).project_id == ALT.project_id


def test_what_is_lent_counts_for_the_lender_all_along(world: World) -> None:
    lease = world.active(hosts(2), end=4)
    world.lend(lease, amount=2, end=2)
    run_for(world, minutes=1)
    tight = limited(world, totals={"hosts": 2})
    for start in (1, 3):
        refused(tight, TooMuchHeldError, partial(tight.lease, hosts(), start=start, end=start + 0.5))
    assert tight.lease(hosts(), start=4, end=5)


def test_the_external_service_approves_a_sub_lease(world: World) -> None:
    lease = world.active(hosts(2), end=4)
    with approving() as approver:
        asking = world.with_settings(leases=approver.settings())
        child = asking.lend(lease, amount=1, end=2)
        (asked,) = [each for each in approver.asked if each.path.endswith("check-create")]
        sent = json.loads(asked.body)
        assert (sent["context"]["project_id"], sent["lease"]["name"]) == ("alt", "lent")
        assert len(sent["lease"]["reservations"][0]["allocations"]) == 1
        approver.answer = deny(b'{"message": "no"}')
        refused(asking, ExternallyDeniedError, lambda: asking.lend(lease, amount=1))
    assert world.exists(child)


# ------------------------------------------------------------ every call, and every death


STEPS = ("leave", "start", "end", "return", "delete")


def before(world: World, step: str) -> tuple[Lease, Lease]:
    """Return a lease and its sub-lease just before the next due task does this step."""
    if step in ("leave", "start"):
        lease = world.active(hosts(2), end=4)
        assert world.boot(lease).service_host == "cmp-01"
        child = world.lend(lease, "cmp-02", end=2)
        if step == "start":
            while any(held.released_at is None and held.lent for held in world.part(lease).allocations):
                work_once(world)
        return lease, child
    lease, child = lent(world)
    on(world, child)
    if step == "delete":
        world.delete(child)
    else:
        world.clock.set(world.hour(2))
    if step == "return":
        while world.status(child) == "ACTIVE" or len(world.holds(lease)) < 2:
            work_once(world) if claimable(world) else world.clock.advance(seconds=5)
    return lease, child


def claimable(world: World) -> bool:
    due = next_moment_of_work(world)
    return due is not None and due <= world.now()


@pytest.mark.parametrize(("step", "number"), part_of_product(STEPS, range(1, 16)))
def test_a_manager_dies_at_each_call(world: World, step: str, number: int) -> None:
    lease, child = before(world, step)
    mine = world.servers()
    dies_at(world, number, lambda: run_manager(world))
    audit(world)
    run_for(world, minutes=10)
    audit(world)
    if step in ("leave", "start"):
        assert (world.status(child), members(world, child), members(world, lease)) == ("ACTIVE", {"cmp-02"}, {"cmp-01"})
        assert world.servers() == mine
    else:
        assert world.holds(lease) == {"cmp-01": 1, "cmp-02": 1}
        assert (members(world, lease), world.servers()) == ({"cmp-01", "cmp-02"}, set())
        assert on(world, lease, "demo").service_host == "cmp-01"
    check(world)


DURING: dict[str, Callable[[World, Lease, Lease], Any]] = {
    "the sub-lease is deleted": lambda world, _lease, child: world.delete(child),
    "the lease is deleted": lambda world, lease, _child: world.delete(lease),
    "a server boots": lambda world, lease, _child: on(world, lease, "demo"),
    "the sub-lease ends": lambda world, _lease, child: world.amend(child, end=3 / 60),
    "the host fails": lambda world, _lease, _child: world.fail("cmp-01"),
}


@pytest.mark.parametrize(
    ("step", "number", "what"), part_of_product(STEPS, [1, 2, 3, 4, 6, 8, 11], list(DURING), one_in=5)
)
def test_something_happens_at_each_call(world: World, step: str, number: int, what: str) -> None:
    lease, child = before(world, step)

    def disturb() -> None:
        with suppress(LeaseholdError):
            DURING[what](world, lease, child)
        audit(world)

    at_call(world, number, lambda: run_manager(world), disturb)
    audit(world)
    theirs = {each.id for each in world.cloud.servers.all() if each.project_id == "demo"}
    run_for(world, minutes=30)
    world.recover("cmp-01")
    run_for(world, minutes=5)
    audit(world)
    if world.exists(lease):
        assert theirs <= world.servers()
    if not (world.exists(child) and world.status(child) == "PENDING"):
        check(world)
    run_until(world, world.hour(4.5))
    assert (world.servers(), world.members("freepool")) == (set(), EVERYBODY)
    check(world)


def test_a_request_whose_key_was_used_while_it_looked_returns_the_sub_lease_of_that_key(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease = world.active(hosts(2), end=4)
    world.clock.advance(minutes=1)
    caller, wish = Caller("alice", lease.project_id), LendWish("lent", "alt", None, hosts=("cmp-01",))
    once = Once(lease.project_id, "key", "digest")
    made: list[Any] = []

    def chosen(*asked: Any) -> Any:
        found = lendable(*asked)
        if not made:
            made.append(found)
            made[:] = [lend(world.service, caller, lease.id, wish, once=once)]
        return found

    monkeypatch.setattr("leasehold.features.lending.lend.lendable", chosen)
    assert lend(world.service, caller, lease.id, wish, once=once).id == made[0].id
    run_for(world, minutes=1)
    check(world)
