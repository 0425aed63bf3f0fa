"""Features A2, A3, A6, A17: types of leases and the two new statuses, from microversion 1.2 on; what older ones see."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from leasehold.db.task import claim_tasks
from leasehold.manager.task_runner import run_task
from tests.api.test_leases import HOST, made, make

if TYPE_CHECKING:
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

NEWER = {"type", "retries", "retry_seconds", "deadline", "tried"}
RETRY = {"type": "retry", "retries": 2, "retry_seconds": 60}
WAITLIST = {"type": "waitlist", "deadline": "2031-05-02 10:00"}


@pytest.fixture
def new(client: Client) -> Client:
    return client.but(version="1.2")


@pytest.fixture
def full(client: Client, host: str) -> str:
    """Lease the only host, and return the lease's id."""
    assert host
    return str(made(client, reservations=[HOST], end_date="2031-05-09 10:00")["id"])


def ask(client: Client, **more: Any) -> dict[str, Any]:
    return made(client, reservations=[HOST], **more)


def shown(client: Client, lease: dict[str, Any], version: str) -> dict[str, Any]:
    found: dict[str, Any] = client.but(version=version).ask("GET", f"/v1/leases/{lease['id']}").json["lease"]
    return found


def work(service: Service, clock: Clock, seconds: float) -> None:
    """Let time pass, and run what is due."""
    clock.now += timedelta(seconds=seconds)
    lasts = timedelta(seconds=30)
    claim = partial(claim_tasks, claimer=uuid4().hex, now=clock.now, lasts=lasts, most=9)
    for each in service.db.transact(claim):
        run_task(service, each)


@pytest.mark.parametrize("word", ["scheduled", None])
def test_a_lease_is_scheduled_without_a_choice(new: Client, word: str | None) -> None:
    lease = made(new, type=word)
    assert {name: lease[name] for name in NEWER} == dict.fromkeys(NEWER) | {"type": "scheduled"}


def test_what_waits_shows_how_long(new: Client, full: str) -> None:
    assert full
    retry, listed = ask(new, **RETRY), ask(new, **WAITLIST)
    assert (retry["status"], retry["retries"], retry["retry_seconds"], retry["tried"]) == ("IN_PROGRESS", 2, 60, 0)
    assert "host" in retry["status_reason"]
    assert (listed["status"], listed["deadline"], listed["retries"]) == (
        "IN_PROGRESS",
        "2031-05-02T10:00:00.000000",
        None,
    )
    assert all(each["status"] == "pending" for each in retry["reservations"])


def test_older_versions_see_the_statuses_that_they_know(
    client: Client, new: Client, full: str, service: Service, clock: Clock
) -> None:
    assert full
    retry = ask(new, **{**RETRY, "retries": 1})
    listed = ask(new, **{**WAITLIST, "deadline": "2031-05-01 10:10"})
    for lease in (retry, listed):
        assert [shown(client, lease, each)["status"] for each in ("1.0", "1.1", "1.2")] == [
            *("PENDING", "PENDING"),
            "IN_PROGRESS",
        ]
        assert not NEWER & shown(client, lease, "1.1").keys()
        assert shown(client, lease, "1.0")["status_reason"] == shown(client, lease, "1.2")["status_reason"] is not None
    work(service, clock, 3600)
    assert [shown(client, retry, each)["status"] for each in ("1.0", "1.1", "1.2")] == ["ERROR"] * 3
    assert [shown(client, listed, each)["status"] for each in ("1.0", "1.1", "1.2")] == ["ERROR", "ERROR", "TIMEDOUT"]
    for lease in (retry, listed):
        for version in ("1.0", "1.1"):
            assert "ot granted" in shown(client, lease, version)["status_reason"]
        assert new.ask("DELETE", f"/v1/leases/{lease['id']}").status_code == 204


