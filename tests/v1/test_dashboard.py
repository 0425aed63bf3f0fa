"""Contract clients §2: what the dashboard sends and reads."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.v1.world import HOST, INSTANCE, moment

if TYPE_CHECKING:
    from tests.v1.world import World

LEASE_FIELDS = {"id", "name", "start_date", "end_date", "project_id", "status", "degraded", "events", "reservations"}
GENERAL_FIELDS = {
    "id",
    "lease_id",
    "resource_id",
    "resource_type",
    "status",
    "missing_resources",
    "resources_changed",
    "created_at",
    "updated_at",
}
HOST_FIELDS: dict[str, type | tuple[type, ...]] = {
    "id": str,
    "hypervisor_hostname": str,
    "hypervisor_type": str,
    "hypervisor_version": int,
    "vcpus": int,
    "cpu_info": str,
    "memory_mb": int,
    "local_gb": int,
    "service_name": str,
    "reservable": bool,
    "status": type(None),
    "trust_id": (str, type(None)),
    "created_at": (str, type(None)),
    "updated_at": (str, type(None)),
}


@pytest.mark.parametrize("second", [0, 30, 59])
def test_clients_2_blank_start_is_the_current_minute_as_a_literal(cloud_world: World, second: int) -> None:
    """A start equal to the current minute is accepted, although its seconds have passed."""
    cloud_world.set_second(second)
    lease = cloud_world.lease(start_date=cloud_world.date(), end_date=cloud_world.date(hours=24))
    assert moment(lease["start_date"]) == cloud_world.now.replace(second=0)


def test_clients_2_host_form(cloud_world: World) -> None:
    """The form sends integers, possibly blank property expressions, and no before_end."""
    cloud_world.enrol("cmp-01")
    (reservation,) = cloud_world.lease(HOST)["reservations"]
    assert (reservation["min"], reservation["max"], reservation["before_end"]) == (1, 1, "default")


@pytest.mark.parametrize(
    ("sent", "meant"), [("True", True), ("False", False), ("None", None), ("", None), (None, None), (False, False)]
)
def test_clients_2_affinity_as_the_form_sends_it(cloud_world: World, sent: Any, meant: Any) -> None:
    """The form sends the words True and False, and the word None or a blank for no value."""
    cloud_world.enrol("cmp-01")
    (reservation,) = cloud_world.lease({**INSTANCE, "affinity": sent})["reservations"]
    assert reservation["affinity"] is meant


def test_clients_2_fields_of_a_lease(cloud_world: World) -> None:
    """All fields that the pages read are there; dates of lease and events have the calendar's form."""
    cloud_world.enrol("cmp-01")
    lease = cloud_world.show(cloud_world.lease(HOST))
    assert lease.keys() >= LEASE_FIELDS
    assert all(each.keys() >= {"event_type", "status", "time"} for each in lease["events"])
    assert all(each.keys() >= GENERAL_FIELDS for each in lease["reservations"])
    for date in (lease["start_date"], lease["end_date"], *(each["time"] for each in lease["events"])):
        assert moment(date) >= cloud_world.now.replace(second=0)


def test_clients_2_fields_of_a_host(cloud_world: World) -> None:
    """All fields of the host page are there, each of its type; every other key is shown as a capability."""
    cloud_world.enrol("cmp-01", rack="a1")
    (host,) = cloud_world.get("/os-hosts")["hosts"]
    for name, kind in HOST_FIELDS.items():
        assert isinstance(host[name], kind), name
    assert host.keys() - HOST_FIELDS.keys() == {"availability_zone", "rack"}
    assert host["rack"] == "a1"


def test_http_api_6_cpu_info_is_json_text(full: World) -> None:
    """`cpu_info` is a string that the dashboard can decode as JSON, for every host, also after an update."""
    for host in full.get("/os-hosts")["hosts"]:
        full.ask("PUT", f"/os-hosts/{host['id']}", {"colour": "red"})
        shown = full.get(f"/os-hosts/{host['id']}")["host"]["cpu_info"]
        assert isinstance(json.loads(shown), dict)


def test_clients_2_calendar_joins_allocations_with_hosts(full: World) -> None:
    """The calendar joins on `resource_id` equal to the host's `id`: both strings, every host listed."""
    hosts = {host["id"]: host for host in full.get("/os-hosts")["hosts"]}
    lease = full.lease({**HOST, "max": 2})
    allocations = full.get("/os-hosts/allocations")["allocations"]
    assert {each["resource_id"] for each in allocations} == hosts.keys()
    assert all(isinstance(each["resource_id"], str) for each in allocations)
    promises = [promise for each in allocations for promise in each["reservations"]]
    assert len(promises) == 2
    for promise in promises:
        assert promise.keys() == {"id", "lease_id", "start_date", "end_date"}
        assert promise["lease_id"] == lease["id"]
        assert moment(promise["start_date"]) <= full.now
        assert moment(promise["end_date"]) > full.now


def test_clients_2_update_form(full: World) -> None:
    """Prolonging and deferring arrive as new dates; reservations arrive as JSON with their ids."""
    lease = full.lease(HOST, start_date=full.date(hours=1), end_date=full.date(hours=2))
    change = {
        "name": "renamed",
        "start_date": full.date(hours=2),
        "end_date": full.date(hours=4),
        "reservations": [{"id": lease["reservations"][0]["id"], "max": 3}],
    }
    answer = full.ask("PUT", f"/leases/{lease['id']}", change)
    assert answer.status_code == 200, answer.text
    shown = full.show(lease)
    assert (shown["name"], shown["reservations"][0]["max"]) == ("renamed", 3)
    assert shown["end_date"] > lease["end_date"]


def test_clients_2_hosts_are_created_with_json_capabilities(cloud_world: World) -> None:
    """Capabilities arrive as JSON values and are shown as strings."""
    answer = cloud_world.ask("POST", "/os-hosts", {"name": "cmp-02", "gpus": 4, "ssd": True, "rack": "r7"})
    assert answer.status_code == 201, answer.text
    host = answer.json["host"]
    assert (host["gpus"], host["ssd"], host["rack"]) == ("4", "True", "r7")
