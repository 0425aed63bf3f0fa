"""Series of leases by the API: for members of a project, from 1.2 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.factory import hosts

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.conftest import Client

PATH = "/v1/series"
WEEKLY = {
    "name": "course",
    "start_date": "2031-05-05 07:00",
    "end_date": "2031-05-05 09:00",
    "rule": "FREQ=WEEKLY;COUNT=3",
    "time_zone": "Europe/Berlin",
    "reservations": [hosts()],
}


def make(client: Client, **more: Any) -> testing.Result:
    return client.ask("POST", PATH, {**WEEKLY, **more})


@pytest.fixture
def member(client: Client, host: str) -> Client:
    """Return a member of a project, where there is one host."""
    assert host
    return client.but(version="1.2")


def test_a_series_is_made_shown_amended_and_deleted(member: Client) -> None:
    taken = {"name": "n", "start_date": "2031-05-12 08:00", "end_date": "2031-05-12 10:00", "reservations": [hosts()]}
    assert member.ask("POST", "/v1/leases", taken).status_code == 201
    answer = make(member)
    assert answer.status_code == 201, answer.text
    made = answer.json["series"]
    first, second, third = made["occurrences"]
    assert made == {
        "id": made["id"],
        "name": "course",
        "project_id": "demo",
        "user_id": "alice",
        "rule": "FREQ=WEEKLY;COUNT=3",
        "time_zone": "Europe/Berlin",
        "created_at": made["created_at"],
        "updated_at": None,
        "occurrences": [
            {**first, "start_date": "2031-05-05T07:00:00.000000", "status": "PENDING", "refused": None},
            {**second, "start_date": "2031-05-12T07:00:00.000000", "lease_id": None, "status": None},
            {**third, "end_date": "2031-05-19T09:00:00.000000", "status": "PENDING", "refused": None, "planned": None},
        ],
    }
    assert second["refused"]["code"] == "leasehold.resources.not_enough"
    assert second["refused"]["details"]["nearest"]
    one = f"{PATH}/{made['id']}"
    assert member.ask("GET", PATH).json["series"] == [member.ask("GET", one).json["series"]] == [made]
    lease = member.ask("GET", f"/v1/leases/{first['lease_id']}").json["lease"]
    assert (lease["name"], lease["status"]) == ("course 1/3", "PENDING")
    longer = {"end_date": "2031-05-05 10:00"}
    assert member.ask("PUT", f"/v1/leases/{first['lease_id']}", longer).status_code == 200
    shown = member.ask("PUT", one, {"name": "lab"}).json["series"]["occurrences"]
    assert [each["end_date"][11:13] for each in shown] == ["10", "09", "09"]
    assert [each["planned"] for each in shown] == [
        {"start_date": first["start_date"], "end_date": first["end_date"]},
        None,
        None,
    ]
    refused = member.ask("PUT", one, {"start_date": "2031-05-06 10:00", "end_date": "2031-05-06 09:00"})
    assert (refused.status_code, refused.json["field"]) == (400, "end_date")
    later = {"start_date": "2031-05-05 10:00", "end_date": "2031-05-05 12:00"}
    moved = member.ask("PUT", one, later).json["series"]["occurrences"]
    assert [each["start_date"][8:13] for each in moved] == ["05T10", "12T10", "19T10"]
    assert [each["refused"] for each in moved] == [None] * 3
    assert member.ask("DELETE", one).status_code == 204
    assert len(member.ask("GET", "/v1/leases").json["leases"]) == 1
    assert member.ask("GET", one).status_code == 404


def test_series_of_others_are_shown_to_administrators_alone(member: Client, admin: Client) -> None:
    made = make(member.but(project="other", user="bob")).json["series"]
    assert member.ask("GET", PATH).json["series"] == []
    assert member.ask("GET", f"{PATH}/{made['id']}").status_code == 403
    assert admin.but(version="1.2").ask("GET", f"{PATH}?all_projects=true").json["series"] == [made]


def test_an_unknown_key_of_a_reservation_is_named(member: Client) -> None:
    answer = make(member, reservations=[{**hosts(), "maximum": 2}])
    assert (answer.status_code, answer.json["code"]) == (400, "leasehold.input.unknown")
    made = make(member).json["series"]
    answer = member.ask("PUT", f"{PATH}/{made['id']}", {"reservations": [{"maximum": 2}]})
    assert (answer.status_code, answer.json["code"]) == (400, "leasehold.input.unknown")
    assert member.ask("GET", f"{PATH}/{made['id']}").json["series"] == made


def test_a_repeated_key_gives_the_same_series(member: Client) -> None:
    headers = {"Idempotency-Key": "one"}
    first = member.ask("POST", PATH, WEEKLY, headers=headers)
    again = member.ask("POST", PATH, WEEKLY, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json == again.json
    assert member.ask("POST", PATH, {**WEEKLY, "name": "other"}, headers=headers).status_code == 409


@pytest.mark.parametrize("version", [None, "1.0", "1.1"])
def test_older_versions_do_not_have_them(member: Client, version: str | None) -> None:
    old = member.but(version=version)
    assert (old.ask("GET", PATH).status_code, make(old).status_code) == (404, 404)
