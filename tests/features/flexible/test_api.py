"""Flexible leases by the API, from 1.3 on: made, shown, changed, fixed, and refused with the name of the field."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.db.event_log import sequence
from tests.factory import hosts

if TYPE_CHECKING:
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

ALL = "/v1/flexible-leases"
WANTED: dict[str, Any] = {
    "name": "any 8 hours",
    "latest": "2031-05-02 17:00",
    "duration_seconds": 8 * 3600,
    "reservations": [hosts()],
}


@pytest.fixture
def member(client: Client, host: str) -> Client:
    assert host
    return client.but(version="1.3")


def made(member: Client, **more: Any) -> dict[str, Any]:
    answer = member.ask("POST", ALL, {**WANTED, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json["flexible_lease"]
    return found


def test_it_is_shown_with_its_lease_and_listed(member: Client) -> None:
    found = made(member, earliest="2031-05-01 12:00", hours=["nights"], time_zone="Europe/Berlin")
    lease = found.pop("lease")
    whole = {"id": lease["id"], "start_date": lease["start_date"], "end_date": lease["end_date"], "status": "PENDING"}
    assert found == {
        "id": lease["id"],
        "state": "flexible",
        "earliest": "2031-05-01T12:00:00.000000",
        "latest": "2031-05-02T17:00:00.000000",
        "duration_seconds": 28800,
        "frozen_seconds": 3600,
        "strategy": "soonest",
        "hours": ["20:00-06:00"],
        "time_zone": "Europe/Berlin",
        "frozen_at": "2031-05-01T17:00:00.000000",
        "moves": 0,
        "moved_at": None,
        "pieces": [whole],
    }
    assert (lease["start_date"], lease["end_date"]) == ("2031-05-01T18:00:00.000000", "2031-05-02T02:00:00.000000")
    assert member.ask("GET", f"/v1/leases/{lease['id']}").json["lease"] == lease
    assert member.ask("GET", ALL).json == {"flexible_leases": [{**found, "lease": lease}]}
    assert member.but(project="alt", user="bob").ask("GET", f"{ALL}/{lease['id']}").status_code == 403
    assert member.ask("DELETE", f"/v1/leases/{lease['id']}").status_code == 204
    assert member.ask("GET", ALL).json == {"flexible_leases": []}


def test_who_needs_its_room_moves_it_and_its_owner_is_told(member: Client, service: Service) -> None:
    ident = made(member, earliest="2031-05-01 12:00")["id"]
    firm = {"name": "firm", "start_date": "2031-05-01 13:00", "end_date": "2031-05-01 14:00", "reservations": [hosts()]}
    other = member.but(project="alt", user="bob")
    assert other.ask("POST", "/v1/leases", {**firm, "events": []}).status_code == 201
    found = member.ask("GET", f"{ALL}/{ident}").json["flexible_lease"]
    assert (found["moves"], found["lease"]["start_date"]) == (1, "2031-05-01T14:00:00.000000")
    service.db.transact(lambda connection: sequence(connection, 10))
    (event,) = member.ask("GET", "/v1/events?type=lease.rescheduled").json["events"]
    assert event["payload"]["before"]["start_date"] == "2031-05-01T12:00:00+00:00"
    assert event["payload"]["start_date"].startswith("2031-05-01T14:00")
    assert other.ask("GET", "/v1/events?type=lease.rescheduled").json["events"] == []
    history = member.ask("GET", f"/v1/leases/{ident}/history")
    assert "bob" not in history.text


def test_it_is_changed_and_then_fixed(member: Client, clock: Clock) -> None:
    ident = made(member, earliest="2031-05-01 12:00")["id"]
    path = f"{ALL}/{ident}"
    changed = member.ask("PUT", path, {"duration_seconds": 3600, "hours": ["weekends"], "latest": "2031-05-09 12:00"})
    found = changed.json["flexible_lease"]
    assert (found["lease"]["start_date"], found["strategy"]) == ("2031-05-03T00:00:00.000000", "soonest")
    assert member.ask("DELETE", path).status_code == 204
    assert member.ask("GET", path).status_code == 404
    assert member.ask("GET", f"/v1/leases/{ident}").json["lease"]["start_date"] == "2031-05-03T00:00:00.000000"
    clock.now += timedelta(days=3)


def test_its_dates_are_set_by_an_amendment_and_it_is_flexible_no_more(member: Client) -> None:
    ident = made(member, earliest="2031-05-01 12:00")["id"]
    dates = {"start_date": "2031-05-01 15:00", "end_date": "2031-05-01 16:00"}
    assert member.ask("PUT", f"/v1/leases/{ident}", dates).status_code == 200
    assert member.ask("GET", f"{ALL}/{ident}").json["flexible_lease"]["state"] == "fixed"
    refused = member.ask("PUT", f"{ALL}/{ident}", {"latest": "2031-05-09 12:00"})
    assert (refused.status_code, refused.json["code"]) == (409, "leasehold.flexible.fixed")


def test_what_is_cut_shows_all_its_pieces_and_one_is_deleted_as_any_lease(member: Client) -> None:
    firm = {"name": "firm", "start_date": "2031-05-01 12:00", "end_date": "2031-05-01 14:00", "reservations": [hosts()]}
    assert member.ask("POST", "/v1/leases", {**firm, "events": []}).status_code == 201
    found = made(member, latest="2031-05-01 20:00", piece_seconds=7200, earliest="2031-05-01 10:00")
    first, second = found["pieces"]
    dates = [(each["start_date"][11:16], each["end_date"][11:16], each["status"]) for each in found["pieces"]]
    assert dates == [("10:00", "12:00", "PENDING"), ("14:00", "20:00", "PENDING")]
    assert (found["id"], found["duration_seconds"], found["lease"]["name"]) == (first["id"], 7200, "any 8 hours 1/2")
    assert member.ask("GET", f"{ALL}/{second['id']}").json["flexible_lease"]["pieces"] == found["pieces"]
    listed = member.ask("GET", ALL).json["flexible_leases"]
    assert [each["pieces"] for each in listed] == [found["pieces"]] * 2
    refused = member.ask("PUT", f"{ALL}/{second['id']}", {"duration_seconds": 3600})
    assert (refused.status_code, refused.json["field"]) == (400, "duration_seconds")
    assert member.ask("DELETE", f"/v1/leases/{first['id']}").status_code == 204
    assert member.ask("GET", f"{ALL}/{second['id']}").json["flexible_lease"]["pieces"] == [second]
    nothing = member.ask(
        "POST", ALL, {**WANTED, "piece_seconds": 3600, "latest": "2031-05-01 13:00", "earliest": "2031-05-01 10:00"}
    )
    assert (nothing.status_code, nothing.json["code"]) == (409, "leasehold.flexible.no_pieces")
    assert nothing.json["details"] == {"free_seconds": 2 * 3600}


def test_a_lease_of_nothing_is_cut_as_well(member: Client) -> None:
    found = made(member, reservations=[], hours=["14:00-17:00"], piece_seconds=3600, latest="2031-05-05 09:00")
    assert [each["start_date"][:16] for each in found["pieces"]] == [f"2031-05-0{day}T14:00" for day in (1, 2, 3)]


def test_the_same_key_makes_it_once(member: Client) -> None:
    key: dict[str, Any] = {"headers": {"Idempotency-Key": "a"}}
    first, again = (member.ask("POST", ALL, WANTED, **key) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json == first.json
    other = member.ask("POST", ALL, {**WANTED, "duration_seconds": 60}, **key)
    assert other.status_code == 409


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"latest": "soon"}, "latest"),
        ({"latest": ""}, "latest"),
        ({"latest": "2031-05-01 08:00"}, "latest"),
        ({"latest": "2031-05-01 12:00"}, "latest"),
        ({"latest": "2041-05-01 12:00"}, "latest"),
        ({"earliest": "whenever"}, "earliest"),
        ({"duration_seconds": 0}, "duration_seconds"),
        ({"duration_seconds": "8h"}, "duration_seconds"),
        ({"frozen_seconds": -1}, "frozen_seconds"),
        ({"strategy": "cheapest"}, "strategy"),
        ({"hours": ["nights", "noon"]}, "hours[1]"),
        ({"hours": ["25:00-26:00"]}, "hours[0]"),
        ({"hours": "nights"}, "hours"),
        ({"hours": ["mon 08:00-09:00"]}, "hours"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"type": "flexible"}, "type"),
        ({"piece_seconds": 0}, "piece_seconds"),
        ({"piece_seconds": 90}, "piece_seconds"),
        ({"piece_seconds": 9 * 3600}, "piece_seconds"),
        ({"piece_seconds": "2h"}, "piece_seconds"),
        ({"piece_seconds": 60, "duration_seconds": 90}, "duration_seconds"),
        ({"piece_seconds": 3600, "name": "n" * 71}, "name"),
        ({"piece_seconds": 3600, "hours": ["mon 08:00-08:30"]}, "hours"),
    ],
)
def test_bad_input_is_refused_with_its_field_and_nothing_is_kept(
    member: Client, more: dict[str, Any], field: str
) -> None:
    answer = member.ask("POST", ALL, {**WANTED, **more})
    assert (answer.status_code, answer.json["field"]) == (400, field), answer.text
    assert member.ask("GET", "/v1/leases").json == {"leases": []}


def test_what_does_not_fit_is_refused_as_a_lease_is(member: Client) -> None:
    answer = member.ask("POST", ALL, {**WANTED, "reservations": [hosts(5)]})
    assert (answer.status_code, answer.json["code"]) == (409, "leasehold.resources.not_enough")


def test_older_versions_do_not_have_it(member: Client) -> None:
    assert member.but(version="1.2").ask("POST", ALL, WANTED).status_code == 404


def test_administrators_list_those_of_all_projects(member: Client, admin: Client) -> None:
    made(member)
    boss = admin.but(version="1.3", project="ops")
    assert boss.ask("GET", ALL).json == {"flexible_leases": []}
    assert len(boss.ask("GET", f"{ALL}?all_projects=true").json["flexible_leases"]) == 1
