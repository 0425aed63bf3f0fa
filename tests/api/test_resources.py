"""Generic resource paths, from microversion 1.2 on: the same answers for every type, in addition to v1's paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.sandbox import seed

if TYPE_CHECKING:
    from tests.api.conftest import Client

HOSTS, ADDRESSES = "/v1/resources/physical:host", "/v1/resources/virtual:floatingip"
NEW = {"OpenStack-API-Version": "reservation 1.2"}
ADDRESS = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": "203.0.113.200"}


def ask(client: Client, method: str, path: str, body: object = None) -> tuple[int, Any]:
    answer = client.ask(method, path, body, headers=NEW)
    return answer.status_code, answer.json if answer.content else None


@pytest.mark.parametrize(
    ("path", "description", "name"), [(HOSTS, {"name": "cmp-01"}, "cmp-01"), (ADDRESSES, ADDRESS, "203.0.113.200")]
)
def test_a_resource_of_any_type_is_enrolled_shown_changed_and_removed(
    admin: Client, path: str, description: dict[str, str], name: str
) -> None:
    status, answer = ask(admin, "POST", path, {**description, "properties": {"rack": 7}})
    made = answer["resource"]
    assert (status, made["name"], made["properties"], made["health"]) == (201, name, {"rack": "7"}, "healthy")
    assert ask(admin, "GET", path) == (200, {"resources": [made]})
    one = f"{path}/{made['id']}"
    status, answer = ask(admin, "PUT", one, {"properties": {"rack": None, "row": "b"}})
    assert (status, answer["resource"]["properties"]) == (200, {"row": "b"})
    assert ask(admin, "GET", one) == (200, answer)
    assert ask(admin, "GET", f"{one}/allocation") == (
        200,
        {"allocation": {"resource_id": made["id"], "reservations": []}},
    )
    assert ask(admin, "GET", f"{path}/allocations")[1]["allocations"] == [
        {"resource_id": made["id"], "reservations": []}
    ]
    assert ask(admin, "GET", f"{path}/properties") == (200, {"resource_properties": [{"property": "row"}]})
    status, answer = ask(admin, "PATCH", f"{path}/properties/row", {"private": True})
    assert (status, answer["resource_property"]["private"]) == (200, True)
    assert ask(admin, "DELETE", one) == (204, None)
    assert ask(admin, "GET", one)[0] == 404


def test_the_same_host_is_at_both_paths(admin: Client) -> None:
    _, answer = ask(admin, "POST", HOSTS, {"name": "cmp-01", "properties": {"rack": "r7"}})
    old = admin.ask("GET", "/v1/os-hosts/1").json["host"]
    assert (answer["resource"]["id"], old["rack"]) == (old["id"], "r7")
    assert answer["resource"]["attributes"]["vcpus"] == old["vcpus"]


def test_the_types_that_are_switched_on_are_listed(admin: Client) -> None:
    _, answer = ask(admin, "GET", "/v1/resources")
    found = {each["resource_type"]: each["enrolled"] for each in answer["resource_types"]}
    assert found == {
        "flavor:instance": False,
        "physical:host": True,
        "virtual:floatingip": True,
        "virtual:instance": False,
    }
