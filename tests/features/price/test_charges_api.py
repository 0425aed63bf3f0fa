"""Charges by the API: as JSON, as CSV that adds up, and as rows of FOCUS 1.2; everybody sees those of the project."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import make_app
from leasehold.conf.settings import ApiSettings
from leasehold.features.price.options import PriceSettings
from leasehold.features.price.use import ALL, BudgetChanges, amend_budget
from leasehold.model.states import LeaseStatus
from tests.factory import ALT, hosts, instances, make_service, run_until
from tests.features.price.focus import check_row
from tests.features.price.prices import budget
from tests.features.price.test_closing import NAMES, PRICED, closed, live_until
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from falcon import testing

    from tests.factory import World

pytestmark = pytest.mark.slow
MEMBER = ("alice", "demo", "member,reader")
OPERATOR = ("root", "operators", "admin,member,reader")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Return a world in which all kinds of charges were made, before and after the end of a month."""
    folder: Path = tmp_path_factory.mktemp("charges")
    with make_service(folder, settings=PRICED, hosts=NAMES) as world:
        world.refuse("aggregates.ensure")
        late = world.lease(hosts(), end=30)
        run_until(world, world.hour(0.5))
        world.cloud.faults.clear()
        run_until(world, world.hour(1.5))
        assert world.get(late).status is LeaseStatus.ACTIVE
        world.boot(late)
        rest = world.active(hosts(2), start=1.5, end=9)
        world.active(instances(1), start=1.5, end=6, caller=ALT)
        live_until(world, 3)
        has = {held.resource_number for held in world.get(rest).reservations[0].allocations}
        world.fail(next(name for name, host in world.hosts.items() if host.number in has))
        live_until(world, 5)
        world.delete(rest)
        live_until(world, 31)
        assert closed(world) == 30
        yield world


