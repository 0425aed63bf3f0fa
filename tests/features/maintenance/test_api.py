"""Maintenance windows by the API: for administrators, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.factory import hosts

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.conftest import Client

WHEN = {"start_date": "2031-05-02 10:00", "end_date": "2031-05-02 12:00"}


def make(client: Client, *ids: str, **more: Any) -> testing.Result:
    return client.ask("POST", "/v1/maintenances", {"name": "fans", **WHEN, "hosts": list(ids), **more})


@pytest.fixture
def operator(admin: Client) -> Client:
    return admin.but(version="1.2")


def test_a_window_is_made_shown_listed_and_deleted(operator: Client, host: str) -> None:
    answer = make(operator, host, host)
    assert answer.status_code == 201
    window = answer.json["maintenance"]
    assert (window["name"], window["hosts"], window["status"]) == ("fans", [host], "PENDING")
    assert (window["start_date"], window["moved"], window["warned"]) == ("2031-05-02T10:00:00.000000", [], [])
    path = f"/v1/maintenances/{window['id']}"
    assert operator.ask("GET", path).json == {"maintenance": window}
    assert operator.ask("GET", "/v1/maintenances").json == {"maintenances": [window]}
    # It is in the calendar, and the operator's lease.
    [held] = operator.ask("GET", f"/v1/os-hosts/{host}/allocation").json["allocation"]["reservations"]
    assert held["lease_id"] == window["id"]
    lease = operator.ask("GET", f"/v1/leases/{window['id']}").json["lease"]
    assert lease["reservations"][0]["hosts"] == [host]
    assert operator.ask("DELETE", path).status_code == 204
    assert operator.ask("GET", path).status_code == 404


def test_leases_on_the_hosts_refuse_it_and_are_named(operator: Client, client: Client, host: str) -> None:
    body = {"name": "l", **WHEN, "reservations": [hosts()], "events": []}
    lease = client.ask("POST", "/v1/leases", body).json["lease"]
    refusal = make(operator, host, on_conflict="warn")
    assert (refusal.status_code, refusal.json["code"]) == (409, "leasehold.maintenance.conflict")
    [listed] = refusal.json["details"]["leases"]
    assert (listed["id"], listed["fate"]) == (lease["id"], "stuck")


def test_only_administrators_make_end_and_move_windows(operator: Client, client: Client, host: str) -> None:
    member = operator.but(user="eve", roles="member,reader")
    window = make(operator, host).json["maintenance"]
    path, lease = f"/v1/maintenances/{window['id']}", f"/v1/leases/{window['id']}"
    asked = [
        make(member, host),
        member.ask("GET", "/v1/maintenances"),
        member.ask("GET", path),
        member.ask("DELETE", path),
        member.ask("DELETE", lease),
        member.ask("PUT", lease, {"end_date": "2031-05-03 12:00"}),
    ]
    assert {each.status_code for each in asked} == {403}
    assert client.ask("POST", "/v1/maintenances", {}).status_code == 404
    longer = operator.ask("PUT", lease, {"end_date": "2031-05-03 12:00"})
    assert longer.json["lease"]["end_date"] == "2031-05-03T12:00:00.000000"
    assert operator.ask("DELETE", lease).status_code == 204


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"hosts": ["nobody"]}, "hosts"),
        ({"hosts": []}, "hosts"),
        ({"hosts": ["x"] * 1001}, "hosts"),
        ({"on_conflict": "break"}, "on_conflict"),
        ({"end_date": "2031-05-02 09:00"}, "end_date"),
        ({"start_date": "2031-04-02 09:00"}, "start_date"),
        ({"force": True}, None),
    ],
)
def test_bad_input_is_named(operator: Client, host: str, more: dict[str, Any], field: str | None) -> None:
    answer = make(operator, host, **more)
    assert answer.status_code == 400
    assert (answer.json.get("field") or "").startswith(field or "")
    assert operator.ask("GET", "/v1/maintenances").json == {"maintenances": []}


def test_a_lease_cannot_ask_for_maintenance(operator: Client, host: str) -> None:
    part = {"resource_type": "maintenance:host", "hosts": [host]}
    answer = operator.ask("POST", "/v1/leases", {"name": "l", **WHEN, "reservations": [part], "events": []})
    assert answer.status_code == 400
