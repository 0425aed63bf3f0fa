"""What the cloud has and could be enrolled: for administrators, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.sandbox.faults import Fault
from leasehold.model.errors import CloudUnavailableError

if TYPE_CHECKING:
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

pytestmark = pytest.mark.slow

PATH = "/v1/resources/physical:host/candidates"


@pytest.fixture
def operator(admin: Client, host: str) -> Client:
    """Return an administrator, where cmp-01 is enrolled."""
    assert host
    return admin.but(version="1.3")


def candidates(who: Client) -> dict[str, dict[str, Any]]:
    answer = who.ask("GET", PATH)
    assert answer.status_code == 200, answer.text
    return {each["name"]: each for each in answer.json["candidates"]}


def test_it_is_what_the_cloud_has_and_is_not_enrolled(operator: Client, service: Service) -> None:
    there = {each.hypervisor_hostname for each in service.cloud.hypervisors.list()}
    assert candidates(operator).keys() == there - {"cmp-01"}
    answer = operator.ask("POST", "/v1/os-hosts", {"name": "cmp-02"})
    assert answer.status_code == 201
    found = candidates(operator)
    assert found.keys() == there - {"cmp-01", "cmp-02"}
    one = next(iter(found.values()))
    assert (one["up"], one["enabled"], one["pool"], one["refused"]) == (True, True, "reservation", None)
    assert one["attributes"]["vcpus"] > 0
    assert operator.ask("DELETE", f"/v1/os-hosts/{answer.json['host']['id']}").status_code == 204
    assert "cmp-02" in candidates(operator)


def test_each_can_be_enrolled_for_the_pool_that_is_named(operator: Client, service: Service) -> None:
    server = service.cloud.servers.boot("theirs", "alt", "m1.small")  # type: ignore[attr-defined]
    for name, each in candidates(operator).items():
        assert (each["pool"] == "shared") == (each["attributes"]["service_name"] == server.service_host)
        answer = operator.ask("POST", "/v1/os-hosts", {"name": name, "pool": each["pool"]})
        assert answer.status_code == 201, answer.text
    assert candidates(operator) == {}


def test_a_cloud_that_is_down_is_said(operator: Client, service: Service) -> None:
    service.cloud.faults.set(Fault("hypervisors.list", error="before"))  # type: ignore[attr-defined]
    answer = operator.ask("GET", PATH)
    assert (answer.status_code, answer.json["code"]) == (CloudUnavailableError.status, CloudUnavailableError.code)
    assert "hosts" in answer.json["error_message"]


def test_members_and_older_versions_do_not_know_it(operator: Client, client: Client) -> None:
    assert client.but(version="1.3").ask("GET", PATH).status_code == 403
    assert operator.but(version="1.2").ask("GET", PATH).status_code == 404
