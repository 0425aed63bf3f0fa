"""Contract http-api §6: hosts and their properties."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Client


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


def test_from_1_2_on_the_same_host_is_at_both_paths(admin: Client) -> None:
    body = {"name": "cmp-01", "properties": {"rack": "r7"}}
    made = admin.but(version="1.2").ask("POST", "/v1/resources/physical:host", body).json["resource"]
    old = admin.ask("GET", "/v1/os-hosts/1").json["host"]
    assert (made["id"], made["attributes"]["vcpus"]) == (old["id"], old["vcpus"])
    assert old["rack"] == "r7"


# ---------------------------------------------------------------- §6.2


def properties(client: Client, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = client.ask("GET", "/v1/os-hosts/properties", query_string=query).json[
        "resource_properties"
    ]
    return found


def test_6_2_private_ones_need_all_and_an_administrator(admin: Client, host: str) -> None:
    assert admin.ask("PATCH", "/v1/os-hosts/properties/rack", {"private": True}).status_code == 200
    assert properties(admin) == []
    assert properties(admin, "all=x") == [{"property": "rack"}]
    assert properties(admin, "all=False&detail=0") == [{"property": "rack", "private": True, "values": ["a1"]}]
    newest = admin.but(version="1.3")
    assert properties(newest, "all=false&detail=true") == []
    assert properties(newest, "all=True&detail=false") == [{"property": "rack"}]
    for key in ("all", "detail"):
        refused = newest.ask("GET", "/v1/os-hosts/properties", query_string=f"{key}=x")
        assert (refused.status_code, refused.json["field"]) == (400, key)
