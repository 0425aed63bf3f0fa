"""Feature G5: hosts that will be there from a date are promised from then on, put off, enrolled and withdrawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.features.audit.cloud import Pace
from leasehold.features.audit.cloud import audit_cloud as audit_places
from leasehold.features.planned_capacity.model import CapacityConflictError, State
from leasehold.leasing.reading.holding import list_holdings
from leasehold.manager.monitor import check_once
from leasehold.model.caller import EVERYTHING
from leasehold.model.errors import DuplicateError, InUseError, InvalidDateError, NotEnoughError, NotFoundError
from leasehold.model.resource import HOST, Health
from leasehold.model.terms.heal_policy import HealPolicy
from tests.factory import hosts, instances, remove_host, run_for, run_until
from tests.features.planned_capacity.planning import arrived, increase, one, promise, put_off, remove, round_
from tests.stateful.audit import audit, audit_cloud, dump

if TYPE_CHECKING:
    from leasehold.model.lease import Lease
    from tests.factory import World

pytestmark = pytest.mark.slow
NEW = '["==", "$generation", "new"]'


def new(amount: int = 1) -> dict[str, object]:
    """Return a request for hosts that only an increase brings."""
    return hosts(amount, resource_properties=NEW)


def planned(world: World, *names: str, **more: object) -> str:
    return increase(world, *names, properties={"generation": "new"}, **more)  # type: ignore[arg-type]


def news(world: World, lease: Lease) -> list[str]:
    return [kind for kind, _ in world.told(lease)]


def test_a_planned_host_is_promised_from_its_date_on_and_not_before(world: World) -> None:
    ident = planned(world, "cmp-05", start=10)
    with pytest.raises(NotEnoughError) as caught:
        world.lease(new(), start=9, end=12)
    assert caught.value.refusal.nearest is not None
    assert caught.value.refusal.nearest.start == world.hour(10)
    # To wake it would not help, so nobody is told so, and no report counts it.
    assert caught.value.refusal.delay is None
    lease = world.lease(new(), start=10, end=12)
    assert world.holds(lease) == {"cmp-05": 1}
    assert one(world, ident).promised == [lease.id]
    [[held]] = list_holdings(world.service, world.get(lease), EVERYTHING).values()
    assert held.resource.expected_at == world.hour(10)
    run_for(world, minutes=1)
    check_once(world.service)
    assert world.host("cmp-05").health is Health.PLANNED
    audit(world)
    audit_cloud(world)
    assert not audit_places(world.service, Pace(between_looks=0, wait=lambda _: None))


def test_nothing_is_promised_on_it_unless_that_is_said(world: World) -> None:
    ident = planned(world, "cmp-05", start=10, promise=False)
    with pytest.raises(NotEnoughError):
        world.lease(new(), start=11, end=12)
    promise(world, ident, promised=True)
    lease = world.lease(new(), start=11, end=12)
    promise(world, ident, promised=False)
    assert world.holds(lease) == {"cmp-05": 1}
    with pytest.raises(NotEnoughError):
        world.lease(new(), start=13, end=14)


def test_a_lease_starts_on_it_when_it_has_arrived(world: World) -> None:
    ident = planned(world, "march-01", start=10)
    lease = world.lease(new(), start=10, end=12)
    run_for(world, hours=9)
    arrived(world, ident, march_01="cmp-05")
    change = one(world, ident)
    assert (change.state, [host.arrived for host in change.hosts], change.promised) == (State.PLANNED, [True], [])
    host = world.host("cmp-05")
    assert (host.id, host.health, host.capacity["VCPU"], host.properties) == (
        "5",
        Health.HEALTHY,
        32,
        {"generation": "new"},
    )
    run_until(world, world.hour(10))
    assert world.status(lease) == "ACTIVE"
    assert world.boot(lease).service_host == "cmp-05"
    run_until(world, world.hour(13))
    assert one(world, ident).state is State.ACTIVE
    audit(world)
    audit_cloud(world)


def test_it_is_enrolled_at_its_date_by_its_name(world: World) -> None:
    planned(world, "cmp-05", start=1)
    lease = world.lease(new(), start=1, end=2)
    run_until(world, world.hour(1))
    assert "Waiting for cmp-05 to be ready" in world.reason(lease)
    round_(world)
    run_for(world, minutes=1)
    assert world.status(lease) == "ACTIVE"
    audit_cloud(world)


def test_a_host_that_slips_twice_moves_who_can_be_moved_and_tells_the_others(world: World) -> None:
    ident = planned(world, "cmp-05", "march-02", start=10)
    anywhere, only_new = world.lease(new(), start=10, end=20), world.lease(new(), start=15, end=16)
    put_off(world, ident, 12)
    # The other planned host is as late, so the first lease has none; the second one begins later.
    assert world.holds(anywhere) == {}
    assert world.part(anywhere).missing_resources
    assert len(world.holds(only_new)) == 1
    assert "lease.capacity_late" in news(world, anywhere)
    assert "lease.capacity_late" not in news(world, only_new)
    assert (one(world, ident).change.delays, one(world, ident).change.first_at) == (1, world.hour(10))
    world.enrol("cmp-03.example", generation="new")
    # Healing tries again when the start is near, and at once if the owner asks for it.
    world.heal_now(anywhere)
    assert world.holds(anywhere) == {"cmp-03.example": 1}
    assert not world.get(anywhere).degraded
    put_off(world, ident, 30)
    assert one(world, ident).change.delays == 2
    assert news(world, only_new).count("lease.capacity_late") == 1
    assert not one(world, ident).promised
    audit(world)


def test_leases_move_off_a_late_host_to_another_one(world: World) -> None:
    ident = increase(world, "march-01", start=5)
    leases = [world.lease(hosts(3), start=5, end=6), world.lease(hosts(3), start=5, end=6)]
    assert one(world, ident).promised == [leases[1].id]
    world.delete(leases[0])
    put_off(world, ident, 7)
    assert len(world.holds(leases[1])) == 3
    assert "march-01" not in world.holds(leases[1])
    told = news(world, leases[1])
    assert ("lease.capacity_late" in told, "lease.healed" in told, "lease.degraded" in told) == (True, True, False)
    audit(world)


def test_a_host_that_is_not_there_at_its_date_is_overdue(world: World) -> None:
    ident = planned(world, "march-01", start=2)
    soon, later = world.lease(new(), start=2, end=3), world.lease(new(), start=500, end=501)
    run_until(world, world.hour(2))
    assert world.status(soon) != "ACTIVE"
    round_(world)
    change = one(world, ident)
    assert (change.state, change.promised) == (State.OVERDUE, [later.id])
    assert world.part(soon).missing_resources
    assert "lease.capacity_late" in news(world, soon)
    with pytest.raises(NotEnoughError):
        world.lease(new(), start=600, end=601)
    before = dump(world.engine)
    round_(world)
    assert dump(world.engine) == before
    # The operator knows when it comes, and then that it came: the lease has it for the rest of its time.
    put_off(world, ident, 2.5)
    assert world.lease(new(), start=600, end=601)
    run_until(world, world.hour(2.25))
    arrived(world, ident, march_01="cmp-05")
    check_once(world.service)
    run_for(world, minutes=2)
    assert world.holds(soon) == {"cmp-05": 1}
    assert world.status(soon) == "ACTIVE"
    audit(world)
    audit_cloud(world)


def test_a_lease_that_is_not_to_be_healed_keeps_its_place_and_is_told_once(world: World) -> None:
    ident = planned(world, "march-01", start=2)
    lease = world.lease(new(), start=2, end=30, heal_policy=HealPolicy.NEVER)
    put_off(world, ident, 5)
    round_(world)
    assert world.holds(lease) == {"march-01": 1}
    assert world.part(lease).missing_resources
    assert news(world, lease).count("lease.capacity_late") == 1


def test_what_does_not_fit_on_a_host_that_is_smaller_than_planned_gets_another_place(world: World) -> None:
    ident = planned(world, "march-01", start=5, size={"VCPU": 16})
    asked = instances(4, vcpus=4, resource_properties=NEW)
    lease = world.lease(asked, start=5, end=6)
    arrived(world, ident, march_01="cmp-03.example")
    assert world.holds(lease) == {"cmp-03.example": 4}
    other = planned(world, "march-02", start=5, size={"VCPU": 32})
    large = world.lease(instances(1, vcpus=32, resource_properties=NEW), start=5, end=6)
    arrived(world, other, march_02="cmp-04.example")
    assert world.host("cmp-04.example").capacity["VCPU"] == 16
    assert (world.holds(large), world.part(large).missing_resources) == ({}, True)
    assert "lease.degraded" in news(world, large)
    audit(world)


def test_a_planned_host_with_promises_is_removed_only_by_force(world: World) -> None:
    ident = increase(world, "march-01", "march-02", start=5)
    moved, flagged = world.lease(hosts(6), start=5, end=6), world.lease(hosts(7), start=7, end=8)
    before = dump(world.engine)
    with pytest.raises(CapacityConflictError) as caught:
        remove(world, ident)
    assert {each["id"] for each in caught.value.details["leases"]} == {moved.id, flagged.id}
    assert dump(world.engine) == before
    world.enrol("cmp-05")
    other = increase(world, "march-03", start=5, promise=False)
    with pytest.raises(InUseError, match="not there yet"):
        remove_host(world.service, world.host("march-03").id)
    remove(world, other)
    remove_host(world.service, world.host("cmp-05").id)
    remove(world, ident, force=True)
    with pytest.raises(NotFoundError):
        one(world, ident)
    assert {each.label for each in world.listed()} == {"cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03"}
    assert (len(world.holds(moved)), len(world.holds(flagged))) == (5, 5)
    assert world.get(flagged).degraded
    audit(world)


def test_hosts_that_come_and_go_are_promised_only_between(world: World) -> None:
    ident = planned(world, "cmp-05", start=5, end=10)
    for start, end in ((4, 6), (9, 11), (10, 12)):
        with pytest.raises(NotEnoughError):
            world.lease(new(), start=start, end=end)
    lease = world.lease(new(), start=5, end=10)
    assert world.holds(lease) == {"cmp-05": 1}
    run_until(world, world.hour(5))
    round_(world)
    run_until(world, world.hour(11))
    assert world.status(lease) == "TERMINATED"
    assert one(world, ident).state is State.OVER
    with pytest.raises(NotEnoughError):
        world.lease(new(), start=12, end=13)
    audit(world)
    audit_cloud(world)
    remove(world, ident)
    run_for(world, minutes=1)
    assert world.lease(new(), start=12, end=13)


def test_bad_plans_are_refused_and_leave_nothing(world: World) -> None:
    before = dump(world.engine)
    with pytest.raises(InvalidDateError):
        increase(world, "march-01", start=0)
    with pytest.raises(InvalidDateError):
        increase(world, "march-01", start=2, end=2)
    with pytest.raises(DuplicateError):
        increase(world, "march-01", "cmp-01", start=2)
    assert dump(world.engine) == before
    ident = increase(world, "march-01", start=2)
    with pytest.raises(DuplicateError):
        increase(world, "march-01", start=3)
    increase(world, "cmp-05", start=2)
    with pytest.raises(DuplicateError, match="Say that it has arrived"):
        world.enrol("cmp-05")
    before = dump(world.engine)
    with pytest.raises(NotFoundError):
        arrived(world, ident, nobody="cmp-05")
    with pytest.raises(InvalidDateError):
        put_off(world, ident, -1)
    assert dump(world.engine) == before


def test_what_cannot_be_enrolled_keeps_the_reason(world: World) -> None:
    ident = increase(world, "march-01", "march-02", start=2)
    with pytest.raises(NotFoundError):
        arrived(world, ident)
    assert all("march-0" in (host.failure or "") for host in one(world, ident).hosts)
    arrived(world, ident, march_01="cmp-05")
    assert [host.failure is None for host in one(world, ident).hosts] == [True, False]
    with pytest.raises(NotFoundError):
        arrived(world, ident, march_01="cmp-05")
    with pytest.raises(DuplicateError):
        arrived(world, ident, march_02="cmp-05")
    assert world.service.types.get(HOST).kind.name == HOST
    audit(world)
