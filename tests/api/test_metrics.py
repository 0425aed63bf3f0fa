"""GET /metrics: disabled by default, and without any data that users send."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from leasehold.cmd.web import make_app
from tests.web import LocalClient

if TYPE_CHECKING:
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client


@pytest.fixture
def metered(service: Service, settings: ApiSettings, client: Client) -> Client:
    return client.but(web=LocalClient(make_app(service, replace(settings, metrics=True))))


def test_there_is_no_such_page_by_default(client: Client) -> None:
    assert client.ask("GET", "/metrics").status_code == 404


def test_requests_are_counted_under_their_routes(metered: Client) -> None:
    metered.ask("GET", "/v1/leases/3f0d0b56-93a1-4b0e-8d3c-3a0c5c5f0a11")
    metered.ask("GET", "/v1/anything-else")
    answer = metered.ask("GET", "/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain")
    counted = 'leasehold_requests_total{method="GET",route="%s",status="404"}'
    assert counted % "/v1/leases/{lease_id}" in answer.text
    assert counted % "other" in answer.text


def test_requests_of_the_console_are_counted_where_they_lead(metered: Client) -> None:
    for path in ("/console/no-such-file.mjs", "/console/sessions/x", "/console/session", "/console/v1/leases"):
        metered.ask("GET", path)
    answer = metered.ask("GET", "/metrics")
    counted = 'leasehold_requests_total{method="GET",route="%s",status="%s"}'
    for route, status in (
        ("/console/{file}", 404),
        ("/console/sessions/{session_id}", 405),
        ("/console/session", 403),
        ("/v1/leases", 403),
    ):
        assert counted % (route, status) in answer.text, route


def test_what_people_send_is_not_in_it(metered: Client) -> None:
    lease = {"name": "secret-plan", "start_date": "now", "end_date": "2031-05-02 10:00", "reservations": []}
    metered.but(user="secret-user", project="secret-project").ask("POST", "/v1/leases", lease)
    metered.ask("GET", "/v1/secret-path?secret=query", headers={"X-Request-Id": "secret-id"})
    metered.ask("DELETE", "/v1/leases/secret-id")
    assert "secret" not in metered.ask("GET", "/metrics").text.lower()


def test_it_can_only_be_read(metered: Client) -> None:
    answer = metered.ask("POST", "/metrics", {})
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) >= {"GET"}
