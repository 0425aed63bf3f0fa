"""Feature J7 over HTTP: `GET /v1/leases/{lease_id}/resources`, for owners and for who may list hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import ManagerSettings
from tests.factory import flavors, floating_ips, hosts, instances
from tests.v1.world import ADMIN, MEMBER, World, plant, world

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

pytestmark = pytest.mark.slow

V1_2 = {"OpenStack-API-Version": "reservation 1.2"}
NAMES = ("cmp-01", "cmp-02")
SECRET = "key-of-the-cage"
ADDRESS = "203.0.113.200"
FIELDS = {
    *("id", "name", "resource_type", "health", "left", "substitute", "slots", "demand", "start_date", "end_date"),
    *("capacity", "attributes", "properties"),
}
KINDS: Mapping[str, tuple[dict[str, Any], str, int, dict[str, int] | None]] = {
    "hosts": (hosts(2), "physical:host", 2, None),
    "instances": (instances(3), "physical:host", 3, {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}),
    "flavors": (flavors(1), "physical:host", 1, {"VCPU": 1, "MEMORY_MB": 2048, "DISK_GB": 20}),
    "floating IPs": (floating_ips(1), "virtual:floatingip", 1, None),
}
"""Per kind: a request, the type that its resources are enrolled as, the slots that it gets, and what each takes."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[World]:
    """Yield a service with two hosts and an address, whose client is a member by default."""
    with world(plant(tmp_path)) as made:
        for name in NAMES:
            made.enrol(name, rack="r1", cage=SECRET)
        made.enrol_addresses(1)
        hidden = made.ask("PATCH", "/os-hosts/properties/cage", {"private": True})
        assert hidden.status_code == 200
        yield World(made.inside, made.web, MEMBER)


def asked(site: World, lease: Mapping[str, Any], who: Mapping[str, str] = MEMBER, version: str = "1.2") -> Any:
    version_header = {"OpenStack-API-Version": f"reservation {version}"}
    return site.ask("GET", f"/leases/{lease['id']}/resources", headers={**who, **version_header})


def seen(site: World, lease: Mapping[str, Any], who: Mapping[str, str] = MEMBER, position: int = 0) -> Any:
    """Return the resources of one reservation, as somebody sees them."""
    answer = asked(site, lease, who)
    assert answer.status_code == 200, answer.text
    return answer.json["reservations"][position]["resources"]


def named(site: World, lease: Mapping[str, Any]) -> list[tuple[str, str, bool, bool]]:
    """Return name, health, and whether it was left or is a substitute, of each resource of the first reservation."""
    shown = seen(site, lease, ADMIN)
    return [(each["name"], each["health"], each["left"], each["substitute"]) for each in shown]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_shows_what_is_held_how_much_and_when(site: World, kind: str) -> None:
    request, enrolled_as, slots, demand = KINDS[kind]
    lease = site.lease(request, start_date=site.date(hours=1), end_date=site.date(hours=3))
    answer = asked(site, lease)
    (part,) = answer.json["reservations"]
    assert part["reservation_id"] == lease["reservations"][0]["id"]
    assert part["resource_type"] == request["resource_type"]
    assert sum(each["slots"] for each in part["resources"]) == slots
    for each in part["resources"]:
        assert each.keys() == FIELDS
        # Which host it is is not final an hour before the start (feature A9).
        health = "healthy" if enrolled_as == "virtual:floatingip" else None
        assert (each["resource_type"], each["demand"], each["health"]) == (enrolled_as, demand, health)
        assert (each["start_date"], each["end_date"]) == (lease["start_date"], lease["end_date"])
        assert (each["left"], each["substitute"]) == (False, False)


def test_a_lease_of_several_kinds_shows_each_reservation_in_order(site: World) -> None:
    requests = (instances(1), floating_ips(1), hosts(1))
    lease = site.lease(*requests, start_date=site.date(hours=1), end_date=site.date(hours=3))
    shown = asked(site, lease).json["reservations"]
    assert [each["reservation_id"] for each in shown] == [each["id"] for each in lease["reservations"]]
    assert [len(each["resources"]) for each in shown] == [1, 1, 1]


def test_a_member_sees_what_a_host_has_and_not_which_one_it_is(site: World) -> None:
    lease = site.lease(hosts(2))
    first, _ = seen(site, lease)
    assert (first["id"], first["name"]) == (None, None)
    assert first["properties"] == {"rack": "r1"}
    assert first["attributes"]["vcpus"] == first["capacity"]["VCPU"] == 8
    assert "availability_zone" in first["attributes"]
    text = asked(site, lease).text
    assert not [word for word in (*NAMES, SECRET, "cage", "hypervisor_hostname", "service_name") if word in text]


def test_before_the_start_a_member_sees_how_much_and_not_what_may_still_be_exchanged(site: World) -> None:
    dates = {"start_date": site.date(hours=1), "end_date": site.date(hours=3)}
    lease = site.lease(hosts(1), **dates)
    (shown,) = seen(site, lease)
    hidden = ("id", "name", "health", "capacity", "attributes", "properties")
    assert [shown[key] for key in hidden] == [None, None, None, {}, {}, {}]
    (named,) = seen(site, lease, ADMIN)
    assert named["health"] == "healthy"
    assert named["properties"]["rack"] == "r1"
    # More slots than a host has room for.
    spread = site.lease(instances(9), **dates | {"start_date": site.date(hours=4), "end_date": site.date(hours=5)})
    assert [each["slots"] for each in seen(site, spread)] == [9]
    assert len(seen(site, spread, ADMIN)) == 2


