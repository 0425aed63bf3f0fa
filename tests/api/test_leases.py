"""Contract http-api §5: leases, as unmodified clients send and read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from falcon import testing

    from tests.api.conftest import Client, Clock

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


# ---------------------------------------------------------------- §5.2, §3.1


def test_5_2_query_keys_are_ignored(client: Client) -> None:
    made(client)
    assert len(client.ask("GET", "/v1/leases", query_string="all_projects=True&name=x").json["leases"]) == 1


def test_5_3_names_may_repeat_and_have_80_characters(client: Client) -> None:
    for _ in range(2):
        assert made(client, name="é" * 80)["name"] == "é" * 80


def test_5_3_no_reservations_is_a_lease(client: Client) -> None:
    assert made(client, reservations=[])["reservations"] == []
    assert made(client, reservations=None)["reservations"] == []


@pytest.mark.parametrize("before_end_date", [None, "", "2031-05-01 11:00"])
def test_5_3_before_end_date(client: Client, before_end_date: str | None) -> None:
    lease = made(client, before_end_date=before_end_date)
    (event,) = [event for event in lease["events"] if event["event_type"] == "before_end_lease"]
    assert event["time"] == "2031-05-01T11:00:00.000000"


# ---------------------------------------------------------------- §5.4


# ---------------------------------------------------------------- §5.5


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


def test_sizes_have_units_from_1_1_on(client: Client, host: str) -> None:
    """The host has 32768 MB; ordering its memory by what is no number compared texts, which granted any host."""
    assert host

    def ask(version: str, size: str) -> testing.Result:
        asked = {**HOST, "resource_properties": f'[">=", "$memory_mb", "{size}"]'}
        return make(client.but(version=version), reservations=[asked])

    for version, size, words in (
        *(("1.0", each, "has a unit, which needs microversion 1.1") for each in ("32G", "33G")),
        *((version, "64 apples", "$memory_mb has numbers, and '64 apples' is none") for version in ("1.0", "1.3")),
    ):
        refused = ask(version, size)
        assert (refused.status_code, refused.json["field"]) == (400, "reservations[0].resource_properties")
        assert words in refused.json["error_message"]
    assert ask("1.1", "33G").status_code == 409
    granted = ask("1.1", "32GiB")
    assert granted.status_code == 201, granted.text
    part = granted.json["lease"]["reservations"][0]
    assert part["resource_properties"] == '[">=", "$memory_mb", "32GiB"]'
    # What is amended later keeps it, in every version.
    lease = f"/v1/leases/{granted.json['lease']['id']}"
    longer = client.ask("PUT", lease, {"end_date": "2031-05-01 13:00", "reservations": [{"id": part["id"], "min": 1}]})
    assert longer.status_code == 200, longer.text
