"""A request that waits for the external service: its answers, and the permit that it gives back."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import make_app
from leasehold.enforcement.base import load_filters
from tests.api.conftest import Client
from tests.approver import ALLOW, Approver, approving, deny
from tests.factory import hosts
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Iterator

    from falcon import testing

    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.serving import Answer, Asked

TIMES = {"start_date": "2031-05-01 10:00", "end_date": "2031-05-01 11:00"}


@pytest.fixture
def approver() -> Iterator[Approver]:
    with approving() as made:
        yield made


@pytest.fixture
def asked(service: Service, settings: ApiSettings, approver: Approver, host: str) -> Client:
    """Return a client of a process with one permit, one host and the approver."""
    assert host
    asking = replace(service, enforcement=load_filters(approver.settings()))
    one = replace(settings, threads=1, waiting=0, wait_seconds=60.0)
    return Client(LocalClient(make_app(asking, one)))


def create(client: Client, **more: Any) -> testing.Result:
    body = {"name": "l", **TIMES, "reservations": [hosts()], "events": [], **more}
    return client.ask("POST", "/v1/leases", body)


def test_what_the_client_sent_is_what_the_service_gets(asked: Client, approver: Approver) -> None:
    part = {"resource_type": "physical:host", "min": "1", "max": "1", "hypervisor_properties": "", "extra": [1]}
    part["resource_properties"] = ""
    assert create(asked, reservations=[part], events=[{"event_type": "x"}]).status_code == 201
    lease = approver.body()["lease"]
    [sent] = lease["reservations"]
    assert {name: sent[name] for name in part} == part
    assert lease["events"] == [{"event_type": "x"}]


def test_a_denial_is_a_400_with_the_services_message(asked: Client, approver: Approver) -> None:
    lease = create(asked).json["lease"]
    approver.answer = deny(b'{"message": "Your budget is spent."}')
    refusals = [
        create(asked, start_date="2031-05-02 10:00", end_date="2031-05-02 11:00"),
        asked.ask("PUT", f"/v1/leases/{lease['id']}", {"end_date": "2031-05-01 12:00"}),
    ]
    for refusal in refusals:
        assert (refusal.status_code, refusal.json["code"]) == (400, "leasehold.enforcement.external")
        assert refusal.json["error_message"] == "Your budget is spent."
    assert asked.ask("GET", "/v1/leases").json["leases"] == [lease]


def test_no_decision_is_a_503_that_may_be_repeated(asked: Client, approver: Approver) -> None:
    approver.answer = (500, {}, b"boom at 10.0.0.1")
    refusal = create(asked)
    assert (refusal.status_code, refusal.json["code"]) == (503, "leasehold.enforcement.unavailable")
    assert int(refusal.headers["Retry-After"]) > 0
    assert "10.0.0.1" not in refusal.text
    approver.answer = ALLOW
    assert create(asked).status_code == 201


def test_a_request_holds_no_permit_while_it_waits(asked: Client, approver: Approver) -> None:
    """The process has one permit, and the service uses it while it is asked."""
    seen: list[testing.Result] = []

    def look(_: Asked) -> Answer:
        seen.append(asked.ask("GET", "/v1/leases"))
        return ALLOW

    approver.answer = look
    assert create(asked).status_code == 201
    assert [each.status_code for each in seen] == [200]
    # There is exactly one permit again.
    assert create(asked, start_date="2031-05-02 10:00", end_date="2031-05-02 11:00").status_code == 201
