"""What counter-offers and found windows cost: what a dry run of each says (decision 0159)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.features.price.clause import make_clause
from leasehold.features.price.estimate import make_estimator
from tests.api.conftest import LEASE
from tests.factory import AT_ONCE
from tests.features.price.prices import PRICED

if TYPE_CHECKING:
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

pytestmark = pytest.mark.slow


@pytest.fixture
def service(service: Service) -> Service:
    clause, estimator = make_clause(PRICED), make_estimator(PRICED)
    assert clause is not None
    assert estimator is not None
    return replace(service, settings=PRICED, clauses=(clause,), estimators=(estimator,))


@pytest.fixture
def member(client: Client, admin: Client, host: str) -> Client:
    """Return a member, where there are two hosts."""
    assert host
    assert admin.but(version="1.3").ask("POST", "/v1/os-hosts", {"name": "cmp-02"}).status_code == 201
    return client.but(version="1.3")


def lease(amount: int = 1, **more: str) -> dict[str, Any]:
    (part,) = LEASE["reservations"]
    return {**LEASE, "reservations": [{**part, "min": amount, "max": amount}], **more}


def dates(start: str, end: str) -> dict[str, str]:
    return {"start_date": f"2031-05-01T{start}Z", "end_date": f"2031-05-01T{end}Z"}


def cost(member: Client, body: dict[str, Any], lease_id: str | None = None) -> dict[str, str]:
    """Return what a dry run says."""
    method, path = ("POST", "/v1/leases") if lease_id is None else ("PUT", f"/v1/leases/{lease_id}")
    answer = member.ask(method, path, {**body, "dry_run": True})
    assert answer.status_code == 200, answer.text
    found: dict[str, str] = answer.json["lease"]["cost"]
    kept = ("unit", "total") if lease_id is None else ("unit", "total", "more")
    return {name: found[name] for name in kept}


def test_each_window_of_a_search_says_what_a_lease_costs_then(member: Client) -> None:
    assert member.ask("POST", "/v1/leases", lease(1, **dates("10:00", "11:00"))).status_code == 201
    asked = {"alternatives": [lease(each)["reservations"] for each in (2, 1)], "duration_seconds": 3600, "limit": 4}
    found = member.ask("POST", "/v1/availability/search", {**asked, "start_date": "2031-05-01T10:00Z"}).json
    assert len(found["windows"]) == 4
    for each in found["windows"]:
        there = {"start_date": each["start_date"][:16] + "Z", "end_date": each["end_date"][:16] + "Z"}
        assert each["estimates"] == {"cost": cost(member, lease(2 - each["alternative"], **there))}
    assert len({each["estimates"]["cost"]["total"] for each in found["windows"]}) == 2


def test_a_refusal_says_what_the_nearest_window_and_the_largest_amount_cost(member: Client) -> None:
    assert member.ask("POST", "/v1/leases", lease(1, **dates("10:00", "11:00"))).status_code == 201
    refused = member.ask("POST", "/v1/leases", lease(2, **dates("10:30", "11:30")))
    assert refused.status_code == 409
    details = refused.json["details"]
    assert details["nearest"]["start"] == "2031-05-01T11:00:00+00:00"
    nearest = cost(member, lease(2, **dates("11:00", "12:00")))
    assert details["estimates"] == {
        "nearest": {"cost": nearest},
        "largest": {"cost": cost(member, lease(1, **dates("10:30", "11:30")))},
    }
    assert refused.json["error_message"].endswith(f"That costs {nearest['total']} EUR.")


def test_a_refused_extension_says_what_the_longest_one_costs(member: Client) -> None:
    made = member.ask("POST", "/v1/leases", lease(2, **dates("10:00", "11:00"))).json["lease"]["id"]
    assert member.ask("POST", "/v1/leases", lease(1, **dates("12:00", "13:00"))).status_code == 201
    refused = member.ask("PUT", f"/v1/leases/{made}", {"end_date": "2031-05-01T12:30Z"})
    assert refused.status_code == 409
    longest = cost(member, {"end_date": "2031-05-01T12:00Z"}, made)
    assert refused.json["details"]["estimates"]["latest_end"] == {"cost": longest}
    said = f"It can be extended until 2031-05-01 12:00:00 UTC. That costs {longest['more']} EUR more."
    assert said in refused.json["error_message"]


def test_so_does_that_of_a_lease_that_has_begun(member: Client) -> None:
    made = member.ask("POST", "/v1/leases", lease(2, start_date="now", end_date="2031-05-01T11:00Z")).json["lease"]
    assert member.ask("POST", "/v1/leases", lease(1, **dates("12:00", "13:00"))).status_code == 201
    refused = member.ask("PUT", f"/v1/leases/{made['id']}", {"end_date": "2031-05-01T12:30Z"})
    assert refused.status_code == 409
    longest = cost(member, {"end_date": "2031-05-01T12:00Z"}, made["id"])
    assert refused.json["details"]["estimates"]["latest_end"] == {"cost": longest}


def test_where_nothing_has_a_price_nothing_is_said() -> None:
    assert make_estimator(AT_ONCE) is None
