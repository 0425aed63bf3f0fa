"""Contract http-api §1 and §2.1: discovery and microversions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Client

HEADER = "OpenStack-API-Version"


@pytest.mark.parametrize("path", ["/", "/versions"])
def test_1_the_version_document(client: Client, path: str) -> None:
    answer = client.ask("GET", path, host="api.example", port=1234)
    assert answer.status_code == 300
    assert answer.headers["content-type"] == "application/json"
    assert answer.json == {
        "versions": [
            {
                "id": "v1.0",
                "status": "CURRENT",
                "min_version": "1.0",
                "max_version": "1.3",
                "links": [{"rel": "self", "href": "http://api.example:1234/v1"}],
            }
        ]
    }


@pytest.mark.parametrize("path", ["/", ""])
def test_1_the_link_includes_the_mount_prefix(client: Client, path: str) -> None:
    answer = client.web.simulate_get(
        "/", host="api.example", port=443, protocol="https", root_path="/reservation", extras={"PATH_INFO": path}
    )
    assert answer.json["versions"][0]["links"][0]["href"] == "https://api.example/reservation/v1"


def test_1_everything_works_below_a_mount_prefix(client: Client) -> None:
    assert client.web.simulate_get("/v1/leases", root_path="/reservation").json == {"leases": []}


@pytest.mark.parametrize(
    ("header", "served"),
    [
        (None, "1.0"),
        ("reservation 1.0", "1.0"),
        ("reservation 1.1", "1.1"),
        ("reservation latest", "1.3"),
        ("Reservation 1.1", "1.1"),
        ("1.1", "1.0"),  # No service type: ignored.
        ("compute 2.90", "1.0"),
        ("compute 2.90, reservation 1.1", "1.1"),
        ("", "1.0"),
    ],
)
def test_2_1_the_version_served(client: Client, header: str | None, served: str) -> None:
    answer = client.ask("GET", "/v1/leases", headers={} if header is None else {HEADER: header})
    assert answer.status_code == 200
    assert answer.headers[HEADER] == f"reservation {served}"
    assert answer.headers["Vary"] == HEADER


def test_2_1_application_errors_carry_the_version_too(client: Client) -> None:
    answer = client.but(version="1.1").ask("GET", "/v1/leases/none-such")
    assert answer.status_code == 404
    assert answer.headers[HEADER] == "reservation 1.1"
