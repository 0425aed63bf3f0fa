"""Contract http-api: the rows that unmodified clients depend on, and the requirements for a new server."""

from __future__ import annotations

import re
from typing import Any

import pytest

from leasehold.cloud.sandbox import seed
from tests.v1.world import ADMIN, HOST, INSTANCE, World, event

SIX_DIGITS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")
RECORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{6})?")
JSON = {"Content-Type": "application/json"}
OURS = ("start_lease", "end_lease", "before_end_lease")


def body(world: World, **changes: Any) -> dict[str, Any]:
    return {"name": "n", "start_date": "now", "end_date": world.date(hours=1), **changes}


# ---------------------------------------------------------------- §1: endpoint


def test_http_api_1_root_leads_to_an_endpoint_that_ends_in_v1(cloud_world: World) -> None:
    """The `self` link of v1 in the version document ends in /v1, and the paths below it work."""
    answer = cloud_world.web.simulate_get("/", headers=ADMIN)
    assert answer.status_code == 300
    (version,) = [each for each in answer.json["versions"] if each["id"].startswith("v1")]
    (link,) = [each["href"] for each in version["links"] if each["rel"] == "self"]
    assert link.endswith("/v1")
    path = "/" + link.split("://", 1)[1].partition("/")[2]
    assert cloud_world.web.simulate_get(f"{path}/leases", headers=ADMIN).status_code == 200


# ---------------------------------------------------------------- §3: errors


# ---------------------------------------------------------------- §4: dates


def test_http_api_4_dates_out_have_six_fraction_digits(cloud_world: World) -> None:
    """Dates of leases, events and allocations are %Y-%m-%dT%H:%M:%S.%f, six digits, no zone, in every answer."""
    host = cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(HOST, before_end_date=cloud_world.date(minutes=30))
    cloud_world.wait(seconds=1)
    updated = cloud_world.ask("PUT", f"/leases/{lease['id']}", {"end_date": cloud_world.date(hours=2)}).json["lease"]
    for shown in (lease, updated, cloud_world.show(lease), *cloud_world.get("/leases")["leases"]):
        for date in (shown["start_date"], shown["end_date"], *(each["time"] for each in shown["events"])):
            assert SIX_DIGITS.fullmatch(date)
        assert RECORD.fullmatch(shown["created_at"])
    promises = [
        *cloud_world.get("/os-hosts/allocations")["allocations"][0]["reservations"],
        *cloud_world.get(f"/os-hosts/{host['id']}/allocation")["allocation"]["reservations"],
    ]
    assert len(promises) == 2
    for promise in promises:
        assert SIX_DIGITS.fullmatch(promise["start_date"])
        assert SIX_DIGITS.fullmatch(promise["end_date"])


# ---------------------------------------------------------------- §5.3: events of clients


def test_http_api_5_3_events_in_the_shape_of_the_command_line(cloud_world: World) -> None:
    """An event with `event_type` and `event_date` is accepted, shown without a time, and never run; {} is no event."""
    events: list[dict[str, Any]] = [{"event_type": "notification", "event_date": cloud_world.date(minutes=1)}, {}]
    lease = cloud_world.lease(events=events)
    cloud_world.wait(minutes=5)
    assert len(lease["events"]) == 4
    shown = event(cloud_world.show(lease), "notification")
    assert (shown["time"], shown["status"]) == (None, None)
    assert cloud_world.show(lease)["status"] == "ACTIVE"


@pytest.mark.parametrize("kind", OURS)
def test_http_api_5_3_no_client_injects_our_events(cloud_world: World, kind: str) -> None:
    """A client's event of one of the service's three types neither appears twice nor moves the service's event."""
    injected = {"event_type": kind, "event_date": cloud_world.date(), "time": cloud_world.date(), "status": "UNDONE"}
    plain, lease = cloud_world.lease(), cloud_world.lease(events=[injected])
    assert sorted(each["event_type"] for each in lease["events"]) == sorted(OURS)
    for name in OURS:
        assert event(lease, name)["time"] == event(plain, name)["time"]
    cloud_world.wait(minutes=5)
    assert cloud_world.show(lease)["status"] == "ACTIVE"


# ---------------------------------------------------------------- §10.1: arguments of the command line

CLI_RESERVATIONS: dict[str, dict[str, Any]] = {
    "host, blank properties": {"min": 1, "max": 2, "hypervisor_properties": "", "resource_properties": ""},
    "host, an expression as text": {
        "min": 1,
        "max": 1,
        "hypervisor_properties": '[">=", "$vcpus", "2"]',
        "resource_properties": '["==", "$rack", "a1"]',
        "before_end": "snapshot",
    },
    "instance, affinity None": {
        "vcpus": 1,
        "memory_mb": 512,
        "disk_gb": 5,
        "amount": 2,
        "affinity": "None",
        "resource_properties": "",
    },
    "instance, affinity True": {
        "vcpus": 1,
        "memory_mb": 512,
        "disk_gb": 0,
        "amount": 2,
        "affinity": "True",
        "resource_properties": "[]",
    },
    "instance, affinity False": {
        "vcpus": 1,
        "memory_mb": 512,
        "disk_gb": 5,
        "amount": 2,
        "affinity": "False",
        "resource_properties": "",
    },
    "flavor": {"flavor_id": "m1.small", "amount": 1, "affinity": "None"},
    "floating IP, the defaults": {"network_id": seed.NETWORK_ID, "amount": 1, "required_floatingips": []},
    "floating IP, named": {
        "network_id": seed.NETWORK_ID,
        "amount": 2,
        "required_floatingips": [seed.SUGGESTED_FLOATING_IPS[1]],
    },
}
TYPES = {
    "host": "physical:host",
    "instance": "virtual:instance",
    "flavor": "flavor:instance",
    "floating IP": "virtual:floatingip",
}


