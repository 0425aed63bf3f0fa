"""The import of a real Blazar's data: clients see the same leases, and the cloud does not change."""

from __future__ import annotations

import json
import math
from dataclasses import astuple
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select

from leasehold.cloud.ports import LARGEST
from leasehold.cmd.web import make_app
from leasehold.conf.settings import ApiSettings
from leasehold.db.engine import reading
from leasehold.db.past.record import SegmentFilter, each_segment
from leasehold.db.tables import segments
from leasehold.leasing.create import create_lease
from leasehold.leasing.reading.queries import get_lease
from leasehold.model.draft import LeaseDraft
from leasehold.model.segment import Cause
from leasehold.takeover.findings import TakeoverError
from leasehold.takeover.plan import make_plan
from leasehold.takeover.source import read_blazar
from leasehold.takeover.write import write_plan
from tests.factory import DEMO, hosts, run_manager, run_until
from tests.stateful.audit import audit, cloud_state, dump
from tests.takeover.blazar import Rows, changed, load, make_sqlite, replaced
from tests.takeover.conftest import as_sandbox
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path

    from tests.factory import World
    from tests.takeover.conftest import Import

pytestmark = pytest.mark.slow

LOSERS = {"race-1", "race-2", "race-5", "race-7"}
"""The last four of the eight leases that Blazar granted; the four hosts have no room for them."""


def ask(world: World, path: str) -> Any:
    web = LocalClient(make_app(world.service, ApiSettings(auth_strategy="none")))
    answer = web.simulate_get(f"/v1/{path}", headers={"X-Roles": "admin", "X-User-Id": "a", "X-Project-Id": "p"})
    assert answer.status_code == 200, answer.text
    return next(iter(answer.json.values()))


def comparable(value: Any) -> Any:
    """Return an answer without its order, which v1 leaves undefined, and without trusts, which we do not have."""
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in sorted(value.items()) if key != "trust_id"}
    return sorted(map(comparable, value), key=repr) if isinstance(value, list) else value


def test_clients_see_what_blazar_showed_them(world: World, take_over: Import) -> None:
    take_over(load())
    before = as_sandbox(load(part="answers"))
    for lease in before["leases"]:
        if lease["name"] in LOSERS:
            lease["degraded"] = lease["reservations"][0]["missing_resources"] = True
    assert comparable(ask(world, "leases")) == comparable(before["leases"])
    assert comparable(ask(world, "os-hosts")) == comparable(before["hosts"])
    assert comparable(ask(world, "floatingips")) == comparable(before["floatingips"])
    private = {"property": "ssd", "private": True, "values": ["yes"]}
    known = [private if each["property"] == "ssd" else each for each in before["properties"]]
    assert comparable(ask(world, "os-hosts/properties?detail=True&all=True")) == comparable(known)


def test_allocations_are_those_of_blazar_without_the_double_ones(world: World, take_over: Import) -> None:
    plan = take_over(load())
    lost = {lease.id for lease in plan.leases if lease.name in LOSERS}
    before = [
        {**each, "reservations": [one for one in each["reservations"] if one["lease_id"] not in lost]}
        for each in load(part="answers")["allocations"]
    ]
    assert comparable(ask(world, "os-hosts/allocations")) == comparable(before)
    assert sum(finding.table == "computehost_allocations" for finding in plan.findings) == len(LOSERS)
    audit(world, imported=True)


def test_the_cloud_notices_nothing_but_what_failed(world: World, take_over: Import) -> None:
    """A start that Blazar gave up is retried during the lease's window."""
    before = cloud_state(world.engine)
    plan = take_over(load())
    assert run_manager(world) > 0
    running = {lease["name"] for lease in ask(world, "leases") if lease["status"] == "ACTIVE"}
    assert running == {"active-host", "active-flavor", "active-instance", "active-ips", "failed-start"}
    world.delete(next(lease for lease in plan.leases if lease.name == "failed-start"))
    assert run_manager(world) > 0
    assert cloud_state(world.engine) == before


