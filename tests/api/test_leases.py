"""Contract http-api §5: leases, as unmodified clients send and read them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.conftest import Client, Clock

WIRE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")
RECORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
HOST = {"resource_type": "physical:host", "min": 1, "max": 1, "hypervisor_properties": "", "resource_properties": ""}
MAKE: dict[str, Any] = {"name": "n", "start_date": "2031-05-01 10:00", "end_date": "2031-05-01 12:00"}


def make(client: Client, **changes: Any) -> testing.Result:
    return client.ask("POST", "/v1/leases", {**MAKE, **changes})


def made(client: Client, **changes: Any) -> dict[str, Any]:
    answer = make(client, **changes)
    assert answer.status_code == 201, answer.text
    lease: dict[str, Any] = answer.json["lease"]
    return lease


# ---------------------------------------------------------------- §5.1


def test_5_1_the_lease_object(client: Client, host: str) -> None:
    lease = made(client, reservations=[HOST])
    assert set(lease) == {
        *("id", "name", "user_id", "project_id", "trust_id", "start_date", "end_date", "status", "degraded"),
        *("created_at", "updated_at", "reservations", "events"),
    }
    assert lease["trust_id"] is None
    assert (lease["user_id"], lease["project_id"], lease["degraded"]) == ("alice", "demo", False)
    assert (lease["start_date"], lease["end_date"]) == ("2031-05-01T10:00:00.000000", "2031-05-01T12:00:00.000000")
    assert RECORD.fullmatch(lease["created_at"])
    assert RECORD.fullmatch(lease["updated_at"])
    (reservation,) = lease["reservations"]
    assert set(reservation) == {
        *("id", "lease_id", "resource_id", "resource_type", "status", "missing_resources", "resources_changed"),
        *("created_at", "updated_at", "min", "max", "hypervisor_properties", "resource_properties", "before_end"),
    }
    assert reservation["lease_id"] == lease["id"]
    assert {event["event_type"] for event in lease["events"]} == {"start_lease", "before_end_lease", "end_lease"}
    for event in lease["events"]:
        assert set(event) == {"id", "lease_id", "event_type", "time", "status", "created_at", "updated_at"}
        assert WIRE.fullmatch(event["time"])


def test_5_1_what_is_made_listed_and_shown_is_the_same(client: Client, host: str) -> None:
    lease = made(client, reservations=[HOST])
    assert client.ask("GET", f"/v1/leases/{lease['id']}").json == {"lease": lease}
    assert client.ask("GET", "/v1/leases").json == {"leases": [lease]}


# ---------------------------------------------------------------- §5.2, §3.1


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_5_2_an_unknown_id(client: Client, method: str) -> None:
    answer = client.ask(method, "/v1/leases/none-such", {} if method == "PUT" else None)
    assert answer.status_code == 404
    assert answer.json["error_message"] == "Object with {'lease_id': 'none-such'} not found"


def test_5_2_query_keys_are_ignored(client: Client) -> None:
    made(client)
    assert len(client.ask("GET", "/v1/leases", query_string="all_projects=True&name=x").json["leases"]) == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"start_date": "2050-01-02 10:00", "end_date": "2050-01-02 09:00"}, "End date must be later than start date."),
        ({"end_date": "2031-05-01 10:00"}, "End date must be later than start date."),
        ({"start_date": "now", "end_date": "now"}, "End date must be later than start date."),
        (
            {"start_date": "Bogus-date 13:13"},
            "Bogus-date 13:13 is an invalid date. Required format: %Y-%m-%d %H:%M",
        ),
        ({"start_date": "2031-05-01 09:28"}, "Start date must be later than the current date"),
    ],
)
def test_3_1_messages_about_dates(client: Client, changes: dict[str, Any], message: str) -> None:
    answer = make(client, **changes)
    assert answer.status_code == 400
    assert message in answer.json["error_message"]
    assert answer.json["field"] in {"start_date", "end_date"}


@pytest.mark.parametrize(
    ("absent", "message"),
    [
        (["end_date"], "Missing parameter end_date"),
        (["name", "end_date"], "Missing parameter name, end_date"),
        (["name", "start_date", "end_date"], "Missing parameter name, start_date, end_date"),
    ],
)
def test_5_3_all_missing_keys_in_one_answer(client: Client, absent: list[str], message: str) -> None:
    answer = client.ask("POST", "/v1/leases", {key: value for key, value in MAKE.items() if key not in absent})
    assert answer.status_code == 400
    assert answer.json["error_message"] == message
    assert answer.json["details"] == {"missing": absent}


def test_5_3_a_reservation_without_a_type(client: Client) -> None:
    answer = make(client, reservations=[{"min": 1, "max": 1}], start_date="nonsense")
    assert answer.status_code == 400
    assert answer.json["error_message"] == "Missing parameter resource_type"
    assert answer.json["field"] == "reservations[0].resource_type"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"name": "x" * 81}, "name"),
        ({"name": 1}, "name"),
        ({"name": None}, "name"),
        ({"start_date": 5}, "start_date"),
        ({"end_date": ["now"]}, "end_date"),
        ({"before_end_date": 5}, "before_end_date"),
        ({"before_end_date": "soon"}, "before_end_date"),
        ({"reservations": {}}, "reservations"),
        ({"reservations": ["x"]}, "reservations[0]"),
        ({"reservations": [{"resource_type": 1}]}, "reservations[0].resource_type"),
        ({"reservations": [{"resource_type": "no:such"}]}, "reservations[0].resource_type"),
        ({"reservations": [{**HOST, "min": "bar", "max": "foo"}]}, "reservations[0].min"),
        ({"reservations": [HOST, {**HOST, "max": 0}]}, "reservations[1].max"),
        ({"events": "x"}, "events"),
        ({"events": [{"event_type": 7}]}, "events[0].event_type"),
    ],
)
def test_5_3_a_bad_value_is_400_and_names_its_field(client: Client, changes: dict[str, Any], field: str) -> None:
    answer = make(client, **changes)
    assert answer.status_code == 400, answer.text
    assert answer.json["error_code"] == 400
    assert answer.json["field"] == field


def test_5_3_names_may_repeat_and_have_80_characters(client: Client) -> None:
    for _ in range(2):
        assert made(client, name="é" * 80)["name"] == "é" * 80


def test_5_3_the_current_minute_is_not_past(client: Client) -> None:
    assert made(client, start_date="2031-05-01 09:30")["start_date"] == "2031-05-01T09:30:00.000000"
    assert made(client, start_date="now")["start_date"] == "2031-05-01T09:30:00.000000"


def test_5_3_no_reservations_is_a_lease(client: Client) -> None:
    assert made(client, reservations=[])["reservations"] == []
    assert made(client, reservations=None)["reservations"] == []


def test_5_3_the_command_lines_request(client: Client, host: str) -> None:
    lease = made(
        client,
        before_end_date=None,
        reservations=[{**HOST, "min": 1, "max": 2}],
        events=[{"event_type": "notify", "event_date": "2031-05-01 11:00"}, {"event_type": "end_lease"}, {}],
    )
    foreign = [event for event in lease["events"] if event["event_type"] == "notify"]
    assert [(event["time"], event["status"]) for event in foreign] == [(None, None)]
    assert len(lease["events"]) == 4


@pytest.mark.parametrize("before_end_date", [None, "", "2031-05-01 11:00"])
def test_5_3_before_end_date(client: Client, before_end_date: str | None) -> None:
    lease = made(client, before_end_date=before_end_date)
    (event,) = [event for event in lease["events"] if event["event_type"] == "before_end_lease"]
    assert event["time"] == "2031-05-01T11:00:00.000000"


@pytest.mark.parametrize("before_end_date", ["2031-05-01 10:00", "2031-05-01 12:00", "2031-05-01 13:00"])
def test_5_3_before_end_date_outside_the_lease_is_403(client: Client, before_end_date: str) -> None:
    answer = make(client, before_end_date=before_end_date)
    assert answer.status_code == 403
    assert answer.json["field"] == "before_end_date"


def test_5_3_unknown_keys_are_not_stored(client: Client) -> None:
    lease = made(client, id="mine", degraded=True, project_id="other", status="ACTIVE", trust_id="t", nonsense=1)
    assert lease["id"] != "mine"
    assert (lease["degraded"], lease["project_id"], lease["status"]) == (False, "demo", "PENDING")
    assert lease["trust_id"] is None
    assert "nonsense" not in lease


def test_3_1_not_enough_is_409_and_explains_itself(client: Client, host: str) -> None:
    answer = make(client, reservations=[{**HOST, "min": 2, "max": 2}])
    assert answer.status_code == 409
    assert answer.json["code"] == "leasehold.resources.not_enough"
    assert answer.json["details"]["asked"] == 2
    assert answer.json["details"]["largest"] == 1


# ---------------------------------------------------------------- §5.4


@pytest.mark.parametrize("body", [{}, {"events": []}, {"project_id": "x", "degraded": True}, {"before_end_date": None}])
def test_5_4_nothing_to_change_is_200_and_changes_nothing(client: Client, body: dict[str, Any]) -> None:
    lease = made(client)
    answer = client.ask("PUT", f"/v1/leases/{lease['id']}", body)
    assert answer.status_code == 200
    assert answer.json == {"lease": lease}


def test_5_4_name_and_dates(client: Client, host: str) -> None:
    lease = made(client, reservations=[HOST])
    answer = client.ask("PUT", f"/v1/leases/{lease['id']}", {"name": "renamed", "end_date": "2031-05-01 13:00"})
    assert answer.status_code == 200
    assert answer.json["lease"]["name"] == "renamed"
    assert answer.json["lease"]["end_date"] == "2031-05-01T13:00:00.000000"


def test_5_4_a_reservation_without_its_id(client: Client, host: str) -> None:
    lease = made(client, reservations=[HOST])
    answer = client.ask("PUT", f"/v1/leases/{lease['id']}", {"reservations": [{"min": 1}]})
    assert answer.status_code == 400
    assert answer.json["error_message"] == "Missing parameter reservation ID"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "x" * 81}, "name"),
        ({"end_date": 3}, "end_date"),
        ({"end_date": "soon"}, "end_date"),
        ({"reservations": [1]}, "reservations[0]"),
    ],
)
def test_5_4_a_bad_value_is_400_and_changes_nothing(client: Client, body: dict[str, Any], field: str) -> None:
    lease = made(client)
    answer = client.ask("PUT", f"/v1/leases/{lease['id']}", body)
    assert (answer.status_code, answer.json["field"]) == (400, field)
    assert client.ask("GET", f"/v1/leases/{lease['id']}").json == {"lease": lease}


# ---------------------------------------------------------------- §5.5


def test_5_5_delete_is_204_without_a_body(client: Client, host: str) -> None:
    lease = made(client, reservations=[HOST])
    answer = client.ask("DELETE", f"/v1/leases/{lease['id']}")
    assert (answer.status_code, answer.content) == (204, b"")
    assert "content-type" not in answer.headers
    assert client.ask("GET", f"/v1/leases/{lease['id']}").status_code == 404
    assert client.ask("GET", "/v1/leases").json == {"leases": []}


# ---------------------------------------------------------------- extensions: idempotency, and microversion 1.1


def test_the_same_idempotency_key_gives_the_same_lease(client: Client) -> None:
    first = client.ask("POST", "/v1/leases", MAKE, headers={"Idempotency-Key": "k1"})
    again = client.ask("POST", "/v1/leases", MAKE, headers={"Idempotency-Key": "k1"})
    other = client.ask("POST", "/v1/leases", {**MAKE, "name": "other"}, headers={"Idempotency-Key": "k1"})
    assert (first.status_code, again.status_code, other.status_code) == (201, 201, 409)
    assert first.json["lease"]["id"] == again.json["lease"]["id"]
    assert len(client.ask("GET", "/v1/leases").json["leases"]) == 1


@pytest.mark.parametrize("key", ["", "x" * 256, "\xe9"])
def test_an_idempotency_key_that_cannot_be_kept_is_400(client: Client, key: str) -> None:
    answer = client.ask("POST", "/v1/leases", MAKE, headers={"Idempotency-Key": key})
    assert (answer.status_code, answer.json["field"]) == (400, "Idempotency-Key")


def test_1_1_iso_dates_and_status_reason(client: Client, clock: Clock) -> None:
    newer = client.but(version="1.1")
    start = clock.now + timedelta(hours=1, seconds=7)
    lease = made(newer, start_date=start.isoformat(), end_date="2031-05-01T16:00:00+02:00")
    assert lease["start_date"] == "2031-05-01T10:30:47.000000"
    assert lease["end_date"] == "2031-05-01T14:00:00.000000"
    assert lease["status_reason"] is None
    assert "status_reason" not in client.ask("GET", f"/v1/leases/{lease['id']}").json["lease"]
    assert make(client, start_date=start.isoformat()).status_code == 400


def test_1_1_etag_and_if_match(client: Client) -> None:
    newer = client.but(version="1.1")
    answer = make(newer)
    path = f"/v1/leases/{answer.json['lease']['id']}"
    etag = answer.headers["ETag"]
    assert newer.ask("GET", path).headers["ETag"] == etag
    assert "ETag" not in client.ask("GET", path).headers
    changed = newer.ask("PUT", path, {"name": "x"}, headers={"If-Match": etag})
    assert changed.status_code == 200
    assert changed.headers["ETag"] != etag
    for method, body in (("PUT", {"name": "y"}), ("DELETE", None)):
        stale = newer.ask(method, path, body, headers={"If-Match": etag})
        assert (stale.status_code, stale.json["field"]) == (412, "If-Match")
    assert newer.ask("PUT", path, {"name": "y"}, headers={"If-Match": "*"}).status_code == 200
    assert newer.ask("PUT", path, {"name": "z"}, headers={"If-Match": "3"}).status_code == 400
    # Version 1.0 ignores If-Match.
    assert client.ask("DELETE", path, headers={"If-Match": etag}).status_code == 204


def test_the_clock_of_the_service_is_the_one_that_counts(client: Client, clock: Clock) -> None:
    clock.now = datetime(2040, 1, 1, tzinfo=UTC)
    assert make(client).status_code == 400
