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


def test_5_2_query_keys_are_ignored(client: Client) -> None:
    made(client)
    assert len(client.ask("GET", "/v1/leases", query_string="all_projects=True&name=x").json["leases"]) == 1


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


# ---------------------------------------------------------------- §5.4


def test_5_4_name_and_dates(client: Client, host: str) -> None:
    lease = made(client, reservations=[HOST])
    answer = client.ask("PUT", f"/v1/leases/{lease['id']}", {"name": "renamed", "end_date": "2031-05-01 13:00"})
    assert answer.status_code == 200
    assert answer.json["lease"]["name"] == "renamed"
    assert answer.json["lease"]["end_date"] == "2031-05-01T13:00:00.000000"


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
