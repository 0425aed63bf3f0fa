"""Planned capacity by the API: for administrators, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.factory import hosts

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.conftest import Client

CHANGES = "/v1/capacity/changes"
DATE = "2031-06-01 10:00"
MARCH = {"name": "nodes of March", "start_date": DATE, "hosts": ["march-01", "march-02"], "vcpus": 8, "memory_mb": 4096}


@pytest.fixture
def operator(admin: Client) -> Client:
    return admin.but(version="1.3")


def post(client: Client, kind: str, **body: Any) -> testing.Result:
    return client.ask("POST", f"/v1/capacity/{kind}", body)


def test_an_increase_is_planned_shown_put_off_and_deleted(operator: Client) -> None:
    answer = post(operator, "increases", **MARCH, promise=True, properties={"rack": "z9"}, traits=["HW_CPU_X86_AVX2"])
    assert answer.status_code == 201, answer.text
    made = answer.json["change"]
    assert (made["kind"], made["state"], made["promise"], made["delays"]) == ("increase", "planned", True, 0)
    assert (made["start_date"], made["end_date"]) == ("2031-06-01T10:00:00.000000", None)
    assert [(each["name"], each["arrived"]) for each in made["hosts"]] == [("march-01", False), ("march-02", False)]
    path = f"{CHANGES}/{made['id']}"
    assert operator.ask("GET", path).json == {"change": made}
    assert operator.ask("GET", CHANGES).json == {"changes": [made]}
    shown = operator.ask("GET", f"/v1/os-hosts/{made['hosts'][0]['id']}").json["host"]
    assert (shown["hypervisor_hostname"], shown["vcpus"], shown["rack"]) == ("march-01", 8, "z9")
    later = operator.ask("PUT", path, {"start_date": "2031-06-02T12:00:00+02:00"}).json["change"]
    assert (later["start_date"], later["delays"]) == ("2031-06-02T10:00:00.000000", 1)
    assert later["first_date"] == made["start_date"]
    assert operator.ask("DELETE", path).status_code == 204
    assert operator.ask("GET", path).status_code == 404


def test_the_owner_sees_that_a_host_is_not_there_yet(operator: Client, client: Client) -> None:
    post(operator, "increases", **MARCH, promise=True)
    member = client.but(version="1.3")
    body = {"name": "l", "start_date": "2031-06-03 10:00", "end_date": "2031-06-04 10:00", "events": []}
    asked = {**body, "reservations": [hosts(2)]}
    (would_be,) = member.ask("POST", "/v1/leases", {**asked, "dry_run": True}).json["reservations"]
    expected = ["2031-06-01T10:00:00.000000"] * 2
    assert [each["expected_at"] for each in would_be["resources"]] == expected
    made = member.ask("POST", "/v1/leases", asked).json["lease"]
    path = f"/v1/leases/{made['id']}/resources"
    (part,) = member.ask("GET", path).json["reservations"]
    assert [(each["name"], each["expected_at"]) for each in part["resources"]] == [(None, each) for each in expected]
    (part,) = member.but(version="1.2").ask("GET", path).json["reservations"]
    assert not any("expected_at" in each for each in part["resources"])
    change = operator.ask("GET", CHANGES).json["changes"][0]
    assert change["promised"] == [made["id"]]
    refused = operator.ask("DELETE", f"{CHANGES}/{change['id']}")
    assert (refused.status_code, refused.json["code"]) == (409, "leasehold.capacity.conflict")
    assert [each["project_id"] for each in refused.json["details"]["leases"]] == ["demo"]
    assert operator.ask("DELETE", f"{CHANGES}/{change['id']}?on_conflict=force").status_code == 204


def test_a_forecast_says_what_it_counts_that_is_not_there_yet(operator: Client) -> None:
    post(operator, "increases", **MARCH, promise=True)
    query = "/v1/forecast?from=2031-06-01T00:00:00Z&to=2031-06-02T00:00:00Z&step_seconds=43200"
    found = operator.ask("GET", query).json["forecast"]
    assert found["coming"] == [{"from": "2031-06-01T10:00:00+00:00", "amount": 2}]
    assert found["steps"]["capacity"] == [0, 2]
    before = operator.ask("GET", "/v1/forecast?to=2031-05-31T00:00:00Z").json["forecast"]
    assert before["coming"] == []


def test_a_decrease_and_a_reserve_are_made_and_released(operator: Client, host: str) -> None:
    gone = post(operator, "decreases", name="old", start_date=DATE, hosts=[host]).json["change"]
    assert (gone["kind"], gone["held"], gone["moved"], gone["warned"]) == ("decrease", [host], [], [])
    spare = post(operator, "reserves", name="spare", percent=100, end_date="2031-05-20 10:00").json["change"]
    assert (spare["kind"], spare["held"], spare["percent"]) == ("reserve", [host], 100)
    answer = operator.ask("PUT", f"{CHANGES}/{spare['id']}", {"amount": 1})
    assert (answer.json["change"]["amount"], answer.json["change"]["percent"]) == (1, None)
    for each in (gone, spare):
        assert operator.ask("DELETE", f"{CHANGES}/{each['id']}").status_code == 204
    assert operator.ask("GET", "/v1/maintenances").json == {"maintenances": []}


def test_only_administrators_plan_capacity(operator: Client, client: Client, host: str) -> None:
    member = client.but(version="1.3")
    made = post(operator, "reserves", name="spare", amount=1).json["change"]
    path = f"{CHANGES}/{made['id']}"
    asked = [
        post(member, "increases", **MARCH),
        post(member, "decreases", name="old", start_date=DATE, hosts=[host]),
        post(member, "reserves", name="spare", amount=1),
        member.ask("GET", CHANGES),
        member.ask("GET", path),
        member.ask("PUT", path, {"amount": 2}),
        member.ask("POST", f"{path}/arrived", {}),
        member.ask("DELETE", path),
    ]
    assert {each.status_code for each in asked} == {403}
    assert operator.but(version="1.2").ask("GET", CHANGES).status_code == 404


@pytest.mark.parametrize(
    ("kind", "body", "field"),
    [
        ("increases", {**MARCH, "hosts": []}, "hosts"),
        ("increases", {**MARCH, "hosts": ["a", "a"]}, "hosts"),
        ("increases", {**MARCH, "hosts": [" a"]}, "hosts"),
        ("increases", {**MARCH, "vcpus": 0}, "vcpus"),
        ("increases", {**MARCH, "start_date": "2031-04-01 10:00"}, "start_date"),
        ("increases", {**MARCH, "start_date": "March"}, "start_date"),
        ("increases", {**MARCH, "end_date": DATE}, "end_date"),
        ("increases", {**MARCH, "properties": {"vcpus": "9"}}, "vcpus"),
        ("decreases", {"name": "n", "start_date": DATE, "hosts": ["none"]}, "hosts"),
        ("decreases", {"name": "n", "start_date": DATE, "hosts": ["1"], "on_conflict": "break"}, "on_conflict"),
        ("decreases", {"name": "n", "start_date": DATE, "end_date": DATE, "hosts": ["1"]}, "end_date"),
        ("reserves", {"name": "n"}, "amount"),
        ("reserves", {"name": "n", "percent": 101}, "percent"),
        ("reserves", {"name": "n", "amount": 1, "resource_properties": "{"}, "resource_properties"),
    ],
)
def test_bad_input_is_named(operator: Client, host: str, kind: str, body: dict[str, Any], field: str) -> None:
    assert host == "1"
    answer = post(operator, kind, **body)
    assert answer.status_code == 400, answer.text
    assert (answer.json["field"] or "").startswith(field)
    assert operator.ask("GET", CHANGES).json == {"changes": []}


def test_a_change_that_is_not_there_is_not_found(operator: Client) -> None:
    path = f"{CHANGES}/none"
    for method, where, body in (("GET", path, None), ("PUT", path, {"promise": True}), ("DELETE", path, None)):
        assert operator.ask(method, where, body).status_code == 404
    assert operator.ask("POST", f"{path}/arrived", {}).status_code == 404
    assert operator.ask("DELETE", f"{path}?on_conflict=break").status_code == 400
