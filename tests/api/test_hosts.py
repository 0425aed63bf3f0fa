"""Contract http-api §6: hosts, their allocations and their properties."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Client

LEASE = {
    "name": "n",
    "start_date": "2031-05-01 10:00",
    "end_date": "2031-05-01 12:00",
    "reservations": [
        {"resource_type": "physical:host", "min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""}
    ],
}
ROOM = {
    "resource_type": "virtual:instance",
    "amount": 3,
    "vcpus": 1,
    "memory_mb": 512,
    "disk_gb": 1,
    "affinity": None,
    "resource_properties": "",
}
FIELDS = {
    *("id", "hypervisor_hostname", "hypervisor_type", "hypervisor_version", "vcpus", "cpu_info", "memory_mb"),
    *("local_gb", "service_name", "availability_zone", "reservable", "status", "trust_id", "created_at", "updated_at"),
}


def test_6_the_host_object(admin: Client) -> None:
    answer = admin.ask("POST", "/v1/os-hosts", {"name": "cmp-01", "rack": "r7"})
    assert answer.status_code == 201
    host = answer.json["host"]
    assert set(host) == FIELDS | {"rack"}
    assert (host["id"], host["rack"], host["status"], host["trust_id"]) == ("1", "r7", None, None)
    assert json.loads(host["cpu_info"])["arch"] == "x86_64"
    assert admin.ask("GET", "/v1/os-hosts/1").json == {"host": host}
    assert admin.ask("GET", "/v1/os-hosts").json == {"hosts": [host]}


@pytest.mark.parametrize("reference", [{"id": "2"}, {"id": 2}, {"id": "2", "name": "cmp-01"}])
def test_6_post_by_id_which_wins(admin: Client, reference: dict[str, Any]) -> None:
    assert admin.ask("POST", "/v1/os-hosts", reference).json["host"]["hypervisor_hostname"] == "cmp-02"


def test_6_post_values_become_text_and_discovered_fields_are_dropped(admin: Client) -> None:
    body = {
        "name": "cmp-01",
        "k" * 64: "v",
        "slots": 8,
        "gpu": True,
        "ratio": 1.5,
        "vcpus": "1000",
        "reservable": False,
    }
    host = admin.ask("POST", "/v1/os-hosts", body).json["host"]
    assert (host["slots"], host["gpu"], host["ratio"]) == ("8", "True", "1.5")
    assert (host["k" * 64], host["vcpus"], host["reservable"]) == ("v", 8, True)


def test_null_takes_a_property_away(admin: Client, host: str) -> None:
    answer = admin.ask("PUT", f"/v1/os-hosts/{host}", {"rack": None, "row": "3"})
    assert answer.status_code == 200
    assert "rack" not in answer.json["host"]
    assert answer.json["host"]["row"] == "3"
    assert [each["property"] for each in admin.ask("GET", "/v1/os-hosts/properties").json["resource_properties"]] == [
        "row"
    ]


def test_6_put_sets_properties(admin: Client, host: str) -> None:
    answer = admin.ask("PUT", f"/v1/os-hosts/{host}", {"rack": "r8", "row": 3})
    assert answer.status_code == 200
    assert (answer.json["host"]["rack"], answer.json["host"]["row"]) == ("r8", "3")


def test_6_delete(admin: Client, host: str) -> None:
    lease = admin.ask("POST", "/v1/leases", LEASE).json["lease"]["id"]
    assert admin.ask("DELETE", f"/v1/os-hosts/{host}").status_code == 409
    admin.ask("DELETE", f"/v1/leases/{lease}")
    answer = admin.ask("DELETE", f"/v1/os-hosts/{host}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert admin.ask("DELETE", f"/v1/os-hosts/{host}").status_code == 404


# ---------------------------------------------------------------- §6.1


def test_6_1_every_host_is_listed(admin: Client, host: str) -> None:
    assert admin.ask("GET", "/v1/os-hosts/allocations").json == {
        "allocations": [{"resource_id": "1", "reservations": []}]
    }
    lease = admin.ask("POST", "/v1/leases", LEASE).json["lease"]
    entry = {
        "id": lease["reservations"][0]["id"],
        "lease_id": lease["id"],
        "start_date": "2031-05-01T10:00:00.000000",
        "end_date": "2031-05-01T12:00:00.000000",
    }
    found = {"resource_id": "1", "reservations": [entry]}
    assert admin.ask("GET", "/v1/os-hosts/allocations").json == {"allocations": [found]}
    assert admin.ask("GET", f"/v1/os-hosts/{host}/allocation").json == {"allocation": found}


def test_6_1_filters_narrow_the_promises_not_the_hosts(admin: Client, host: str) -> None:
    lease = admin.ask("POST", "/v1/leases", LEASE).json["lease"]

    def reservations(query: str) -> int:
        (found,) = admin.ask("GET", "/v1/os-hosts/allocations", query_string=query).json["allocations"]
        return len(found["reservations"])

    assert reservations(f"lease_id={lease['id']}") == 1
    assert reservations(f"reservation_id={lease['reservations'][0]['id']}") == 1
    assert reservations("lease_id=other") == 0
    assert reservations("reservation_id=other&nonsense=1") == 0
    assert reservations("lease_id=") == 1


def test_6_1_n_slots_are_n_entries(admin: Client, host: str) -> None:
    answer = admin.ask("POST", "/v1/leases", {**LEASE, "reservations": [ROOM]})
    assert answer.status_code == 201, answer.text
    (found,) = admin.ask("GET", "/v1/os-hosts/allocations").json["allocations"]
    assert len(found["reservations"]) == 3
    assert found["reservations"][0] == found["reservations"][2]


# ---------------------------------------------------------------- §6.2


def properties(client: Client, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.ask("GET", "/v1/os-hosts/properties", query_string=query).json[
        "resource_properties"
    ]
    return found


def test_6_2_list(admin: Client, host: str) -> None:
    assert properties(admin) == [{"property": "rack"}]
    assert properties(admin, "detail=True") == [{"property": "rack", "private": False, "values": ["a1"]}]
    assert properties(admin, "detail=") == [{"property": "rack"}]


def test_6_2_private_ones_need_all_and_an_administrator(admin: Client, host: str) -> None:
    assert admin.ask("PATCH", "/v1/os-hosts/properties/rack", {"private": True}).status_code == 200
    assert properties(admin) == []
    assert properties(admin, "all=x") == [{"property": "rack"}]
    assert properties(admin, "all=False&detail=0") == [{"property": "rack", "private": True, "values": ["a1"]}]


def test_6_2_patch(admin: Client, host: str) -> None:
    answer = admin.ask("PATCH", "/v1/os-hosts/properties/rack", {"private": True})
    definition = answer.json["resource_property"]
    assert set(definition) == {"id", "resource_type", "property_name", "private", "created_at", "updated_at"}
    assert (definition["resource_type"], definition["property_name"], definition["private"]) == (
        "physical:host",
        "rack",
        True,
    )
    assert "T" in definition["created_at"]