def test_leases_go_on_living(world: World, take_over: Import) -> None:
    plan = take_over(load())
    end = max(lease.window.end for lease in plan.leases)
    run_until(world, end)
    status = {lease["name"]: lease["status"] for lease in ask(world, "leases")}
    assert status.pop("failed-start") == "TERMINATED"
    assert set(status.values()) == {"TERMINATED"}
    left = [aggregate.name for aggregate in world.cloud.aggregates.list()]
    assert left == ["freepool"]
    assert world.members("freepool") == {"compute2", "compute3", "compute4", "compute5"}
    audit(world, imported=True)


def test_the_record_begins_with_what_blazar_had_allocated(world: World, take_over: Import) -> None:
    plan, now = take_over(load()), world.now()
    held = [
        (each.part.id, each.window.start, min(each.window.end, now), each.window.end > now, Cause.IMPORTED)
        for each in plan.allocations
        if min(each.window.end, now) > each.window.start
    ]
    with reading(world.engine) as connection:
        found = list(each_segment(connection, SegmentFilter(), now))
        closed = connection.execute(select(func.count()).select_from(segments)).scalar()
    told = [(each.reservation_id, *astuple(each.window), each.open, each.start_cause) for each in found]
    assert sorted(told) == sorted(held)
    assert closed == sum(not each.open for each in found)


def test_what_blazar_had_in_hand_is_done(world: World, take_over: Import) -> None:
    take_over(load("interrupted"))
    run_manager(world)
    short = {lease["name"]: lease["status"] for lease in ask(world, "leases") if lease["name"].startswith("short")}
    assert short == {"short-instance": "ERROR", "short-ip": "TERMINATED", "short-nothing": "ERROR"}
    audit(world, imported=True)


def test_the_same_again_changes_nothing(world: World, take_over: Import, tmp_path: Path) -> None:
    plan = take_over(load())
    before = dump(world.engine)
    assert not write_plan(world.service.db, plan, world.now())
    assert dump(world.engine) == before


def test_books_with_anything_else_are_refused(world: World, tmp_path: Path) -> None:
    world.enrol("cmp-01")
    before = dump(world.engine)
    plan = make_plan(read_blazar(make_sqlite(tmp_path / "blazar.db", load()))[0], world.now())
    with pytest.raises(TakeoverError, match="not all from that database"):
        write_plan(world.service.db, plan, world.now())
    assert dump(world.engine) == before


def test_a_loser_can_ask_for_another_host(world: World, take_over: Import) -> None:
    def free_a_host(rows: Rows) -> None:
        leases = {row["id"] for row in rows["leases"] if row["name"] in ("race-0", "race-2")}
        parts = {row["id"] for row in rows["reservations"] if row["lease_id"] in leases}
        held = rows["computehost_allocations"]
        rows["computehost_allocations"] = [row for row in held if row["reservation_id"] not in parts]

    plan = take_over(changed(load(), free_a_host))
    loser = next(lease for lease in plan.leases if lease.name == "race-1")
    part = loser.reservations[0]
    assert part.missing_resources
    world.amend(get_lease(world.service, loser.id), reservations=({"id": part.id, "min": 1, "max": 1},))
    assert len(world.holds(loser)) == 1
    audit(world, imported=True)