def asked(
    world: World, who: tuple[str, str, str], query: str = "", settings: ApiSettings | None = None
) -> testing.Result:
    user, project, roles = who
    headers = {"OpenStack-API-Version": "reservation 1.3", "X-User-Id": user, "X-Project-Id": project, "X-Roles": roles}
    app = make_app(world.service, ApiSettings(auth_strategy="none"))
    return LocalClient(app).simulate_request("GET", f"/v1/charges{query}", headers=headers)


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def shown(world: World, who: tuple[str, str, str], query: str = "") -> dict[str, Any]:
    answer = asked(world, who, query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json["charges"]
    return found


def total_of_all(world: World) -> Decimal:
    return Decimal(shown(world, OPERATOR, "?all_projects=true")["total"])


def test_all_kinds_are_shown_and_the_total_is_their_sum(world: World) -> None:
    found = shown(world, OPERATOR, "?all_projects=true")
    assert {row["kind"] for row in found["rows"]} == {"flat", "used", "unused", "late", "missing", "given_up"}
    assert Decimal(found["total"]) == sum(Decimal(row["amount"]) for row in found["rows"])
    assert (found["unit"], found["closed_until"]) == ("EUR", "2031-05-02T15:00:00+00:00")
    assert all(row["booked_at"] == found["closed_until"] for row in found["rows"])
    for row in found["rows"]:
        assert abs(Decimal(row["hours"]) * Decimal(row["price"]) - Decimal(row["amount"])) < Decimal("0.00001")


def test_windows_in_a_row_add_up_and_a_lease_has_its_own(world: World) -> None:
    whole = shown(world, MEMBER)
    days = [
        shown(world, MEMBER, f"?from={start}&to={end}")
        for start, end in pairwise(f"2031-0{day}T00:00:00Z" for day in ("4-30", "5-01", "5-02", "5-03"))
    ]
    assert [row for day in days for row in day["rows"]] == whole["rows"]
    ids = {row["lease_id"] for row in whole["rows"]}
    assert sum(Decimal(shown(world, MEMBER, f"?lease_id={each}")["total"]) for each in ids) == Decimal(whole["total"])


def test_members_see_their_project_and_administrators_all(world: World) -> None:
    assert {row["project_id"] for row in shown(world, MEMBER)["rows"]} == {"demo"}
    assert {row["project_id"] for row in shown(world, OPERATOR, "?project_id=alt")["rows"]} == {"alt"}
    refused = asked(world, MEMBER, "?project_id=alt")
    assert refused.status_code == 403
    assert "charges of another project" in refused.text
    assert asked(world, MEMBER, "?all_projects=true").status_code == 403


def test_csv_adds_up_in_a_spreadsheet(world: World) -> None:
    answer = asked(world, OPERATOR, "?all_projects=true&format=csv")
    assert answer.headers["content-type"].startswith("text/csv")
    found = table(answer.text)
    assert sum(Decimal(row["amount"]) for row in found) == Decimal(
        shown(world, OPERATOR, "?all_projects=true")["total"]
    )
    # As a spreadsheet does it, with binary fractions.
    multiplied = sum(float(row["hours"]) * float(row["price"]) for row in found)
    assert sum(float(row["amount"]) for row in found) == pytest.approx(multiplied)


def test_focus_rows_are_what_the_specification_demands(world: World) -> None:
    answer = asked(world, OPERATOR, "?all_projects=true&format=focus")
    assert answer.status_code == 200, answer.text
    found = table(answer.text)
    for row in found:
        check_row(row)
    assert {(row["ChargeCategory"], row["CapacityReservationStatus"]) for row in found} == {
        ("Usage", "Used"),
        ("Usage", "Unused"),
        ("Credit", ""),
        ("Purchase", ""),
    }
    assert sum(Decimal(row["BilledCost"]) for row in found) == Decimal(
        shown(world, OPERATOR, "?all_projects=true")["total"]
    )
    assert {row["ServiceCategory"] for row in found} == {"Compute"}
    assert {row["SkuMeter"] for row in found} == {"Reserved hosts", "Reserved instances", ""}


def test_prices_in_units_are_billed_in_a_currency_or_refused(world: World) -> None:
    prices = world.service.settings.of(PriceSettings).prices
    assert prices is not None
    virtual = replace(prices, unit="SU")
    plain = world.with_settings(features={PriceSettings: PriceSettings(virtual)})
    refused = asked(plain, MEMBER, "?format=focus")
    assert refused.status_code == 409
    assert "the prices are in SU" in refused.text
    worth = PriceSettings(replace(virtual, billed=("EUR", Decimal("0.05"))), timedelta(hours=3))
    found = table(asked(world.with_settings(features={PriceSettings: worth}), MEMBER, "?format=focus").text)
    for row in found:
        check_row(row)
    assert {(row["BillingCurrency"], row["PricingCurrency"]) for row in found} == {("EUR", "SU")}
    total = Decimal(shown(world, MEMBER)["total"])
    assert sum(Decimal(row["BilledCost"]) for row in found) == total * Decimal("0.05")
    assert sum(Decimal(row["PricingCurrencyEffectiveCost"]) for row in found) == total


def test_too_many_are_refused_with_what_helps(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.features.price.charge_routes.MOST", 3)
    answer = asked(world, MEMBER)
    assert answer.status_code == 400
    assert "more than 3 charges" in answer.text
    assert asked(world, MEMBER, "?format=xml").status_code == 400


def test_nothing_has_a_price(world: World) -> None:
    plain = world.with_settings(features={PriceSettings: PriceSettings()})
    assert asked(plain, MEMBER).status_code == 409


def post(world: World, who: tuple[str, str, str], body: dict[str, Any]) -> testing.Result:
    user, project, roles = who
    headers = {"OpenStack-API-Version": "reservation 1.3", "X-User-Id": user, "X-Project-Id": project, "X-Roles": roles}
    app = make_app(world.service, ApiSettings(auth_strategy="none"))
    return LocalClient(app).simulate_request("POST", "/v1/charges/corrections", headers=headers, json=body)


def test_a_correction_is_a_row_of_its_own_and_gives_no_more_back_than_was_charged(world: World) -> None:
    spring = budget(world, "1000", -10, 1000)
    before = spring.left
    (row, *_) = [row for row in shown(world, MEMBER)["rows"] if row["kind"] == "unused" and Decimal(row["amount"]) > 1]
    asked_for = {"charge_id": row["id"], "amount": "-1.00", "reason": "The rack had no network."}
    made = post(world, OPERATOR, asked_for)
    assert made.status_code == 201, made.text
    given = made.json["charge"]
    same = ("lease_id", "reservation_id", "project_id", "user_id", "resource_type", "from")
    assert {name: given[name] for name in same} == {name: row[name] for name in same}
    assert (given["kind"], given["corrects"], given["amount"]) == ("correction", row["id"], "-1.000000")
    assert given["booked_at"] > row["booked_at"]
    assert ALL.get(world.service, spring.id).left == before + 10**6
    # The budget counts it when it is counted again, too.
    longer = amend_budget(world.service, spring.id, BudgetChanges(ends_at=world.hour(1001)))
    assert longer.left == before + 10**6
    (focus,) = [each for each in table(asked(world, MEMBER, "?format=focus").text) if each["ChargeClass"]]
    check_row(focus)
    assert (focus["ChargeCategory"], focus["ChargeDescription"]) == ("Adjustment", "The rack had no network.")
    rest = Decimal(row["amount"]) - 1
    too_much = post(world, OPERATOR, {**asked_for, "amount": f"-{rest + Decimal('0.000001')}"})
    assert (too_much.status_code, too_much.json["field"]) == (400, "amount")
    assert f"{rest} was charged, so no more can be given back" in too_much.text
    assert post(world, OPERATOR, {**asked_for, "amount": f"-{rest}"}).status_code == 201
    again = post(world, OPERATOR, {**asked_for, "charge_id": given["id"]})
    assert (again.status_code, again.json["field"]) == (400, "charge_id")


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amount": "0"}, "amount"),
        ({"amount": "lots"}, "amount"),
        ({"reason": " "}, "reason"),
        ({"charge_id": 0}, "charge_id"),
    ],
)
def test_a_bad_correction_names_its_field(world: World, change: dict[str, Any], field: str) -> None:
    answer = post(world, OPERATOR, {"charge_id": 1, "amount": "-1", "reason": "Why.", **change})
    assert (answer.status_code, answer.json["field"]) == (400, field)


def test_members_correct_nothing_and_nobody_what_is_not_there(world: World) -> None:
    body = {"charge_id": 10**9, "amount": "-1", "reason": "Why."}
    assert post(world, MEMBER, body).status_code == 403
    assert post(world, OPERATOR, body).status_code == 404
