"""Maintenance windows: hosts promised to nobody else, leases that are moved, and leases whose owners are warned."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from leasehold.conf.settings import LimitSettings
from leasehold.db.tables import outbox
from leasehold.leasing.maintenance.model import MaintenanceConflictError
from leasehold.leasing.maintenance.use import delete_maintenance, request_of
from leasehold.leasing.reading import queries
from leasehold.model.errors import InUseError, InvalidInputError, LeaseholdError, NotEnoughError
from leasehold.model.resource import MAINTENANCE
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.heal_policy import HealPolicy
from leasehold.model.windows import to_seconds
from tests.approver import approving, deny
from tests.factory import ALT, DEMO, World, flavors, floating_ips, hosts, instances, run_for, run_manager
from tests.harness.tables import read_tables
from tests.jobs import job_of
from tests.stateful.audit import audit, audit_cloud, dump
from tests.unit.leasing.looking import findings

if TYPE_CHECKING:
    from leasehold.model.lease import Lease

pytestmark = pytest.mark.slow


def on(label: str) -> str:
    return f'["==", "$hypervisor_hostname", "{label}"]'


def refused(world: World, *labels: str, **more: Any) -> MaintenanceConflictError:
    """Check that a window is refused and leaves no trace, and return the error."""
    before = dump(world.engine)
    with pytest.raises(MaintenanceConflictError) as caught:
        world.maintain(*labels, **more)
    assert dump(world.engine) == before
    return caught.value


def fates(error: MaintenanceConflictError) -> dict[str, str]:
    return {each["id"]: each["fate"] for each in error.details["leases"]}


def payload(world: World, lease: Lease, event_type: str) -> Any:
    query = select(outbox.c.payload).where(outbox.c.lease_id == lease.id, outbox.c.event_type == event_type)
    with world.service.db.reading() as connection:
        return connection.execute(query).scalar_one()


def test_a_window_keeps_its_hosts_for_itself_begins_and_ends(world: World) -> None:
    labels = sorted(each.label for each in world.listed())
    window = world.maintain(*labels, start=1, end=3)
    assert set(world.holds(window)) == set(labels)
    with pytest.raises(NotEnoughError) as caught:
        world.lease(hosts(), start=2, end=4)
    assert caught.value.refusal.nearest is not None
    assert caught.value.refusal.nearest.start == world.hour(3)
    for request in (instances(), flavors()):
        with pytest.raises(NotEnoughError):
            world.lease(request, start=0.5, end=1.5)
    assert world.lease(hosts(), start=0, end=1)
    assert world.lease(hosts(), start=3, end=4)
    for hours_, status in ((0.5, "PENDING"), (1, "ACTIVE"), (2, "TERMINATED")):
        run_for(world, hours=hours_)
        assert world.status(window) == status
    audit(world)
    audit_cloud(world)


def test_leases_that_have_not_started_are_moved_if_that_is_allowed(world: World) -> None:
    lease = world.lease(hosts(2), start=1, end=4)
    busy = sorted(world.holds(lease))
    assert fates(refused(world, busy[0], start=2, end=3)) == {lease.id: "moves"}
    window = world.maintain(busy[0], start=2, end=3, on_conflict="move")
    assert busy[0] not in world.holds(lease)
    assert busy[1] in world.holds(lease)
    assert len(world.holds(lease)) == 2
    part = world.part(lease)
    assert (part.missing_resources, part.resources_changed, world.get(lease).degraded) == (False, False, False)
    assert request_of(window).moved == (lease.id,)
    dates = {"start_date": window.window.start.isoformat(), "end_date": window.window.end.isoformat()}
    assert payload(world, lease, "lease.moved")["maintenance"] == dates
    run_for(world, hours=5)
    assert [world.status(each) for each in (lease, window)] == ["TERMINATED"] * 2
    causes = {(row.lease_id, row.start_cause) for row in read_tables(world.engine)["segments"]}
    assert causes == {(lease.id, "granted"), (lease.id, "moved"), (window.id, "granted")}
    audit(world)
    audit_cloud(world)


@pytest.mark.parametrize("request_", [instances(3), instances(2, affinity=True), flavors(2)])
def test_slots_are_moved_as_they_were_asked_for(world: World, request_: dict[str, Any]) -> None:
    lease = world.lease(request_, floating_ips(1), start=1, end=4)
    (label, *_) = sorted(world.holds(lease))
    world.maintain(label, start=1, end=2, on_conflict="move")
    assert label not in world.holds(lease)
    assert sum(world.holds(lease).values()) == request_["amount"]
    audit(world)


def test_a_lease_that_is_moved_off_one_host_still_misses_another_that_failed(world: World) -> None:
    """Its owner does not want it healed, so it keeps the host that failed, and the flag."""
    lease = world.lease(hosts(2), start=0.5, end=3, heal_policy=HealPolicy.NEVER)
    failed, other = sorted(world.holds(lease))
    world.fail(failed)
    assert world.part(lease).missing_resources
    world.maintain(other, start=0, end=5, on_conflict="move")
    assert (failed in world.holds(lease), other in world.holds(lease)) == (True, False)
    assert (world.part(lease).missing_resources, world.get(lease).degraded) == (True, True)
    assert "lease.restored" not in [kind for kind, _ in world.told(lease)]
    audit(world)


def test_a_lease_that_finds_no_other_host_refuses_the_window(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=2)
    (label,) = world.holds(lease)
    world.lease(hosts(4), start=0, end=2, caller=ALT)
    for on_conflict in ("refuse", "move", "warn"):
        error = refused(world, label, start=1, end=2, on_conflict=on_conflict)
        assert fates(error) == {lease.id: "stuck"}
        assert (error.code, error.status, error.field) == ("leasehold.maintenance.conflict", 409, "hosts")
    assert world.maintain(label, start=2, end=3)


def test_by_force_a_lease_that_finds_no_other_host_loses_one_and_gets_another_when_there_is_one(world: World) -> None:
    lease = world.lease(hosts(5), start=0.5, end=3)
    (label, *_) = sorted(world.holds(lease))
    assert fates(refused(world, label, start=2, end=3, on_conflict="warn")) == {lease.id: "stuck"}
    window = world.maintain(label, start=2, end=3, on_conflict="force")
    assert (len(world.holds(lease)), world.part(lease).missing, world.get(lease).degraded) == (4, 1, True)
    assert (request_of(window).moved, request_of(window).warned) == ((), (lease.id,))
    told = [kind for kind, _ in world.told(lease)]
    assert ("lease.maintenance" in told, "lease.degraded" in told, "lease.moved" in told) == (True, True, False)
    world.enrol("cmp-05")
    world.heal()
    assert "cmp-05" in world.holds(lease)
    assert not world.get(lease).degraded
    audit(world)


def test_a_lease_that_has_started_stays_and_its_owner_is_warned(world: World) -> None:
    lease = world.active(hosts(), end=4)
    (label,) = world.holds(lease)
    server = world.boot(lease)
    for on_conflict in ("refuse", "move"):
        assert fates(refused(world, label, start=1, end=3, on_conflict=on_conflict)) == {lease.id: "started"}
    window = world.maintain(label, start=1, end=3, on_conflict="warn")
    assert request_of(window).warned == (lease.id,)
    assert payload(world, lease, "lease.maintenance")["maintenance"]["start_date"] == window.window.start.isoformat()
    run_for(world, hours=2)
    assert [world.status(each) for each in (lease, window)] == ["ACTIVE"] * 2
    with pytest.raises(InUseError):
        world.amend(lease, end=5)
    assert world.amend(lease, end=3.9)
    run_for(world, hours=1.5)
    assert [world.status(each) for each in (lease, window)] == ["ACTIVE", "TERMINATED"]
    assert world.servers() == {server.id}
    run_for(world, hours=1)
    assert world.status(lease) == "TERMINATED"
    audit(world)
    audit_cloud(world)


def test_a_warned_lease_that_loses_another_host_is_healed_and_not_with_a_host_of_the_window(world: World) -> None:
    lease = world.active(hosts(2), end=4)
    kept, failing = sorted(world.holds(lease))
    free = sorted({each.label for each in world.listed()} - {kept, failing})
    world.maintain(kept, *free[:2], start=1, end=3, on_conflict="warn")
    run_for(world, hours=1.5)
    world.fail(failing)
    assert set(world.holds(lease)) == {kept, free[2]}
    assert not world.part(lease).missing_resources
    audit(world)


def test_what_a_warned_lease_gives_up_early_stays_promised_to_the_window(world: World) -> None:
    lease = world.active(hosts(), end=4)
    (label,) = world.holds(lease)
    world.maintain(label, start=1, end=3, on_conflict="warn")
    world.delete(lease)
    run_manager(world)
    with pytest.raises(NotEnoughError):
        world.lease(hosts(resource_properties=on(label)), start=1, end=2)
    assert world.lease(hosts(resource_properties=on(label)), start=3, end=4)
    audit(world)


def test_a_deleted_window_gives_its_hosts_back(world: World) -> None:
    (label, *_) = sorted(each.label for each in world.listed())
    window = world.maintain(label, start=1, end=3)
    assert [each.id for each in queries.each_lease(world.service, None, resource_type=MAINTENANCE)] == [window.id]
    delete_maintenance(world.service, window.id)
    run_manager(world)
    assert not list(queries.each_lease(world.service, None, resource_type=MAINTENANCE))
    assert world.lease(hosts(resource_properties=on(label)), start=1, end=2)
    audit(world)


def test_a_host_of_a_window_that_fails_is_neither_replaced_nor_flagged(world: World) -> None:
    (label, *_) = sorted(each.label for each in world.listed())
    window = world.maintain(label, start=0, end=3)
    run_manager(world)
    world.fail(label)
    assert set(world.holds(window)) == {label}
    assert not world.get(window).degraded
    audit(world)


def test_nobody_limits_or_approves_a_window_nor_is_told_of_its_end(world: World) -> None:
    (label, *_) = sorted(each.label for each in world.listed())
    with approving() as approver:
        approver.answer = deny(b"{}")
        limits = LimitSettings(user_open_leases=0, user_hosts=0, project_host_hours=0)
        world = world.with_settings(leases=replace(approver.settings(), limits=limits))
        window = world.maintain(label, start=0, end=2)
        assert world.amend(window, end=3)
        with pytest.raises(InvalidInputError):
            world.amend(window, {"hosts": ["2"]})
        run_for(world, hours=3)
        job_of(world.service, "end notices").run_once()
        assert world.status(window) == "TERMINATED"
        assert approver.asked == []


def test_windows_that_overlap_close_a_host_together(world: World) -> None:
    """Each begins, ends, is changed and deleted for itself; nobody gets the host while it has one of them."""
    lease = world.active(hosts(), end=6)
    (label,) = world.holds(lease)
    early = world.maintain(label, "cmp-07", start=1, end=3, on_conflict="warn")
    late = world.maintain(label, "cmp-07", start=2, end=4, on_conflict="warn")
    assert request_of(late).warned == (lease.id,)
    audit(world)
    world.amend(world.maintain("cmp-07", start=0.5, end=1), end=2.5)
    run_for(world, hours=2.5)
    assert [world.status(each) for each in (early, late)] == ["ACTIVE", "ACTIVE"]
    delete_maintenance(world.service, early.id)
    run_manager(world)
    world.delete(lease)
    run_manager(world)
    for name in (label, "cmp-07"):
        with pytest.raises(NotEnoughError) as caught:
            world.lease(hosts(resource_properties=on(name)), start=2.5, end=3)
        assert caught.value.refusal.nearest is not None
        assert caught.value.refusal.nearest.start == world.hour(4)
    assert findings(world) == []
    run_for(world, hours=2)
    assert world.status(late) == "TERMINATED"
    audit(world)
    audit_cloud(world)


def test_a_refusal_names_the_word_that_works(world: World) -> None:
    started = world.active(hosts(resource_properties=on("cmp-01")), end=6)
    world.lease(hosts(resource_properties=on("cmp-06")), start=1, end=3)
    moves = world.lease(hosts(), start=1, end=3)
    (label,) = world.holds(moves)
    for labels, said in (
        ([label], "or the on_conflict `move`"),
        ([label, "cmp-01"], "or the on_conflict `warn`"),
        (["cmp-06"], "or the on_conflict `force`"),
        (["cmp-06", "cmp-01"], "or the on_conflict `force`"),
    ):
        for on_conflict in ("refuse", "move") if "cmp-01" in labels else ("refuse",):
            message = refused(world, *labels, start=1, end=3, on_conflict=on_conflict).message
            assert said in message
            assert message.count("`") == 2
    assert world.maintain(label, "cmp-01", start=1, end=3, on_conflict="warn")
    assert world.status(started) == "ACTIVE"


def held(world: World) -> dict[tuple[str, str], int]:
    """Return how much each reservation of each open lease has, read without our own code."""
    tables = read_tables(world.engine)
    found = {}
    for lease in tables.leases():
        if lease.status not in (LeaseStatus.TERMINATED, LeaseStatus.DELETING):
            for part in tables.parts(lease):
                found[lease.id, part.id] = sum(row.slots for row in tables.live(lease, part))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_after_a_window_nobody_else_has_its_hosts_and_nobody_has_less(world: World, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - a reproducible choice, no secret.
    labels = sorted(each.label for each in world.listed())
    numbers = {each.label: each.number for each in world.listed()}
    windows, refusals = set[str](), 0
    for step in range(30):
        start = step // 3 + random.randint(0, 5)
        kind = random.choice(
            [hosts(1), hosts(2), instances(2), instances(2, affinity=True), instances(2, affinity=False)]
        )
        try:
            world.lease(kind, start=start, end=start + random.randint(1, 5), caller=random.choice([DEMO, ALT]))
        except LeaseholdError:
            refusals += 1
        if step % 3 == 2:
            run_for(world, hours=1)
            chosen = random.sample(labels, random.randint(1, 2))
            start, before, trace = step // 3 + 1 + random.randint(0, 3), held(world), dump(world.engine)
            more = {"start": start, "end": start + random.randint(1, 4)}
            begun = {
                each.id
                for each in list(queries.each_lease(world.service, None))
                if each.status is not LeaseStatus.PENDING
            }
            try:
                window = world.maintain(*chosen, on_conflict=random.choice(["move", "warn"]), **more)
            except MaintenanceConflictError:
                assert dump(world.engine) == trace
                continue
            windows.add(window.id)
            after = held(world)
            assert {key: after[key] for key in before} == before
            request, times = request_of(window), [to_seconds(world.hour(more[name])) for name in ("start", "end")]
            assert set(request.warned) <= begun
            assert not set(request.moved) & begun
            for row in read_tables(world.engine).allocated():
                overlaps = row.starts_at < times[1] and row.ends_at > times[0] and row.released_at is None
                if overlaps and row.resource_number in {numbers[label] for label in chosen}:
                    assert row.lease_id in {*windows, *request.warned}
            audit(world)
    assert windows
    assert refusals
    run_for(world, hours=20)
    audit(world)
    audit_cloud(world)
