"""Contract http-api §2, §2.2 and §3: request rules, request ids, and the shapes of errors."""

from __future__ import annotations

import json
import logging
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Never

import pytest
from falcon import testing

from leasehold.cmd.web import make_app
from leasehold.db.engine import open_engine
from leasehold.db.store import Database
from tests.web import LocalClient

if TYPE_CHECKING:
    from leasehold.conf.settings import ApiSettings
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

REQUEST_ID = re.compile(r"req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
LEASE = {"name": "n", "start_date": "now", "end_date": "2031-05-02 10:00"}


def send(client: Client, content: bytes, **more: Any) -> testing.Result:
    return client.ask("POST", "/v1/leases", content=content, **more)


# ---------------------------------------------------------------- §2: bodies


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=UTF-8", "Application/JSON"])
def test_2_content_types_that_are_json(client: Client, content_type: str) -> None:
    answer = send(client, json.dumps(LEASE).encode(), headers={"Content-Type": content_type})
    assert answer.status_code == 201


@pytest.mark.parametrize("length", ["abc", "-1"])
def test_2_a_length_that_is_no_length_is_400(service: Service, settings: ApiSettings, length: str) -> None:
    # The test client refuses to send this, so set it in the environment; servers may pass it.
    environ = testing.create_environ("/v1/leases", method="POST") | {"CONTENT_LENGTH": length}
    response = testing.StartResponseMock()
    content = b"".join(make_app(service, settings)(environ, response))
    assert response.status == "400 Bad Request"
    assert json.loads(content)["error"] == 400


def test_2_duplicate_and_unknown_query_keys_do_no_harm(client: Client) -> None:
    assert client.ask("GET", "/v1/leases", query_string="limit=1&limit=2&nonsense&%ff=%00").status_code == 200


@pytest.mark.parametrize("accept", [None, "*/*", "text/html", "application/xml", "nonsense"])
def test_2_the_answer_is_json_whatever_is_accepted(client: Client, accept: str | None) -> None:
    answer = client.ask("GET", "/v1/leases", headers={} if accept is None else {"Accept": accept})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"


# ---------------------------------------------------------------- §2: routes


def test_2_head_is_get_without_the_body(client: Client) -> None:
    answer = client.ask("HEAD", "/v1/leases")
    assert answer.status_code == 200
    assert answer.content == b""


# ---------------------------------------------------------------- §2.2: request ids


@pytest.mark.parametrize("path", ["/v1/leases", "/v1/leases/none-such", "/nonsense", "/healthcheck"])
def test_2_2_every_answer_has_a_request_id_of_its_own(client: Client, path: str) -> None:
    ids = {client.ask("GET", path).headers["X-Openstack-Request-Id"] for _ in range(3)}
    assert len(ids) == 3
    assert all(REQUEST_ID.fullmatch(each) for each in ids)


@pytest.mark.parametrize("sent", ["req-5b3b6c1e-0f3a-4e53-9c7e-3d0f5a3e8a11", "req-1", "x" * 10_000, ""])
def test_2_2_a_global_request_id_of_any_form_does_no_harm(client: Client, sent: str) -> None:
    answer = client.ask("GET", "/v1/leases", headers={"X-Openstack-Request-Id": sent})
    assert answer.status_code == 200
    assert answer.headers["X-Openstack-Request-Id"] != sent


# ---------------------------------------------------------------- §3: errors


def test_3_application_errors_have_shape_e1(client: Client) -> None:
    answer = client.ask("GET", "/v1/leases/none-such")
    assert answer.status_code == 404
    assert answer.json == {
        "error_code": 404,
        "error_message": "Object with {'lease_id': 'none-such'} not found",
        "error_name": 404,
        "code": "leasehold.not_found",
        "details": {"lease_id": "none-such"},
    }


def test_3_what_nobody_foresaw_is_500_and_tells_nothing(
    service: Service, settings: ApiSettings, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> Never:
        raise RuntimeError("the database password is hunter2")

    web = LocalClient(make_app(replace(service, now=broken), settings))
    with caplog.at_level(logging.ERROR):
        answer = web.simulate_post("/v1/leases", json=LEASE)
    assert answer.status_code == 500
    assert answer.json["error_name"] == "INTERNAL_SERVER_ERROR"
    assert answer.json["error_code"] == 500
    assert "hunter2" not in answer.text
    assert "hunter2" in caplog.text
    assert "Traceback" in caplog.text


def test_healthcheck_asks_nobody_who_they_are_and_looks_at_the_database(
    client: Client, service: Service, settings: ApiSettings
) -> None:
    assert client.web.simulate_get("/healthcheck").json == {"status": "ok"}
    lost = replace(service, db=Database(open_engine("sqlite:////nowhere/at/all.db")))
    answer = LocalClient(make_app(lost, settings)).simulate_get("/healthcheck")
    assert answer.status_code == 503
    assert answer.json["status"] == "unavailable"