@pytest.mark.parametrize("ident", ["rack-7", "R2-D2", "e" * 36, "F24C43E1-F0FF-4C86-9069-3E41BD0153AD", "ä -- x"])
def test_a_reservation_whose_id_is_no_uuid_keeps_its_promise(world: World, take_over: Import, ident: str) -> None:
    rows = load()
    lease = next(row for row in rows["leases"] if row["name"] == "active-host")
    part = next(row for row in rows["reservations"] if row["lease_id"] == lease["id"])
    plan = take_over(replaced(rows, {f'"{part["id"]}"': f'"{ident}"'}))
    (finding,) = (each for each in plan.findings if each.id == ident)
    assert "is no UUID" in finding.what
    mine = get_lease(world.service, lease["id"])
    assert len(world.holds(mine)) == 1
    world.enrol("gpu-03")
    begin = world.now() + timedelta(hours=1)
    draft = LeaseDraft("new", begin, begin + timedelta(hours=1), reservations=(hosts(),), fingerprint="a")
    other = create_lease(world.service, DEMO, draft)
    assert not world.holds(other).keys() & world.holds(mine).keys()
    held = world.holds(mine)
    world.amend(mine, end=mine.window.end + timedelta(hours=1))
    assert world.holds(mine) == held
    run_manager(world)
    assert get_lease(world.service, mine.id).status == "ACTIVE"


def test_one_address_in_two_spellings_is_taken_once_with_both_promises(world: World, take_over: Import) -> None:
    def spell_twice(rows: Rows) -> None:
        first = rows["floatingips"][0]
        first["floating_ip_address"] = "2001:db8::1"
        again = {**first, "id": "ffffffff-2222-4333-8444-555555555555", "floating_ip_address": "2001:DB8:0::0001"}
        rows["floatingips"].append(again)
        for row in rows["floatingip_allocations"]:
            if row["floatingip_id"] == first["id"]:
                row["floatingip_id"] = again["id"]

    before = load()
    first = before["floatingips"][0]
    parts = {row["reservation_id"] for row in before["floatingip_allocations"] if row["floatingip_id"] == first["id"]}
    assert parts
    plan = take_over(changed(before, spell_twice))
    (finding,) = (each for each in plan.findings if each.id.startswith("ffffffff"))
    assert "2001:DB8:0::0001 is enrolled twice" in finding.what
    assert sum(row["floating_ip_address"] == "2001:db8::1" for row in ask(world, "floatingips")) == 1
    promised = {each.part.id for each in plan.allocations if each.resource == ("virtual:floatingip", first["id"])}
    assert promised == parts


def test_of_two_hosts_behind_one_compute_service_the_second_is_left_out_and_named(take_over: Import) -> None:
    def share(rows: Rows) -> None:
        first, second = rows["computehosts"][:2]
        second["service_name"] = first["service_name"]

    plan = take_over(changed(load(), share))
    first, second = load()["computehosts"][:2]
    (found,) = [each for each in plan.findings if each.table == "computehosts"]
    assert found.id == second["id"]
    assert first["hypervisor_hostname"] in found.what
    assert second["id"] not in {host.values["id"] for host in plan.resources}


def test_numbers_that_nothing_can_be_counted_with_end_no_import(world: World, take_over: Import) -> None:
    def forge(rows: Rows) -> None:
        for row, ratio in zip(rows["computehost_resource_inventory"], (math.inf, 1e300), strict=False):
            row["allocation_ratio"] = ratio
        captured = [row for row in rows["instance_reservations"] if row["resource_properties"].startswith("{")]
        for row, number in zip(captured, ("Infinity", "9" * 30), strict=False):
            flavor = json.loads(row["resource_properties"])
            flavor["vcpus"] = 7_654_321
            row["resource_properties"] = json.dumps(flavor).replace("7654321", number)

    plan = take_over(changed(load(), forge))
    inventories = load()["computehost_resource_inventory"]
    (odd,) = [each for each in plan.findings if each.table == "computehost_resource_inventory"]
    assert (odd.id, "allocation ratio inf. It is read as 1.0." in odd.what) == (inventories[0]["id"], True)
    capacity = {host.values["id"]: host.values["capacity"] for host in plan.resources}
    found = [capacity[row["computehost_id"]][row["resource_class"]] for row in inventories[:2]]
    assert found == [inventories[0]["total"] - inventories[0]["reserved"], LARGEST]
    unread = [each.what for each in plan.findings if "its source flavor" in each.what]
    assert len(unread) == 2
    assert ask(world, "os-hosts")
