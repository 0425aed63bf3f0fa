"""How many requests were refused, by the API: for administrators, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.conftest import LEASE
from tests.factory import hosts

if TYPE_CHECKING:
    from tests.api.conftest import Client

pytestmark = pytest.mark.slow

PATH = "/v1/refusals"
HOUR = "2031-05-01T09:00:00+00:00"


@pytest.fixture
def operator(admin: Client, host: str) -> Client:
    """Return an administrator, where there is one host."""
    assert host
    return admin.but(version="1.3")


def listed(operator: Client, query: str = "?to=2031-05-02T00:00Z") -> list[dict[str, Any]]:
    answer = operator.ask("GET", PATH + query)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json["refusals"]
    return found


def row(operation: str, missing: int, refused: int, projects: int = 1) -> dict[str, Any]:
    return {
        "hour": HOUR,
        "operation": operation,
        "code": "leasehold.resources.not_enough",
        "resource_type": "physical:host",
        "missing": missing,
        "refused": refused,
        "projects": projects,
    }


def test_refusals_are_counted_with_what_was_missing(operator: Client, client: Client) -> None:
    member = client.but(version="1.3")
    many = {**LEASE, "reservations": [hosts(3, 3)]}
    for _ in range(2):
        assert member.ask("POST", "/v1/leases", many).status_code == 409
    assert member.but(project="other").ask("POST", "/v1/leases", many).status_code == 409
    assert member.ask("POST", "/v1/offers", {**many}).status_code == 409
    lease = member.ask("POST", "/v1/leases", LEASE).json["lease"]
    grow = {"reservations": [{"id": lease["reservations"][0]["id"], "min": 2, "max": 2}]}
    assert member.ask("PUT", f"/v1/leases/{lease['id']}", grow).status_code == 409
    assert listed(operator) == [row("amend", 1, 1), row("create", 2, 3, projects=2), row("offer", 2, 1)]


def test_what_is_only_tried_and_what_waits_is_no_refusal(operator: Client, client: Client) -> None:
    member = client.but(version="1.3")
    many = {**LEASE, "reservations": [hosts(3, 3)]}
    assert member.ask("POST", "/v1/leases", {**many, "dry_run": True}).status_code == 409
    waiting = {**many, "type": "waitlist", "deadline": "2031-05-01T10:00Z"}
    assert member.ask("POST", "/v1/leases", waiting).json["lease"]["status"] == "IN_PROGRESS"
    assert member.ask("POST", "/v1/leases", {**LEASE, "name": 1}).status_code == 400
    assert listed(operator) == []


def test_the_window_is_whole_and_bounded(operator: Client) -> None:
    for query in ("?from=2031-05-02T00:00Z", "?from=2029-01-01T00:00Z", "?from=2031-05-02T00:00Z&to=2031-05-01T00:00Z"):
        answer = operator.ask("GET", PATH + query)
        assert (answer.status_code, answer.json["field"]) == (400, "to")


def test_members_learn_nothing_of_it(client: Client) -> None:
    assert client.but(version="1.3").ask("GET", PATH).status_code == 403
