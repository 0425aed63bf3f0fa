"""Feature A4 by the API: best-effort leases, from microversion 1.2 on; what older clients and operators see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import make_app
from leasehold.conf.settings import PolicySettings
from tests.api.test_lease_types import shown, work
from tests.api.test_leases import made, make
from tests.factory import hosts
from tests.web import LocalClient

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client, Clock

BEST = {"type": "best_effort", "reservations": [hosts(2)], "start_date": "now"}


@pytest.fixture
def new(client: Client) -> Client:
    return client.but(version="1.2")


@pytest.fixture
def shared(admin: Client, host: str) -> str:
    """Enrol a shared host beside the one of the reservation pool, and return its id."""
    assert host
    answer = admin.but(version="1.2").ask("POST", "/v1/os-hosts", {"name": "cmp-06", "pool": "shared"})
    assert answer.status_code == 201, answer.text
    return str(answer.json["host"]["id"])


def test_a_host_is_drawn_for_it_and_each_version_sees_its_words(
    client: Client, new: Client, admin: Client, shared: str, service: Service, clock: Clock
) -> None:
    lease = made(new, **BEST, deadline="2031-05-01 14:00")
    assert (lease["type"], lease["status"], lease["deadline"]) == (
        *("best_effort", "IN_PROGRESS"),
        "2031-05-01T14:00:00.000000",
    )
    assert lease["status_reason"] == "Shared hosts are drawn for it: 1."
    assert [shown(client, lease, each)["status"] for each in ("1.0", "1.1")] == ["PENDING", "PENDING"]
    assert (lease["retries"], lease["tried"]) == (None, 0)
    operator = admin.but(version="1.2")
    refused = operator.ask("PUT", f"/v1/os-hosts/{shared}", {"pool": "shared"})
    assert (refused.status_code, refused.json["details"]["leases"]) == (409, [lease["id"]])
    assert operator.ask("GET", f"/v1/os-hosts/{shared}").json["host"]["held_for"] == lease["id"]
    for _ in range(4):
        work(service, clock, 2)
    assert [shown(client, lease, each)["status"] for each in ("1.0", "1.2")] == ["ACTIVE", "ACTIVE"]
    assert operator.ask("GET", f"/v1/os-hosts/{shared}").json["host"]["pool"] == "reservation"


def test_a_timeout_is_an_error_for_older_clients(
    client: Client, new: Client, admin: Client, shared: str, service: Service, clock: Clock
) -> None:
    cloud: Any = service.cloud
    cloud.servers.take_to("migrate", 7200)
    crowded = cloud.servers.boot("theirs", "alt", "m1.small").service_host
    admin.but(version="1.2").ask("POST", "/v1/os-hosts", {"name": crowded, "pool": "shared"})
    large = hosts(2, resource_properties='[">", "$memory_mb", "8192"]')
    lease = made(new, **{**BEST, "reservations": [large]}, deadline="2031-05-01 10:10")
    assert lease["status"] == "IN_PROGRESS"
    work(service, clock, 3600)
    assert [shown(client, lease, each)["status"] for each in ("1.0", "1.1", "1.2")] == ["ERROR", "ERROR", "TIMEDOUT"]
    assert shown(client, lease, "1.1")["status_reason"].startswith("Not granted. ")
    assert shared


def test_a_refusal_says_that_draws_would_not_help(new: Client, shared: str) -> None:
    assert shared
    answer = make(new, **{**BEST, "reservations": [hosts(3)]})
    assert (answer.status_code, answer.json["code"]) == (409, "leasehold.resources.not_enough")
    assert answer.json["error_message"].endswith("Drawing shared hosts would not be enough either.")
    assert new.ask("GET", "/v1/leases").json["leases"] == []


@pytest.mark.parametrize("version", [None, "1.0", "1.1"])
def test_older_versions_do_not_read_the_type(client: Client, shared: str, version: str | None) -> None:
    assert shared
    assert make(client.but(version=version), **BEST).status_code == 409


def test_a_policy_of_its_own_says_who_may_ask_for_it(
    service: Service, settings: ApiSettings, new: Client, shared: str, tmp_path: Path
) -> None:
    assert shared
    policy = tmp_path / "policy.yaml"
    policy.write_text('"leasehold:leases:best_effort": "role:mover"\n', encoding="utf-8")
    strict = replace(settings, policy=PolicySettings(file=str(policy)))
    there = new.but(web=LocalClient(make_app(service, strict)))
    body: dict[str, Any] = {"name": "n", "end_date": "2031-05-02 10:00", **BEST}
    assert there.ask("POST", "/v1/leases", body).status_code == 403
    assert there.but(roles="mover,member,reader").ask("POST", "/v1/leases", body).status_code == 201
