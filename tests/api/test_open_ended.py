"""Leases without an end, from 1.3 on."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import make_app
from tests.factory import hosts
from tests.web import LocalClient

if TYPE_CHECKING:
    from falcon import testing

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

BODY: dict[str, Any] = {"name": "l", "start_date": "2031-05-01 10:00", "reservations": [hosts()], "events": []}
FIELDS = {"end_date": "2031-05-01 11:00", "duration_seconds": 60}


@pytest.fixture
def boss(admin: Client, host: str, service: Service, settings: ApiSettings) -> Client:
    assert host
    leases = replace(service.settings.leases, open_ended=timedelta(days=30))
    opened = replace(service, settings=replace(service.settings, leases=leases))
    return replace(admin, web=LocalClient(make_app(opened, settings))).but(version="1.3")


def make(who: Client, **more: Any) -> testing.Result:
    return who.ask("POST", "/v1/leases", {**BODY, **more})


def test_it_has_no_end_and_older_clients_see_a_date(boss: Client) -> None:
    lease = make(boss, open_ended=True).json["lease"]
    path = f"/v1/leases/{lease['id']}"
    assert (lease["open_ended"], lease["end_date"]) == (True, "9998-12-31T23:59:59.000000")
    old = boss.but(version="1.0").ask("GET", path).json["lease"]
    assert (old["end_date"], "open_ended" in old) == (lease["end_date"], False)
    ended = boss.ask("PUT", path, {"end_date": "2031-05-01 12:00"}).json["lease"]
    assert (ended["open_ended"], ended["end_date"]) == (False, "2031-05-01T12:00:00.000000")
    again = boss.ask("PUT", path, {"open_ended": True})
    assert again.json["lease"]["open_ended"]
    # An older client that sends back what it has read changes nothing.
    kept = boss.but(version="1.0").ask("PUT", path, {"name": "n", "end_date": "9998-12-31 23:59"})
    assert (kept.status_code, boss.ask("GET", path).json["lease"]["open_ended"]) == (200, True)


@pytest.mark.parametrize("name", FIELDS)
def test_an_end_and_no_end_are_not_both_asked_for(boss: Client, name: str) -> None:
    refused = make(boss, open_ended=True, **{name: FIELDS[name]})
    assert (refused.status_code, refused.json["field"]) == (400, "open_ended")
    assert make(boss, open_ended=False, **{name: FIELDS[name]}).status_code == 201


def test_one_of_them_is_asked_for(boss: Client) -> None:
    for value in (None, False):
        refused = make(boss, open_ended=value)
        assert (refused.status_code, "end_date" in refused.json["error_message"]) == (400, True)
    assert make(boss, open_ended="yes").json["field"] == "open_ended"
    lease = make(boss, end_date="2031-05-01 11:00").json["lease"]
    for change in ({"open_ended": False}, {"open_ended": True, "end_date": "2031-05-01 12:00"}):
        refused = boss.ask("PUT", f"/v1/leases/{lease['id']}", change)
        assert (refused.status_code, refused.json["field"]) == (400, "open_ended")


def test_a_rule_allows_it(boss: Client) -> None:
    member = boss.but(user="alice", roles="member,reader")
    rule = {"rule": "leasehold:leases:open_ended"}
    refused = make(member, open_ended=True)
    assert (refused.status_code, refused.json["details"]) == (403, rule)
    lease = make(member, end_date="2031-05-01 11:00").json["lease"]
    refused = member.ask("PUT", f"/v1/leases/{lease['id']}", {"open_ended": True})
    assert (refused.status_code, refused.json["details"]) == (403, rule)


def test_it_is_off_by_default_and_older_versions_do_not_have_it(admin: Client, boss: Client) -> None:
    refused = make(admin.but(version="1.3"), open_ended=True)
    assert (refused.status_code, refused.json["field"]) == (400, "open_ended")
    assert "no leases without an end" in refused.json["error_message"]
    unknown = make(boss.but(version="1.2"), open_ended=True)
    assert (unknown.status_code, unknown.json["code"]) == (400, "leasehold.input.unknown")
    ignored = make(boss.but(version="1.0"), open_ended=True, end_date="2031-05-01 11:00")
    assert ignored.json["lease"]["end_date"] == "2031-05-01T11:00:00.000000"