@pytest.mark.parametrize("version", [None, "1.0", "1.1"])
@pytest.mark.parametrize("value", ["retry", "nonsense", 7])
def test_older_versions_neither_read_nor_show_it(client: Client, full: str, version: str | None, value: Any) -> None:
    assert full
    old = client.but(version=version)
    assert make(old, reservations=[HOST], type=value, retries=value, deadline=value).status_code == 409
    lease = made(old, type=value, retry_seconds=value)
    assert (shown(client, lease, "1.2")["type"], NEWER & lease.keys()) == ("scheduled", set())


def test_an_immediate_lease_starts_now(new: Client, full: str) -> None:
    assert full
    assert made(new, start_date="now", type="immediate")["status"] == "PENDING"
    later = make(new, type="immediate")
    assert (later.status_code, later.json["field"], later.json["code"]) == (400, "start_date", "leasehold.input.date")
    refused = make(new, start_date="now", type="immediate", reservations=[HOST])
    assert (refused.status_code, refused.json["code"]) == (409, "leasehold.resources.not_enough")
    assert len(new.ask("GET", "/v1/leases").json["leases"]) == 2


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"type": "preemptible"}, "type"),
        ({"type": "best_effort", "deadline": "2031-05-01 09:00"}, "deadline"),
        ({"type": "best_effort", "retry_seconds": 60}, "retry_seconds"),
        ({"type": "waitlist"}, "deadline"),
        ({"type": "waitlist", "deadline": "2031-05-01 09:00"}, "deadline"),
        ({"type": "waitlist", "deadline": "soon"}, "deadline"),
        ({"type": "retry", "retries": 10_001}, "retries"),
        ({"type": "retry", "retries": 99}, "retries"),
        ({"type": "retry", "retry_seconds": 5}, "retry_seconds"),
        ({"type": "retry", "deadline": "2031-05-02 10:00"}, "deadline"),
        ({"retries": 1}, "retries"),
        ({"type": "immediate", "start_date": "now", "retry_seconds": 60}, "retry_seconds"),
    ],
)
def test_a_refusal_names_the_field(new: Client, clock: Clock, more: dict[str, Any], field: str) -> None:
    answer = make(new, **more)
    assert (answer.status_code, answer.json["field"]) == (400, field), (clock.now, answer.text)
    assert new.ask("GET", "/v1/leases").json["leases"] == []


def test_a_waiting_lease_is_amended_by_name_and_dates_only(new: Client, full: str) -> None:
    assert full
    lease = ask(new, **WAITLIST)
    path = f"/v1/leases/{lease['id']}"
    assert new.ask("PUT", path, {"name": "m", "end_date": "2031-05-01 13:00"}).json["lease"]["status"] == "IN_PROGRESS"
    part = {"id": lease["reservations"][0]["id"], "max": 2}
    refused = new.ask("PUT", path, {"reservations": [part]})
    assert (refused.status_code, refused.json["code"]) == (409, "leasehold.lease.waiting")
    for body in ({"type": "retry"}, {"deadline": "2031-05-03 10:00"}):
        assert new.ask("PUT", path, body).json["code"] == "leasehold.input.unknown"
    assert new.ask("POST", f"{path}/swap", {"server": "s", "servers": []}).status_code == 409
    assert new.ask("DELETE", path).status_code == 204


def test_what_is_freed_is_granted_and_told(new: Client, full: str, service: Service, clock: Clock) -> None:
    lease = ask(new, **RETRY)
    new.ask("DELETE", f"/v1/leases/{full}")
    work(service, clock, 1)
    assert (shown(new, lease, "1.2")["status"], shown(new, lease, "1.0")["status"]) == ("PENDING", "PENDING")


def test_a_repeated_key_with_another_type_is_refused(new: Client) -> None:
    headers = {"Idempotency-Key": "one"}
    body = {"name": "n", "start_date": "now", "end_date": "2031-05-02 10:00"}
    first = new.ask("POST", "/v1/leases", body, headers=headers)
    again = new.but(version="1.1").ask("POST", "/v1/leases", {**body, "type": "immediate"}, headers=headers)
    other = new.ask("POST", "/v1/leases", {**body, "type": "immediate"}, headers=headers)
    assert (first.status_code, again.json["lease"]["id"], other.status_code) == (201, first.json["lease"]["id"], 409)
