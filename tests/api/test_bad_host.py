"""A host is bad and not down: an operator takes it from all leases, in the order of docs/operators/a-host-broke.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.leasing.reading.event_log import sequence_events
from tests.stateful.audit import audit, audit_cloud
from tests.v1.world import ADMIN, HOST, INSTANCE, MEMBER, World, plant, world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from falcon import testing

pytestmark = pytest.mark.slow

V1_2 = {"OpenStack-API-Version": "reservation 1.2"}
BAD = "cmp-01"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[World]:
    """Yield a service with the bad host and three others, whose client is an operator by default."""
    with world(plant(tmp_path)) as made:
        for name in (BAD, "cmp-02", "cmp-06", "cmp-07"):
            made.enrol(name)
        yield made


def operator(site: World, method: str, path: str, body: Any = None) -> testing.Result:
    return site.ask(method, path, body, headers={**ADMIN, **V1_2})


def window(site: World) -> dict[str, Any]:
    """Promise the bad host to nobody else for a month, move what has not started, and warn the rest."""
    dates = {"start_date": "now", "end_date": site.date(days=30)}
    (bad,) = [each["id"] for each in site.get("/os-hosts")["hosts"] if each["hypervisor_hostname"] == BAD]
    answer = operator(site, "POST", "/maintenances", {"name": BAD, **dates, "hosts": [bad], "on_conflict": "warn"})
    assert answer.status_code == 201, answer.text
    return dict(answer.json["maintenance"])


def held(site: World, lease: dict[str, Any]) -> list[tuple[str, bool]]:
    """Return the name of each host of a lease, and whether the lease has left it."""
    (part,) = operator(site, "GET", f"/leases/{lease['id']}/resources").json["reservations"]
    return [(each["name"], each["left"]) for each in part["resources"]]


def leases_on(site: World, host: str) -> set[str]:
    reservations = site.get(f"/os-hosts/{host}/allocation")["allocation"]["reservations"]
    return {each["lease_id"] for each in reservations}


def test_an_operator_takes_a_bad_host_from_all_leases(site: World) -> None:
    owner = World(site.inside, site.web, MEMBER)
    active = owner.lease(HOST, end_date=site.date(hours=5))
    site.wait(minutes=1)
    server = site.boot("m1.small", active["reservations"][0]["id"])
    later = owner.lease(HOST, start_date=site.date(hours=6), end_date=site.date(hours=8))
    slots = owner.lease(INSTANCE, start_date=site.date(hours=9), end_date=site.date(hours=10))
    assert [held(site, each) for each in (active, later, slots)] == [[(BAD, False)]] * 3

    # 1. The window: nobody new gets the host, and what has not started moves.
    made = window(site)
    assert set(made["moved"]) == {later["id"], slots["id"]}
    assert made["warned"] == [active["id"]]
    assert not {(BAD, False)} & {*held(site, later), *held(site, slots)}

    # 2. The lease that has started: its servers are named, and stay.
    swap = f"/leases/{active['id']}/swap"
    asked = operator(site, "POST", swap, {"host": BAD})
    assert (asked.status_code, asked.json["code"]) == (409, "leasehold.swap.servers")
    assert operator(site, "POST", swap, {"host": BAD, **asked.json["details"]}).status_code == 200
    assert held(site, active) == [(BAD, True), ("cmp-02", False)]
    assert leases_on(site, made["hosts"][0]) == {made["id"], active["id"]}

    # 3. Its owner removes the servers; then only the window has the host.
    site.cloud.servers.delete(server.id)
    site.wait(minutes=5)
    assert held(site, active) == [("cmp-02", False)]
    assert leases_on(site, made["hosts"][0]) == {made["id"]}
    assert [site.show(each)["degraded"] for each in (active, later, slots)] == [False] * 3
    sequence_events(site.service)
    events = owner.get("/events", headers=V1_2)["events"]
    told = {each["type"]: each["lease_id"] for each in events if each["lease_id"] != slots["id"]}
    assert {kind: told[kind] for kind in ("lease.moved", "lease.maintenance", "lease.swapped")} == {
        "lease.moved": later["id"],
        "lease.maintenance": active["id"],
        "lease.swapped": active["id"],
    }
    audit(site.inside)

    # 4. The host goes out of service, or comes back when it is repaired.
    assert operator(site, "DELETE", f"/maintenances/{made['id']}").status_code == 204
    site.wait(minutes=1)
    assert operator(site, "DELETE", f"/os-hosts/{made['hosts'][0]}").status_code == 204
    site.wait(hours=11)
    assert {site.show(each)["status"] for each in (active, later, slots)} == {"TERMINATED"}
    audit(site.inside)
    audit_cloud(site.inside)


def test_slots_that_have_started_stay_until_their_lease_ends(site: World) -> None:
    lease = World(site.inside, site.web, MEMBER).lease(INSTANCE, end_date=site.date(hours=2))
    site.wait(minutes=1)
    server = site.boot(lease["reservations"][0]["id"])
    assert server.service_host == BAD
    made = window(site)
    assert made["warned"] == [lease["id"]]
    refused = operator(site, "POST", f"/leases/{lease['id']}/swap", {"host": BAD, "servers": [server.id]})
    assert (refused.status_code, refused.json["code"]) == (409, "leasehold.swap.type")
    assert held(site, lease) == [(BAD, False)]
    site.wait(hours=3)
    assert leases_on(site, made["hosts"][0]) == {made["id"]}
    audit(site.inside)
