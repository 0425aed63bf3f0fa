"""Idea 5 by the API: `dry_run` of POST and PUT of a lease, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.api.conftest import LEASE
from tests.factory import hosts

if TYPE_CHECKING:
    from tests.api.conftest import Client


@pytest.fixture
def member(client: Client, host: str) -> Client:
    assert host
    return client.but(version="1.3")


def test_a_dry_run_shows_the_lease_and_what_it_would_have(member: Client) -> None:
    tried = member.ask("POST", "/v1/leases", {**LEASE, "dry_run": True})
    assert tried.status_code == 200
    assert (tried.json["lease"]["status"], tried.json["lease"]["name"]) == ("PENDING", "l")
    (part,) = tried.json["reservations"]
    assert (part["resource_type"], len(part["resources"])) == ("physical:host", 1)
    assert part["resources"][0]["name"] is None
    assert "ETag" not in tried.headers
    assert member.ask("GET", "/v1/leases").json == {"leases": []}
    assert member.ask("GET", f"/v1/leases/{tried.json['lease']['id']}").status_code == 404


def test_a_dry_run_is_refused_as_the_request_is(member: Client) -> None:
    more = {**LEASE, "reservations": [hosts(2)]}
    tried, done = (member.ask("POST", "/v1/leases", {**more, "dry_run": each}) for each in (True, False))
    assert tried.status_code == done.status_code == 409
    assert tried.json == done.json


def test_an_amendment_is_tried(member: Client) -> None:
    made = member.ask("POST", "/v1/leases", {**LEASE, "dry_run": False})
    assert made.status_code == 201
    lease = made.json["lease"]
    change = {"name": "changed", "end_date": "2031-05-01 12:00"}
    tried = member.ask("PUT", f"/v1/leases/{lease['id']}", {**change, "dry_run": True})
    assert (tried.status_code, tried.json["lease"]["end_date"]) == (200, "2031-05-01T12:00:00.000000")
    assert member.ask("GET", f"/v1/leases/{lease['id']}").json["lease"] == lease
    done = member.ask("PUT", f"/v1/leases/{lease['id']}", change)
    assert done.json["lease"]["name"] == "changed"


def test_older_versions_refuse_or_ignore_the_key_as_any_other(member: Client) -> None:
    refused = member.but(version="1.2").ask("POST", "/v1/leases", {**LEASE, "dry_run": True})
    assert (refused.status_code, refused.json["field"]) == (400, "dry_run")
    assert member.but(version="1.1").ask("POST", "/v1/leases", {**LEASE, "dry_run": True}).status_code == 201