@pytest.mark.parametrize("name", CLI_RESERVATIONS)
def test_http_api_10_1_reservations_of_the_command_line(full: World, name: str) -> None:
    """Every form in which the command line sends its arguments is granted."""
    for address in seed.SUGGESTED_FLOATING_IPS[:2]:
        sent = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": address}
        assert full.ask("POST", "/floatingips", sent).status_code == 201
    asked = {**CLI_RESERVATIONS[name], "resource_type": TYPES[name.partition(",")[0]]}
    lease = full.lease(asked)
    assert lease["reservations"][0]["resource_type"] == asked["resource_type"]
    full.wait(seconds=1)
    assert full.show(lease)["status"] == "ACTIVE"


def test_http_api_10_1_a_flavor_id_that_arrives_as_an_integer(cloud_world: World) -> None:
    """The command line sends flavor_id=3 as a number; the service reads it as the flavor "3"."""
    cloud_world.enrol("cmp-01")
    small = cloud_world.cloud.flavors.get("m1.small")
    assert small is not None
    cloud_world.cloud.flavors.ensure(type(small)("3", "three", 1, 512, 5, public=True))
    lease = cloud_world.lease({"resource_type": "flavor:instance", "flavor_id": 3, "amount": 1, "affinity": "None"})
    assert lease["reservations"][0]["memory_mb"] == 512


@pytest.mark.parametrize(
    "change",
    [
        {"min": 1, "max": 2},
        {"max": "2"},
        {"resource_properties": '["==", "$rack", "a1"]'},
        {"hypervisor_properties": ""},
    ],
)
def test_http_api_10_1_reservations_of_lease_set(full: World, change: dict[str, Any]) -> None:
    """`lease set --reservation` sends the id and some keys; the other keys keep their values."""
    lease = full.lease(HOST)
    sent = {"reservations": [{"id": lease["reservations"][0]["id"], **change}]}
    answer = full.ask("PUT", f"/leases/{lease['id']}", sent)
    assert answer.status_code == 200, answer.text
    (shown,) = full.show(lease)["reservations"]
    assert {key: str(shown[key]) for key in change} == {key: str(value) for key, value in change.items()}


# ---------------------------------------------------------------- requirements for a new server


def test_http_api_5_3_unknown_keys_are_not_assigned(cloud_world: World) -> None:
    """No key of a request sets a column that clients must not set; the server chooses the ids."""
    stolen = {"id": "x", "degraded": True, "project_id": "alt", "user_id": "x", "trust_id": "x", "status": "ERROR"}
    lease = cloud_world.lease(**stolen)
    again = cloud_world.ask("PUT", f"/leases/{lease['id']}", {**stolen, "name": "new"}).json["lease"]
    for shown in (lease, again):
        assert not any(shown[key] == value for key, value in stolen.items())
    assert again["name"] == "new"


def test_http_api_5_4_events_in_an_update_are_ignored(cloud_world: World) -> None:
    """`"events": []` in a PUT, as in the published sample, removes no event."""
    lease = cloud_world.lease()
    answer = cloud_world.ask("PUT", f"/leases/{lease['id']}", {"events": [], "end_date": cloud_world.date(hours=3)})
    assert answer.status_code == 200
    assert len(cloud_world.show(lease)["events"]) == 3
    cloud_world.wait(hours=3, minutes=1)
    assert cloud_world.show(lease)["status"] == "TERMINATED"


def test_http_api_6_ids_of_hosts_are_hypervisor_ids(full: World) -> None:
    """A host's id is the hypervisor's id, a string of decimal digits, so that clients can tell ids from names."""
    found = {each.hypervisor_hostname: each.id for each in full.cloud.hypervisors.list()}
    for host in full.get("/os-hosts")["hosts"]:
        assert host["id"] == found[host["hypervisor_hostname"]]
        assert host["id"].isdigit()


def test_http_api_6_1_every_slot_is_an_entry(cloud_world: World) -> None:
    """A reservation with n slots on a host is listed n times for that host."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease({**INSTANCE, "amount": 3, "affinity": None})
    (allocation,) = cloud_world.get("/os-hosts/allocations")["allocations"]
    assert [each["id"] for each in allocation["reservations"]] == [lease["reservations"][0]["id"]] * 3


def test_http_api_6_1_only_what_is_not_over_yet(cloud_world: World) -> None:
    """Allocations of ended leases are not listed, whatever the filter."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.lease(HOST, end_date=cloud_world.date(minutes=2))
    cloud_world.wait(minutes=3)
    assert cloud_world.show(lease)["status"] == "TERMINATED"
    for asked in ("", f"?lease_id={lease['id']}", f"?reservation_id={lease['reservations'][0]['id']}"):
        found = cloud_world.get(f"/os-hosts/allocations{asked}")["allocations"]
        assert [promise for each in found for promise in each["reservations"]] == []
