"""Reservations whose hosts lie together or apart by a property, from 1.3 on (feature C4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.test_leases import HOST, MAKE, made, make
from tests.factory import flavors, floating_ips, instances

if TYPE_CHECKING:
    from tests.api.conftest import Client

TOGETHER = {**HOST, "together": "rack"}


@pytest.fixture
def new(client: Client, host: str, admin: Client) -> Client:
    assert host
    for name, rack in (("cmp-02", "a1"), ("cmp-05", "a2")):
        assert admin.ask("POST", "/v1/os-hosts", {"name": name, "rack": rack}).status_code == 201
    return client.but(version="1.3")


@pytest.mark.parametrize("part", [HOST, instances(2), flavors(2)], ids=lambda part: str(part["resource_type"]))
def test_it_is_shown_from_1_3_on(new: Client, part: dict[str, Any]) -> None:
    lease = made(new, reservations=[{**part, "together": "rack", "apart": ""}])
    (shown,) = lease["reservations"]
    assert (shown["together"], shown["apart"]) == ("rack", None)
    for version in ("1.0", "1.1", "1.2"):
        (older,) = new.but(version=version).ask("GET", f"/v1/leases/{lease['id']}").json["lease"]["reservations"]
        assert not {"together", "apart"} & older.keys()


def test_it_is_amended(new: Client) -> None:
    lease = made(new, reservations=[TOGETHER])
    path, part = f"/v1/leases/{lease['id']}", {"id": lease["reservations"][0]["id"]}
    answer = new.ask("PUT", path, {"reservations": [{**part, "together": None, "apart": "rack"}]})
    assert answer.json["lease"]["reservations"][0]["apart"] == "rack"
    answer = new.ask("PUT", path, {"reservations": [{**part, "min": 2, "max": 3}]})
    assert answer.json["lease"]["reservations"][0]["max"] == 3


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_older_versions_ignore_it(new: Client, version: str) -> None:
    lease = made(new.but(version=version), reservations=[{**TOGETHER, "min": 3, "max": 3}])
    path, part = f"/v1/leases/{lease['id']}", {"id": lease["reservations"][0]["id"], "together": "shelf"}
    assert new.but(version=version).ask("PUT", path, {"reservations": [part]}).status_code == 200
    assert new.ask("GET", path).json["lease"]["reservations"][0]["together"] is None


def test_1_2_does_not_know_it(new: Client) -> None:
    older = new.but(version="1.2")
    lease = made(older, reservations=[HOST])
    change = {"reservations": [{"id": lease["reservations"][0]["id"], "apart": "rack"}]}
    series = {**MAKE, "start_date": "2031-06-01 10:00", "end_date": "2031-06-01 11:00"}
    series |= {"rule": "FREQ=DAILY;COUNT=2", "reservations": [TOGETHER]}
    alarm = {"reservation": TOGETHER, "below": 1, "duration": 60}
    for answer, field in (
        (make(older, reservations=[TOGETHER]), "reservations[0].together"),
        (older.ask("PUT", f"/v1/leases/{lease['id']}", change), "reservations[0].apart"),
        (older.ask("POST", "/v1/series", series), "reservations[0].together"),
        (older.ask("POST", "/v1/alarms", alarm), "reservation.together"),
    ):
        assert answer.status_code == 400, answer.text
        assert (answer.json["code"], answer.json["field"]) == ("leasehold.input.unknown", field)
        assert "'together'" not in answer.json["error_message"].partition("known")[2]
    assert new.ask("POST", "/v1/series", series).status_code == 201
    assert new.ask("POST", "/v1/alarms", alarm).status_code == 201


def test_types_without_hosts_do_not_have_it(new: Client) -> None:
    answer = make(new, reservations=[{**floating_ips(), "together": "rack"}])
    assert (answer.status_code, answer.json["code"]) == (400, "leasehold.input.unknown")


def test_offers_questions_and_searches_have_it(new: Client) -> None:
    part = {**TOGETHER, "min": 2, "max": 2}
    offer = new.ask("POST", "/v1/offers", {**MAKE, "reservations": [part]})
    assert offer.json["offer"]["lease"]["reservations"][0]["together"] == "rack"
    query = {"from": "2031-05-01 10:00", "to": "2031-05-01 11:00"}
    asked = [new.ask("GET", "/v1/availability", params={**query, **more}) for more in ({}, {"apart": "rack"})]
    assert [each.json["availability"]["throughout"] for each in asked] == [1, 1]
    wish = {"reservations": [part], "duration_seconds": 3600, "start_date": "2031-05-01 10:00"}
    (first, *_) = new.ask("POST", "/v1/availability/search", wish).json["windows"]
    assert first["start_date"] == "2031-05-01T12:00:00+00:00"


def test_a_property_that_nobody_may_use_is_refused_as_in_an_expression(new: Client, admin: Client) -> None:
    for name in ("shelf", "hypervisor_hostname"):
        answer = make(new, reservations=[{**HOST, "apart": name}])
        assert (answer.status_code, answer.json["field"]) == (400, "reservations[0].apart")
        expression = make(new, reservations=[{**HOST, "resource_properties": f'["==", "${name}", "x"]'}])
        assert expression.json["error_message"] == answer.json["error_message"]
    hidden = admin.ask("PATCH", "/v1/os-hosts/properties/rack", {"private": True})
    assert hidden.status_code == 200, hidden.text
    answer = make(new, reservations=[TOGETHER])
    assert "No host has a property $rack" in answer.json["error_message"]
    assert make(admin.but(version="1.3"), reservations=[TOGETHER]).status_code == 201
