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


@pytest.mark.parametrize(
    ("path", "body", "status", "field"),
    [
        (HOSTS, {}, 400, "name"),
        (HOSTS, {"name": "cmp-99"}, 404, None),
        (HOSTS, {"name": "cmp-01", "properties": []}, 400, "properties"),
        (HOSTS, {"name": "cmp-01", "properties": {"a/b": "1"}}, 400, "a/b"),
        (HOSTS, {"name": "cmp-01", "properties": {"vcpus": "1000"}}, 400, "vcpus"),
        (HOSTS, {"name": "cmp-01", "properties": {"id": "2"}}, 400, "id"),
        (ADDRESSES, {"floating_network_id": "x"}, 400, "floating_ip_address"),
        (ADDRESSES, {**ADDRESS, "floating_ip_address": "one"}, 400, "floating_ip_address"),
        ("/v1/resources/virtual:instance", {"name": "cmp-01"}, 400, "resource_type"),
        ("/v1/resources/virtual:quantum", {"name": "cmp-01"}, 404, None),
    ],
)
def test_what_cannot_be_enrolled_is_refused_with_the_field(
    admin: Client, path: str, body: object, status: int, field: str | None
) -> None:
    found, answer = ask(admin, "POST", path, body)
    assert (found, answer.get("field")) == (status, field), answer
    assert admin.ask("GET", "/v1/os-hosts").json == {"hosts": []}


@pytest.mark.parametrize(
    "properties", [{}, {"hypervisor_hostname": "mine"}, {"vcpus": None}, {"id": "7"}, {"rack": ["a"]}]
)
def test_a_change_that_cannot_be_made_leaves_everything_as_it_was(admin: Client, properties: dict[str, Any]) -> None:
    _, made = ask(admin, "POST", HOSTS, {"name": "cmp-01", "properties": {"rack": "r7"}})
    assert ask(admin, "PUT", f"{HOSTS}/1", {"properties": properties})[0] == 400
    assert ask(admin, "GET", f"{HOSTS}/1") == (200, made)


def test_the_types_that_are_switched_on_are_listed(admin: Client) -> None:
    _, answer = ask(admin, "GET", "/v1/resources")
    found = {each["resource_type"]: each["enrolled"] for each in answer["resource_types"]}
    assert found == {
        "flavor:instance": False,
        "physical:host": True,
        "virtual:floatingip": True,
        "virtual:instance": False,
    }


def test_before_1_2_there_is_no_such_path(admin: Client) -> None:
    answer = admin.ask("GET", HOSTS, headers={"OpenStack-API-Version": "reservation 1.1"})
    assert answer.status_code == 404


def test_members_may_not(client: Client) -> None:
    assert ask(client, "GET", HOSTS)[0] == 403
    assert ask(client, "POST", HOSTS, {"name": "cmp-01"})[0] == 403
