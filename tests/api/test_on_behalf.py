"""Administrators make leases for other projects, from 1.3 on."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import make_app
from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.enforcement.base import load_filters
from tests.api.conftest import LEASE
from tests.factory import hosts
from tests.web import LocalClient

if TYPE_CHECKING:
    from falcon import testing

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client


@pytest.fixture
def boss(admin: Client, host: str) -> Client:
    assert host
    return admin.but(version="1.3", project="operators")


def make(who: Client, **more: Any) -> testing.Result:
    return who.ask("POST", "/v1/leases", {**LEASE, **more})


def test_the_project_has_the_lease(boss: Client, client: Client) -> None:
    made = make(boss, project_id="demo")
    assert made.status_code == 201, made.text
    lease = made.json["lease"]
    assert (lease["project_id"], lease["user_id"]) == ("demo", "admin")
    member = client.but(version="1.3")
    assert [each["id"] for each in member.ask("GET", "/v1/leases").json["leases"]] == [lease["id"]]
    assert member.but(project="other").ask("GET", f"/v1/leases/{lease['id']}").status_code == 403
    assert member.ask("DELETE", f"/v1/leases/{lease['id']}").status_code == 204
    assert make(boss, project_id="demo", dry_run=True).json["lease"]["project_id"] == "demo"


def test_only_administrators_make_it_and_anybody_may_name_the_own_project(boss: Client, client: Client) -> None:
    assert boss
    member = client.but(version="1.3")
    refused = make(member, project_id="other")
    assert (refused.status_code, refused.json["details"]) == (403, {"rule": "leasehold:leases:on_behalf"})
    assert make(member, project_id="demo").status_code == 201


@pytest.mark.parametrize("wrong", ["", "a b", "ä", "x" * 256, 7])
def test_an_id_that_is_none_is_refused(boss: Client, wrong: Any) -> None:
    answer = make(boss, project_id=wrong)
    assert (answer.status_code, answer.json["field"]) == (400, "project_id")


def test_older_versions_do_not_know_it(boss: Client) -> None:
    refused = make(boss.but(version="1.2"), project_id="demo")
    assert (refused.status_code, refused.json["field"]) == (400, "project_id")


def test_the_limits_of_that_project_count(boss: Client, service: Service, settings: ApiSettings) -> None:
    limited = replace(service, enforcement=load_filters(LeaseSettings(limits=LimitSettings(open_leases=1))))
    who = boss.but(web=LocalClient(make_app(limited, settings)))
    assert make(who, project_id="demo", reservations=[]).status_code == 201
    refused = make(who, project_id="demo", reservations=[])
    assert (refused.status_code, refused.json["code"]) == (403, "leasehold.enforcement.open_leases")
    assert make(who, project_id="other", reservations=[]).status_code == 201


def find(who: Client, **more: Any) -> testing.Result:
    body = {"reservations": LEASE["reservations"], "duration_seconds": 3600, "start_date": "now", **more}
    return who.ask("POST", "/v1/availability/search", body)


def test_windows_are_those_of_that_project(boss: Client, client: Client, host: str) -> None:
    closed = boss.ask("PUT", f"/v1/os-hosts/{host}", {"projects": ["demo"]})
    assert closed.status_code == 200
    asked = {"reservations": [hosts()]}
    assert find(boss, **asked).json["windows"] == []
    assert len(find(boss, **asked, project_id="demo").json["windows"]) == 3
    member = client.but(version="1.3")
    assert find(member, **asked, project_id="demo").status_code == 200
    refused = find(member, **asked, project_id="other")
    assert (refused.status_code, refused.json["details"]) == (403, {"rule": "leasehold:leases:on_behalf"})
    assert find(boss, **asked, project_id="a b").json["field"] == "project_id"
