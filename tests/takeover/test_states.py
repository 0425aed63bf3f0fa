"""Our manager continues from every state in which Blazar may have stopped; broken rows are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.leasing.reading import queries
from tests.factory import run_manager, run_until
from tests.stateful.audit import audit
from tests.takeover.blazar import Rows, changed, load

if TYPE_CHECKING:
    from collections.abc import Callable

    from leasehold.model.lease import Lease
    from leasehold.takeover.plan import ImportPlan
    from tests.factory import World
    from tests.takeover.conftest import Import

pytestmark = pytest.mark.slow


def named(rows: Rows, name: str) -> dict[str, Any]:
    return next(row for row in rows["leases"] if row["name"] == name)


def put(name: str, status: str | None, start: str, end: str, part: str | None = None) -> Callable[[Rows], None]:
    """Return a change that puts a lease into a state."""

    def change(rows: Rows) -> None:
        lease = named(rows, name)
        lease["status"] = status
        for event in rows["events"]:
            if event["lease_id"] == lease["id"] and event["event_type"] in ("start_lease", "end_lease"):
                event["status"] = start if event["event_type"] == "start_lease" else end
        for row in rows["reservations"]:
            if part and row["lease_id"] == lease["id"]:
                row["status"] = part

    return change


def lease_of(plan: ImportPlan, name: str) -> Lease:
    return next(lease for lease in plan.leases if lease.name == name)


def status_of(world: World, plan: ImportPlan, name: str) -> str | None:
    """Return the status of a lease; None if it is gone."""
    lease = lease_of(plan, name)
    return queries.get_lease(world.service, lease.id).status if world.exists(lease) else None


def about(plan: ImportPlan, text: str) -> list[str]:
    return [finding.what for finding in plan.findings if text in finding.what]


@pytest.mark.parametrize(
    ("name", "status", "start", "end", "part", "then"),
    [
        ("active-host", "STARTING", "IN_PROGRESS", "UNDONE", "pending", "ACTIVE"),
        ("active-host", "STARTING", "DONE", "UNDONE", "active", "ACTIVE"),
        ("active-instance", "PENDING", "IN_PROGRESS", "UNDONE", "pending", "ACTIVE"),
        ("active-flavor", "UPDATING", "DONE", "UNDONE", "active", "ACTIVE"),
        ("pending-host", "UPDATING", "UNDONE", "UNDONE", "pending", "PENDING"),
        ("active-ips", "ACTIVE", "DONE", "IN_PROGRESS", "active", "ACTIVE"),
        ("pending-none", "CREATING", "UNDONE", "UNDONE", "pending", None),
        ("active-host", "DELETING", "DONE", "IN_PROGRESS", "active", None),
        ("active-ips", "DELETING", "DONE", "UNDONE", "active", None),
        ("active-instance", "ERROR", "DONE", "IN_PROGRESS", "error", "ACTIVE"),
        ("pending-packed", "NONSENSE", "UNDONE", "UNDONE", "pending", "PENDING"),
        ("short-instance", None, "DONE", "DONE", "deleted", "TERMINATED"),
        ("pending-spread", "PENDING", "ERROR", "UNDONE", "error", "ERROR"),
    ],
)
def test_every_state_is_one_to_carry_on_with(
    world: World, take_over: Import, name: str, status: str | None, start: str, end: str, part: str, then: str | None
) -> None:
    plan = take_over(changed(load(), put(name, status, start, end, part)))
    assert about(plan, f"The lease {name} ")
    run_manager(world)
    assert status_of(world, plan, name) == then
    audit(world, imported=True)


def test_an_end_that_was_begun_or_given_up_is_carried_out(world: World, take_over: Import) -> None:
    names = ("active-host", "active-instance", "active-ips")

    def past(rows: Rows) -> None:
        for name in names:
            lease = named(rows, name)
            lease["end_date"] = "2026-11-21 12:03:00"
            for event in rows["events"]:
                if event["lease_id"] == lease["id"] and event["event_type"] == "end_lease":
                    event["time"] = lease["end_date"]

    ending = put("active-host", "TERMINATING", "DONE", "IN_PROGRESS")
    failed = put("active-instance", "ERROR", "DONE", "ERROR", "error")
    plan = take_over(changed(load(), past, ending, failed))
    run_until(world, world.now())
    assert {name: status_of(world, plan, name) for name in names} == dict.fromkeys(names, "TERMINATED")
    assert world.members("freepool") == {"compute2", "compute3", "compute4", "compute5"}
    audit(world, imported=True)


def test_what_runs_keeps_its_host_however_late_it_was_promised(world: World, take_over: Import) -> None:
    def collide(rows: Rows) -> None:
        running, later = named(rows, "active-host"), named(rows, "race-0")
        later["start_date"], later["end_date"] = "2026-11-22 10:00:00", "2026-11-22 11:00:00"
        parts = {row["lease_id"]: row["id"] for row in rows["reservations"]}
        held = {row["reservation_id"]: row for row in rows["computehost_allocations"]}
        mine, other = held[parts[running["id"]]], held[parts[later["id"]]]
        other["compute_host_id"] = mine["compute_host_id"]
        other["created_at"], mine["created_at"] = "2026-11-20 10:00:00", "2026-11-21 11:57:24"

    plan = take_over(changed(load(), collide))
    assert about(plan, "twice: to lease active-host")
    run_manager(world)
    assert len(world.holds(lease_of(plan, "active-host"))) == 1
    assert world.holds(lease_of(plan, "race-0")) == {}
    audit(world, imported=True)


def test_orphans_and_what_nobody_knows_are_named_and_nothing_else_is_lost(world: World, take_over: Import) -> None:
    def spoil(rows: Rows) -> None:
        mixed = named(rows, "pending-mixed")
        detached = named(rows, "pending-none")
        for event in rows["events"]:
            if event["lease_id"] == detached["id"]:
                event["lease_id"] = None
        for row in rows["reservations"]:
            if row["lease_id"] == mixed["id"] and row["resource_type"] == "physical:host":
                row["resource_type"] = "network"
        rows["computehost_allocations"].append(
            {"id": "orphan-1", "compute_host_id": "77", "reservation_id": rows["reservations"][0]["id"]}
        )
        rows["floatingip_allocations"].append({"id": "orphan-2", "floatingip_id": None, "reservation_id": None})
        rows["resource_properties"].append(
            {"id": "long", "resource_type": "physical:host", "property_name": "x" * 65, "private": 0}
        )
        rack = next(row["id"] for row in rows["resource_properties"] if row["property_name"] == "rack")
        capability = {"computehost_id": "1", "created_at": "2026-11-21 11:58:00"}
        rows["computehost_extra_capabilities"] += [
            {**capability, "id": "cap-1", "property_id": "long", "capability_value": "v"},
            {**capability, "id": "cap-2", "property_id": rack, "capability_value": "r9"},
        ]

    plan = take_over(changed(load(), spoil))
    ids = {finding.id for finding in plan.findings}
    assert {"orphan-1", "orphan-2", "long", "cap-1"} <= ids
    assert about(plan, "another, older value 'r1' of rack")
    assert about(plan, "resource type 'network' is unknown")
    assert len(about(plan, "has no start_lease event")) == 1
    assert len(about(plan, "belongs to lease None")) == 3
    assert [part.resource_type for part in lease_of(plan, "pending-mixed").reservations] == ["virtual:floatingip"]
    run_manager(world)
    audit(world, imported=True)


def test_a_reservation_that_lost_its_rows_says_so(world: World, take_over: Import) -> None:
    plan = take_over(changed(load(), lambda rows: rows["floatingip_allocations"].clear()))
    lease = lease_of(plan, "active-ips")
    assert lease.degraded
    assert lease.reservations[0].missing_resources
    assert about(plan, "asks for 2 and has 0")
    audit(world, imported=True)