def test_who_may_list_hosts_sees_names_and_administrators_private_properties(site: World) -> None:
    lease = site.lease(hosts(2))
    listed = {each["id"]: each["hypervisor_hostname"] for each in site.get("/os-hosts", headers=ADMIN)["hosts"]}
    shown = seen(site, lease, ADMIN)
    assert {each["id"]: each["name"] for each in shown} == listed
    assert [each["attributes"]["hypervisor_hostname"] for each in shown] == [each["name"] for each in shown]
    assert shown[0]["properties"] == {"rack": "r1", "cage": SECRET}


def test_everybody_sees_which_address_a_lease_has(site: World) -> None:
    lease = site.lease(floating_ips(1))
    (shown,) = seen(site, lease)
    (listed,) = site.get("/floatingips")["floatingips"]
    assert (shown["id"], shown["name"]) == (listed["id"], ADDRESS)
    assert shown["attributes"]["floating_ip_address"] == ADDRESS


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_it_is_new_in_1_2(site: World, version: str) -> None:
    lease = site.lease(hosts(1))
    assert asked(site, lease, version=version).status_code == 404
    assert asked(site, lease, ADMIN, version=version).status_code == 404


def test_only_who_may_see_the_lease_sees_what_it_has(site: World) -> None:
    lease = site.lease(hosts(1))
    stranger = {"X-User-Id": "bob", "X-Project-Id": "alt", "X-Roles": "member,reader"}
    answer = asked(site, lease, stranger)
    # As for the lease itself (contract http-api §5.2).
    assert (answer.status_code, answer.json["details"]) == (403, {"rule": "blazar:leases:get"})
    assert site.ask("GET", f"/leases/{lease['id']}", headers=stranger).status_code == 403
    assert asked(site, lease, {**MEMBER, "X-Roles": "reader"}).status_code == 200
    assert asked(site, {"id": "unknown"}).status_code == 404
    unknown = site.ask("GET", f"/leases/{lease['id']}/resources", headers=V1_2, params={"names": "1"})
    assert (unknown.status_code, unknown.json["code"]) == (400, "leasehold.input.unknown")


def test_a_failed_host_is_left_beside_its_substitute_until_its_servers_are_gone(site: World) -> None:
    lease = site.lease(hosts(1), end_date=site.date(hours=5))
    site.wait(minutes=1)
    server = site.boot("m1.small", lease["reservations"][0]["id"])
    site.inside.fail("cmp-01")
    assert named(site, lease) == [("cmp-01", "failed", True, False), ("cmp-02", "healthy", False, True)]
    # Its owner sees as much, without the names.
    assert [(each["health"], each["left"]) for each in seen(site, lease)] == [("failed", True), ("healthy", False)]
    assert "cmp-0" not in asked(site, lease).text
    site.cloud.servers.delete(server.id)
    site.inside.recover("cmp-01")
    site.wait(minutes=5)
    assert named(site, lease) == [("cmp-02", "healthy", False, True)]


def test_a_swapped_host_is_left_and_works(site: World) -> None:
    lease = site.lease(hosts(1), end_date=site.date(hours=5))
    site.wait(minutes=1)
    server = site.boot("m1.small", lease["reservations"][0]["id"])
    body = {"server": server.id, "servers": [server.id]}
    assert site.ask("POST", f"/leases/{lease['id']}/swap", body, headers=V1_2).status_code == 200
    assert named(site, lease) == [("cmp-01", "healthy", True, False), ("cmp-02", "healthy", False, False)]
    old, new = seen(site, lease)
    assert new["start_date"] > old["start_date"]


def test_a_host_that_is_down_for_less_than_the_grace_period_is_kept(site: World) -> None:
    inside = site.inside.with_settings(manager=ManagerSettings(failure_grace_seconds=600))
    lease = site.lease(hosts(1), end_date=site.date(hours=5))
    site.wait(minutes=1)
    inside.fail("cmp-01")
    assert named(site, lease) == [("cmp-01", "down", False, False)]
    site.inside.clock.advance(seconds=600)
    inside.fail("cmp-01")
    inside.engine.dispose()
    assert named(site, lease) == [("cmp-01", "failed", True, False), ("cmp-02", "healthy", False, True)]


def test_what_is_released_is_not_listed(site: World) -> None:
    lease = site.lease(hosts(1), floating_ips(1), end_date=site.date(hours=1))
    empty = site.lease()
    site.wait(minutes=30)
    assert named(site, lease) == [("cmp-01", "healthy", False, False)]
    site.wait(hours=1)
    assert site.show(lease)["status"] == "TERMINATED"
    assert [each["resources"] for each in asked(site, lease).json["reservations"]] == [[], []]
    assert asked(site, empty).json == {"reservations": []}


def test_a_maintenance_window_shows_its_hosts(site: World) -> None:
    ids = [each["id"] for each in site.get("/os-hosts", headers=ADMIN)["hosts"]]
    body = {"name": "fans", "start_date": "now", "end_date": site.date(hours=1), "hosts": ids}
    window = site.ask("POST", "/maintenances", body, headers={**ADMIN, **V1_2}).json["maintenance"]
    assert [each["id"] for each in seen(site, window, ADMIN)] == ids
    assert asked(site, window).json["reservations"][0]["resource_type"] == "maintenance:host"
