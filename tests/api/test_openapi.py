"""The OpenAPI description covers every route, and the answers match it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from leasehold.api.routes import ROUTES
from leasehold.cloud.sandbox.seed import NETWORK_ID, SUGGESTED_FLOATING_IPS

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.conftest import Client

LEASE = {
    "name": "n",
    "start_date": "2031-05-01 10:00",
    "end_date": "2031-05-01 12:00",
    "events": [{"event_type": "notify"}],
    "reservations": [
        {"resource_type": "physical:host", "min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""}
    ],
}


@pytest.fixture
def document(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = client.web.simulate_get("/v1/openapi.json").json
    return found


def check(document: dict[str, Any], answer: testing.Result, method: str, path: str) -> None:
    """Fail unless the document allows this answer for the operation."""
    responses = document["paths"][path][method.lower()]["responses"]
    status = str(answer.status_code)
    response = responses.get(status) or responses[f"{status[0]}XX"]
    if "content" not in response:
        assert answer.content == b""
        return
    schema = {**response["content"]["application/json"]["schema"], "components": document["components"]}
    Draft202012Validator(schema).validate(answer.json)


def test_every_route_is_described_once(document: dict[str, Any]) -> None:
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES}
    ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(ids) == len(set(ids))


def test_every_schema_is_one(document: dict[str, Any]) -> None:
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_reservations_are_described_by_their_types(document: dict[str, Any]) -> None:
    variants = document["components"]["schemas"]["ReservationRequest"]["anyOf"]
    kinds = {each["allOf"][1]["properties"]["resource_type"]["const"] for each in variants}
    assert kinds == {"physical:host", "virtual:instance", "flavor:instance", "virtual:floatingip"}


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_what_is_served_is_what_is_described(admin: Client, document: dict[str, Any], version: str) -> None:
    caller = admin.but(version=version)

    def ask(method: str, path: str, body: Any = None, query: str = "", **words: str) -> Any:
        answer = caller.ask(method, path.format(**words), body, query_string=query)
        check(document, answer, method, path)
        return answer.json if answer.content else None

    ask("GET", "/")
    ask("GET", "/healthcheck")
    host = ask("POST", "/v1/os-hosts", {"name": "cmp-01", "rack": "r7"})["host"]["id"]
    lease = ask("POST", "/v1/leases", LEASE)["lease"]["id"]
    address = {"floating_network_id": NETWORK_ID, "floating_ip_address": SUGGESTED_FLOATING_IPS[0]}
    floating_ip = ask("POST", "/v1/floatingips", address)["floatingip"]["id"]
    for path in (
        "/v1/leases",
        "/v1/os-hosts",
        "/v1/os-hosts/allocations",
        "/v1/os-hosts/properties",
        "/v1/floatingips",
    ):
        ask("GET", path)
    ask("GET", "/v1/os-hosts/properties", query="detail=1")
    ask("PATCH", "/v1/os-hosts/properties/{name}", {"private": False}, name="rack")
    ask("GET", "/v1/leases/{lease_id}", lease_id=lease)
    ask("PUT", "/v1/leases/{lease_id}", {"name": "x"}, lease_id=lease)
    ask("GET", "/v1/os-hosts/{host_id}", host_id=host)
    ask("PUT", "/v1/os-hosts/{host_id}", {"rack": "r8"}, host_id=host)
    ask("GET", "/v1/os-hosts/{host_id}/allocation", host_id=host)
    ask("GET", "/v1/floatingips/{floatingip_id}", floatingip_id=floating_ip)
    ask("DELETE", "/v1/leases/{lease_id}", lease_id=lease)
    ask("DELETE", "/v1/os-hosts/{host_id}", host_id=host)
    ask("DELETE", "/v1/floatingips/{floatingip_id}", floatingip_id=floating_ip)
    # Errors of each shape.
    ask("GET", "/v1/leases/{lease_id}", lease_id="none-such")
    ask("POST", "/v1/leases", {})
    ask("POST", "/v1/leases", [])
    ask("POST", "/v1/leases", {**LEASE, "reservations": [{**LEASE["reservations"][0], "min": 9, "max": 9}]})  # type: ignore[dict-item]
