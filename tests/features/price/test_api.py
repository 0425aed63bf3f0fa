"""Prices and budgets by the API, from 1.3 on: members see them, administrators make budgets."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import make_app
from leasehold.features.price.clause import make_clause
from tests.api.conftest import LEASE
from tests.factory import AT_ONCE
from tests.features.price.prices import PRICED
from tests.web import LocalClient

if TYPE_CHECKING:
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

pytestmark = pytest.mark.slow

BUDGET = {
    "project_id": "demo",
    "name": "spring",
    "amount": "20.5",
    "start_date": "2031-01-01T00:00Z",
    "end_date": "2032-01-01T00:00Z",
}


@pytest.fixture
def service(service: Service) -> Service:
    clause = make_clause(PRICED)
    assert clause is not None
    return replace(service, settings=PRICED, clauses=(clause,))


@pytest.fixture
def operator(admin: Client, host: str) -> Client:
    """Return an administrator, where there is one host."""
    assert host
    return admin.but(version="1.3")


@pytest.fixture
def member(client: Client) -> Client:
    return client.but(version="1.3")


def made(operator: Client, **more: Any) -> dict[str, Any]:
    answer = operator.ask("POST", "/v1/budgets", {**BUDGET, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json["budget"]
    return found


def test_everybody_sees_the_prices(member: Client) -> None:
    found = member.ask("GET", "/v1/prices").json
    assert (found["unit"], found["places"]) == ("EUR", 2)
    now, later = found["price_lists"]
    assert (now["name"], now["until"], later["until"]) == ("now", "2031-05-01T12:00:00+00:00", None)
    assert [(each["resource_type"], each["hour"], each["flat"]) for each in now["rules"]] == [
        ("physical:host", "8", "0"),
        ("physical:host", "2", "5"),
        ("virtual:instance", "0", "0"),
    ]
    assert later["notices"] == [{"less_than_hours": 1, "factor": "2"}]


def test_a_budget_is_spent_and_shown(operator: Client, member: Client) -> None:
    budget = made(operator)
    assert (budget["left"], budget["user_id"], budget["unit"]) == ("20.500000", None, "EUR")
    assert member.ask("POST", "/v1/leases", LEASE).status_code == 201
    (found,) = member.ask("GET", "/v1/budgets").json["budgets"]
    spent = {name: found[name] for name in ("amount", "encumbered", "charged", "left")}
    assert float(spent["encumbered"]) > 5
    assert float(spent["encumbered"]) + float(spent["left"]) == 20.5
    path = f"/v1/budgets/{budget['id']}"
    assert operator.ask("PUT", path, {"amount": "0"}).json["budget"]["amount"] == "0.000000"
    later = {**LEASE, "start_date": "2031-05-09T09:00Z", "end_date": "2031-05-09T10:00Z"}
    assert member.ask("POST", "/v1/leases", later).status_code == 403
    assert operator.ask("DELETE", path).status_code == 204
    assert member.ask("GET", path).status_code == 404


def test_a_request_beyond_it_is_told_what_would_fit(operator: Client, member: Client) -> None:
    made(operator, amount="1")
    answer = member.ask("POST", "/v1/leases", LEASE)
    assert answer.status_code == 403
    assert answer.json["code"] == "leasehold.budget.exceeded"
    assert answer.json["details"]["left"] == "1.00"
    tried = member.ask("POST", "/v1/leases", {**LEASE, "dry_run": True})
    assert tried.json["code"] == "leasehold.budget.exceeded"


def test_a_dry_run_says_what_it_would_cost_and_the_lease_what_it_costs(operator: Client, member: Client) -> None:
    tried = member.ask("POST", "/v1/leases", {**LEASE, "dry_run": True}).json["lease"]
    assert tried["cost"] == {"unit": "EUR", "total": "7.00", "passed": "0.00", "more": "7.00"}
    made = member.ask("POST", "/v1/leases", LEASE).json["lease"]
    path = f"/v1/leases/{made['id']}"
    assert member.ask("GET", path).json["lease"]["cost"] == {**tried["cost"], "more": None}
    longer = member.ask("PUT", path, {"end_date": "2031-05-01T12:00Z", "dry_run": True}).json["lease"]
    assert (longer["cost"]["total"], longer["cost"]["more"]) == ("9.00", "2.00")
    assert "cost" not in member.but(version="1.2").ask("GET", path).json["lease"]
    assert operator.ask("GET", path).json["lease"]["cost"]["total"] == "7.00"


def test_offers_and_series_say_what_they_cost(operator: Client, member: Client) -> None:
    offer = member.ask("POST", "/v1/offers", LEASE).json["offer"]
    assert offer["lease"]["cost"]["total"] == "7.00"
    assert operator.ask("GET", f"/v1/offers/{offer['id']}").json["offer"]["lease"]["cost"]["total"] == "7.00"
    asked = {name: value for name, value in LEASE.items() if name != "events"}
    asked |= {"start_date": "2031-05-03 10:00", "end_date": "2031-05-03 11:00", "rule": "FREQ=DAILY;COUNT=3"}
    made = member.ask("POST", "/v1/series", asked).json["series"]
    assert made["together"]["cost"] == {"unit": "EUR", "total": "21.00", "passed": "0.00", "more": None}
    (listed,) = member.ask("GET", "/v1/series").json["series"]
    assert "together" not in listed
    assert "together" not in member.but(version="1.2").ask("GET", f"/v1/series/{made['id']}").json["series"]


def test_members_make_no_budgets_and_see_their_own_projects(operator: Client, member: Client) -> None:
    budget = made(operator, project_id="other")
    path = f"/v1/budgets/{budget['id']}"
    assert member.ask("GET", "/v1/budgets").json["budgets"] == []
    assert member.ask("GET", path).status_code in (403, 404)
    for method, where, body in (
        ("POST", "/v1/budgets", BUDGET),
        ("PUT", path, {"amount": "9"}),
        ("DELETE", path, None),
    ):
        assert member.ask(method, where, body).status_code == 403
    assert operator.ask("GET", "/v1/budgets?all_projects=true").json["budgets"][0]["id"] == budget["id"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amount": "many"}, "amount"),
        ({"amount": "-1"}, "amount"),
        ({"amount": "NaN"}, "amount"),
        ({"amount": "1e99"}, "amount"),
        ({"amount": "0.0000001"}, "amount"),
        ({"amount": 12}, "amount"),
        ({"end_date": "2030-01-01T00:00Z"}, "end_date"),
        ({"start_date": "soon"}, "start_date"),
        ({"name": ""}, "name"),
        ({"project_id": ""}, "project_id"),
    ],
)
def test_bad_input_names_its_field(operator: Client, change: dict[str, Any], field: str) -> None:
    answer = operator.ask("POST", "/v1/budgets", {**BUDGET, **change})
    assert (answer.status_code, answer.json["field"]) == (400, field)
    assert operator.ask("GET", "/v1/budgets?all_projects=true").json["budgets"] == []


def test_there_is_no_budget_where_nothing_has_a_price(
    service: Service, settings: ApiSettings, operator: Client
) -> None:
    plain = replace(service, settings=AT_ONCE, clauses=())
    answer = operator.but(web=LocalClient(make_app(plain, settings))).ask("POST", "/v1/budgets", BUDGET)
    assert (answer.status_code, answer.json["code"]) == (409, "leasehold.conflict")
    assert "the operators name a file in [price] file first" in answer.text
