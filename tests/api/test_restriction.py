"""Feature C6 by the API: which projects may use a resource, from 1.3 on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cloud.sandbox.seed import NETWORK_ID, SUGGESTED_FLOATING_IPS
from leasehold.cmd.web import make_app
from leasehold.conf.settings import ApiSettings, PolicySettings
from leasehold.leasing.reading.event_log import sequence_events
from tests.factory import floating_ips, hosts
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

BODY = {"name": "l", "start_date": "2031-05-02 10:00", "end_date": "2031-05-02 12:00", "reservations": [hosts()]}
ONLY = {"projects": ["demo", "other"]}
ADDRESS = {"floating_network_id": NETWORK_ID, "floating_ip_address": SUGGESTED_FLOATING_IPS[0]}


@pytest.fixture
def operator(admin: Client) -> Client:
    return admin.but(version="1.3")


@pytest.fixture
def address(admin: Client) -> str:
    return str(admin.ask("POST", "/v1/floatingips", ADDRESS).json["floatingip"]["id"])


def path_of(host: str) -> str:
    return f"/v1/os-hosts/{host}"


def test_a_host_is_for_some_projects_and_says_so_to_administrators(operator: Client, client: Client, host: str) -> None:
    assert operator.ask("GET", path_of(host)).json["host"]["projects"] is None
    for shown in (operator.ask("PUT", path_of(host), ONLY), operator.ask("GET", path_of(host))):
        assert shown.status_code == 200
        assert shown.json["host"].items() >= {**ONLY, "rack": "a1", "reservable": True}.items()
    assert operator.ask("GET", "/v1/os-hosts").json["hosts"][0]["projects"] == ONLY["projects"]
    resource = operator.ask("GET", f"/v1/resources/physical:host/{host}")
    assert resource.json["resource"]["projects"] == ONLY["projects"]
    assert "projects" not in operator.but(version="1.2").ask("GET", path_of(host)).json["host"]
    other = client.but(user="bob", project="alt", version="1.3")
    refused = other.ask("POST", "/v1/leases", BODY)
    assert refused.status_code == 409
    assert "0 enrolled" in refused.json["error_message"]
    assert client.ask("POST", "/v1/leases", {**BODY, "events": []}).status_code == 201
    back = operator.ask("PUT", path_of(host), {"projects": None, "rack": "b2"}).json["host"]
    assert (back["projects"], back["rack"]) == (None, "b2")


def test_before_1_3_projects_is_a_property_like_any_other(admin: Client, operator: Client, host: str) -> None:
    for version in ("1.0", "1.2"):
        shown = admin.but(version=version).ask("PUT", path_of(host), {"projects": "mine"}).json["host"]
        assert shown["projects"] == "mine"
    assert operator.ask("GET", path_of(host)).json["host"]["projects"] is None
    created = admin.but(version="1.2").ask("POST", "/v1/os-hosts", {"name": "cmp-02", "projects": "mine"})
    assert created.json["host"]["projects"] == "mine"
    path = f"/v1/resources/physical:host/{host}"
    refused = operator.but(version="1.2").ask("PUT", path, {"projects": ["demo"]})
    assert refused.status_code == 400
    assert operator.ask("GET", path).json["resource"]["projects"] is None


@pytest.mark.parametrize("value", [[], "demo", [7], [""], ["x" * 256], 7, True, [None]])
def test_bad_projects_are_named_and_change_nothing(operator: Client, host: str, value: Any) -> None:
    for path in (path_of(host), f"/v1/resources/physical:host/{host}"):
        refused = operator.ask("PUT", path, {"projects": value})
        assert (refused.status_code, refused.json["field"].split(".")[0].split("[")[0]) == (400, "projects")
    assert operator.ask("GET", path_of(host)).json["host"]["projects"] is None


@pytest.mark.parametrize(
    ("path", "one", "body"),
    [
        ("/v1/os-hosts", "host", {"name": "cmp-02"}),
        ("/v1/floatingips", "floatingip", ADDRESS),
        ("/v1/resources/physical:host", "resource", {"name": "cmp-02"}),
        ("/v1/resources/virtual:floatingip", "resource", ADDRESS),
    ],
)
def test_what_is_enrolled_for_some_is_never_there_for_others(
    operator: Client, client: Client, path: str, one: str, body: dict[str, Any]
) -> None:
    for bad in ([], "demo", [""]):
        refused = operator.ask("POST", path, {**body, "projects": bad})
        assert (refused.status_code, refused.json["field"]) == (400, "projects" if bad != [""] else "projects[0]")
    made = operator.ask("POST", path, {**body, **ONLY})
    assert (made.status_code, made.json[one]["projects"]) == (201, ONLY["projects"])
    ident = made.json[one]["id"]
    assert operator.ask("GET", f"{path}/{ident}").json[one]["projects"] == ONLY["projects"]
    wanted = {**BODY, "reservations": [hosts() if body != ADDRESS else floating_ips()]}
    other = client.but(user="bob", project="alt", version="1.3")
    # Of a network without addresses, 400.
    assert other.ask("POST", "/v1/leases", wanted).status_code in {400, 409}
    assert client.ask("POST", "/v1/leases", {**wanted, "events": []}).status_code == 201


def test_null_at_an_enrolment_means_everybody(operator: Client) -> None:
    made = operator.ask("POST", "/v1/os-hosts", {"name": "cmp-02", "projects": None})
    assert (made.status_code, made.json["host"]["projects"]) == (201, None)


def test_before_1_3_no_enrolment_reads_projects(admin: Client, operator: Client) -> None:
    old = admin.but(version="1.2")
    refused = old.ask("POST", "/v1/resources/physical:host", {"name": "cmp-02", **ONLY})
    assert (refused.status_code, refused.json["code"]) == (400, "leasehold.input.unknown")
    assert old.ask("POST", "/v1/floatingips", {**ADDRESS, **ONLY}).status_code == 400
    made = admin.ask("POST", "/v1/floatingips", {**ADDRESS, **ONLY}).json["floatingip"]
    assert operator.ask("GET", f"/v1/floatingips/{made['id']}").json["floatingip"]["projects"] is None


def test_an_address_for_others_is_not_shown(operator: Client, client: Client, address: str) -> None:
    changed = operator.ask("PUT", f"/v1/resources/virtual:floatingip/{address}", {"projects": ["demo"]})
    assert changed.json["resource"]["projects"] == ["demo"]
    path = f"/v1/floatingips/{address}"
    assert operator.ask("GET", path).json["floatingip"]["projects"] == ["demo"]
    for version in ("1.0", "1.3"):
        mine, other = client.but(version=version), client.but(user="bob", project="alt", version=version)
        assert "projects" not in mine.ask("GET", path).json["floatingip"]
        assert len(mine.ask("GET", "/v1/floatingips").json["floatingips"]) == 1
        assert other.ask("GET", path).status_code == 404
        assert other.ask("GET", "/v1/floatingips").json["floatingips"] == []


def test_values_that_only_others_have_are_not_listed(
    service: Service, settings: ApiSettings, operator: Client, host: str, tmp_path: Path
) -> None:
    operator.ask("PUT", path_of(host), ONLY)
    policy = tmp_path / "policy.yaml"
    policy.write_text('"leasehold:resources:get_properties": "role:reader"\n', encoding="utf-8")
    open_to_all = LocalClient(make_app(service, replace(settings, policy=PolicySettings(file=str(policy)))))

    def seen(**who: str) -> list[Any]:
        caller = operator.but(web=open_to_all, **who)
        found = caller.ask("GET", "/v1/resources/physical:host/properties", query_string="detail=True")
        return [each["values"] for each in found.json["resource_properties"]]

    assert seen() == seen(user="alice", roles="reader") == [["a1"]]
    assert seen(user="bob", project="alt", roles="reader") == []


def test_each_change_is_an_event(operator: Client, host: str, service: Service) -> None:
    operator.ask("PUT", path_of(host), ONLY)
    operator.ask("PUT", path_of(host), ONLY)
    sequence_events(service)
    events = operator.ask("GET", "/v1/events", query_string="all_projects=true").json["events"]
    found = [each["payload"]["projects"] for each in events if each["type"] == "resource.changed"]
    assert found == [ONLY["projects"]]
