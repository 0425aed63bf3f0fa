"""Feature C7 by the API: resources that administrators disable and enable, from 1.2 on."""

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

    from falcon import testing

    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

KEYS = {"disabled", "disabled_reason"}
WHY = {"disabled": True, "disabled_reason": "a fan is broken"}
DATES = {"start_date": "2031-05-02 10:00", "end_date": "2031-05-02 12:00"}
LATER = {"start_date": "2031-05-03 10:00", "end_date": "2031-05-03 12:00"}


@pytest.fixture
def operator(admin: Client) -> Client:
    return admin.but(version="1.2")


@pytest.fixture
def address(admin: Client) -> str:
    body = {"floating_network_id": NETWORK_ID, "floating_ip_address": SUGGESTED_FLOATING_IPS[0]}
    return str(admin.ask("POST", "/v1/floatingips", body).json["floatingip"]["id"])


def lease(client: Client, reservation: Any, **more: Any) -> testing.Result:
    body = {"name": "l", **DATES, "reservations": [reservation], "events": [], **more}
    return client.ask("POST", "/v1/leases", body)


def path_of(host: str) -> str:
    return f"/v1/os-hosts/{host}"


def test_a_host_is_disabled_and_enabled_and_says_so_from_1_2_on(operator: Client, admin: Client, host: str) -> None:
    path = path_of(host)
    assert operator.ask("GET", path).json["host"].items() >= {"disabled": False, "disabled_reason": None}.items()
    for shown in (operator.ask("PUT", path, WHY), operator.ask("GET", path)):
        assert shown.status_code == 200
        assert shown.json["host"].items() >= {**WHY, "reservable": False, "rack": "a1"}.items()
    (listed,) = operator.ask("GET", "/v1/os-hosts").json["hosts"]
    assert listed.items() >= {**WHY, "reservable": False}.items()
    for version in (None, "1.0", "1.1"):
        shown = admin.but(version=version).ask("GET", path)
        assert shown.json["host"]["reservable"] is False
        assert not KEYS & shown.json["host"].keys()
    # A reason that is not sent stays, and an empty one goes.
    assert operator.ask("PUT", path, {"disabled": True}).json["host"]["disabled_reason"] == "a fan is broken"
    assert operator.ask("PUT", path, {"disabled": True, "disabled_reason": ""}).json["host"]["disabled_reason"] is None
    back = operator.ask("PUT", path, {"disabled": False, "rack": "b2"}).json["host"]
    assert back.items() >= {"disabled": False, "disabled_reason": None, "reservable": True, "rack": "b2"}.items()


def test_before_1_2_disabled_is_a_property_like_any_other(admin: Client, operator: Client, host: str) -> None:
    """As ever: what v1 clients send changes no flag."""
    shown = admin.ask("PUT", path_of(host), {"disabled": "true", "disabled_reason": "mine"}).json["host"]
    assert (shown["disabled"], shown["disabled_reason"], shown["reservable"]) == ("true", "mine", True)
    # A field of the answer wins over a property of the same name.
    assert operator.ask("GET", path_of(host)).json["host"]["disabled"] is False
    operator.ask("PUT", path_of(host), {"disabled": True})
    shown = admin.ask("GET", path_of(host)).json["host"]
    assert (shown["disabled"], shown["reservable"]) == ("true", False)


def test_a_new_host_cannot_have_a_property_of_that_name_from_1_2_on(operator: Client) -> None:
    for key in sorted(KEYS):
        answer = operator.ask("POST", "/v1/os-hosts", {"name": "cmp-01", key: "x"})
        assert (answer.status_code, answer.json["field"]) == (400, key)


@pytest.mark.parametrize("what", ["physical:host", "virtual:floatingip"])
def test_resources_of_any_type_are_disabled(
    operator: Client, client: Client, host: str, address: str, what: str
) -> None:
    ident, asked = (host, hosts()) if what == "physical:host" else (address, floating_ips())
    path = f"/v1/resources/{what}/{ident}"
    shown = operator.ask("PUT", path, WHY)
    assert shown.json["resource"].items() >= {**WHY, "reservable": False, "health": "healthy"}.items()
    assert operator.ask("GET", path).json == shown.json
    refused = lease(client.but(version="1.2"), asked)
    assert refused.json["code"].endswith("not_enough")
    assert "disabled" not in refused.text
    assert operator.ask("PUT", path, {"disabled": False}).json["resource"]["reservable"] is True
    assert lease(client, asked).status_code == 201


def test_a_plain_reader_of_addresses_does_not_see_it(operator: Client, client: Client, address: str) -> None:
    operator.ask("PUT", f"/v1/resources/virtual:floatingip/{address}", WHY)
    path, reader = f"/v1/floatingips/{address}", client.but(version="1.2")
    shown = reader.ask("GET", path).json["floatingip"]
    assert shown["reservable"] is False
    assert not KEYS & shown.keys()
    assert reader.ask("GET", "/v1/floatingips").json["floatingips"] == [shown]
    assert operator.ask("GET", path).json["floatingip"].items() >= WHY.items()
    (listed,) = operator.ask("GET", "/v1/floatingips").json["floatingips"]
    assert listed.items() >= WHY.items()


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"disabled": "yes"}, "disabled"),
        ({"disabled": None}, "disabled"),
        ({"disabled": 1}, "disabled"),
        ({"disabled": True, "disabled_reason": "x" * 256}, "disabled_reason"),
        ({"disabled": True, "disabled_reason": 7}, "disabled_reason"),
        ({"disabled": False, "disabled_reason": "x"}, "disabled_reason"),
        ({"disabled_reason": "x"}, "disabled"),
        ({"disabled": True, "id": "7"}, "id"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(operator: Client, host: str, body: dict[str, Any], field: str) -> None:
    before = operator.ask("GET", path_of(host)).json
    nested = {"properties": {"id": "7"}, "disabled": True} if "id" in body else body
    for path, sent in ((path_of(host), body), (f"/v1/resources/physical:host/{host}", nested)):
        answer = operator.ask("PUT", path, sent)
        assert (answer.status_code, answer.json["field"]) == (400, field), answer.text
    assert operator.ask("GET", path_of(host)).json == before


def test_members_cannot_disable_and_cannot_lease_what_is_disabled(operator: Client, client: Client, host: str) -> None:
    member = client.but(version="1.2")
    for path in (path_of(host), f"/v1/resources/physical:host/{host}"):
        assert member.ask("PUT", path, {"disabled": True}).status_code == 403
    operator.ask("PUT", path_of(host), WHY)
    for version in (None, "1.1", "1.2"):
        answer = lease(client.but(version=version), hosts())
        assert answer.status_code == 409
        assert not any(word in answer.text for word in ("disabled", "cmp-01", "fan"))


def test_administrators_lease_it_from_1_2_on_and_are_told_before(operator: Client, admin: Client, host: str) -> None:
    operator.ask("PUT", path_of(host), WHY)
    before = lease(admin, hosts())
    assert (before.status_code, before.json["details"]["fits_on_disabled"]) == (409, True)
    assert "enable them" in before.json["error_message"]
    made = lease(operator, hosts())
    assert made.status_code == 201
    [held] = operator.ask("GET", f"{path_of(host)}/allocation").json["allocation"]["reservations"]
    assert held["lease_id"] == made.json["lease"]["id"]


def test_an_administrator_gives_disabled_ones_to_nobody_elses_lease(
    operator: Client, client: Client, host: str
) -> None:
    other = operator.ask("POST", "/v1/os-hosts", {"name": "cmp-02"}).json["host"]["id"]
    made = lease(client, hosts()).json["lease"]
    mine = lease(operator, hosts(), **LATER).json["lease"]
    operator.ask("PUT", path_of(host), {"disabled": True})
    operator.ask("PUT", path_of(other), {"disabled": True})

    def grow(of: dict[str, Any]) -> testing.Result:
        part = {"id": of["reservations"][0]["id"], "min": 2, "max": 2}
        return operator.ask("PUT", f"/v1/leases/{of['id']}", {"reservations": [part]})

    refused = grow(made)
    assert (refused.status_code, refused.json["details"]["fits_on_disabled"]) == (409, True)
    assert grow(mine).status_code == 200


def test_a_policy_of_its_own_says_who_may_lease_them(
    service: Service, settings: ApiSettings, operator: Client, host: str, tmp_path: Path
) -> None:
    operator.ask("PUT", path_of(host), WHY)
    policy = tmp_path / "policy.yaml"
    policy.write_text('"leasehold:leases:use_disabled": "role:tester"\n', encoding="utf-8")
    strict = replace(settings, policy=PolicySettings(file=str(policy)))
    there = operator.but(web=LocalClient(make_app(service, strict)))
    assert lease(there, hosts()).status_code == 409
    assert lease(there.but(roles="tester,member,reader"), hosts()).status_code == 201


def test_operators_read_who_did_it_and_members_do_not(
    service: Service, operator: Client, client: Client, host: str
) -> None:
    operator.ask("PUT", path_of(host), WHY)
    operator.ask("PUT", path_of(host), {"disabled": False})
    sequence_events(service)
    events = operator.ask("GET", "/v1/events", query_string="all_projects=true").json["events"]
    told = [(each["type"], each["payload"]["by"], each["payload"]["disabled_reason"]) for each in events[-2:]]
    who = {"user_id": "admin", "project_id": "demo"}
    assert told == [("resource.disabled", who, "a fan is broken"), ("resource.enabled", who, None)]
    assert client.but(version="1.2").ask("GET", "/v1/events").json["events"] == []
