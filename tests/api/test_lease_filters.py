"""Feature L2: leases are listed by name, status and time, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Client

LEASES: dict[str, tuple[str, str]] = {
    "early": ("10:00", "12:00"),
    "late": ("14:00", "16:00"),
    "Late": ("11:00", "15:00"),
}


@pytest.fixture
def reader(client: Client) -> Client:
    for name, (start, end) in LEASES.items():
        dates = {"start_date": f"2031-05-01 {start}", "end_date": f"2031-05-01 {end}"}
        assert client.ask("POST", "/v1/leases", {"name": name, **dates}).status_code == 201
    return client.but(version="1.3")


def listed(client: Client, **query: str) -> set[str]:
    answer = client.ask("GET", "/v1/leases", params=query)
    assert answer.status_code == 200, answer.text
    return {lease["name"] for lease in answer.json["leases"]}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, set(LEASES)),
        ({"name": "late"}, {"late"}),
        ({"name": "lat"}, set()),
        ({"status": "PENDING"}, set(LEASES)),
        ({"status": "active, pending"}, set(LEASES)),
        ({"status": "ACTIVE"}, set()),
        ({"ends_after": "2031-05-01 12:00"}, {"late", "Late"}),
        ({"starts_before": "2031-05-01 11:00"}, {"early"}),
        ({"ends_after": "2031-05-01T12:00:00Z", "starts_before": "2031-05-01 14:00"}, {"Late"}),
        ({"name": "late", "status": "PENDING", "starts_before": "2031-05-01 14:00"}, set()),
    ],
)
def test_a_list_shows_what_is_asked_for(reader: Client, query: dict[str, str], found: set[str]) -> None:
    assert listed(reader, **query) == found
    assert listed(reader.but(project="other"), **query) == set()


def test_pages_are_of_what_is_asked_for(reader: Client) -> None:
    query = {"ends_after": "2031-05-01 12:00", "limit": "1"}
    first = reader.ask("GET", "/v1/leases", params=query).json["leases"]
    second = reader.ask("GET", "/v1/leases", params={**query, "marker": first[0]["id"]}).json["leases"]
    assert {each["name"] for each in (*first, *second)} == {"late", "Late"}


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("name", "x" * 81),
        ("name", "a\x00b"),
        ("status", "GONE"),
        ("name", ""),
        ("name", ["late", "early"]),
        ("status", "PENDING,,x"),
        ("status", ","),
        ("deleted", ["true", "false"]),
        ("ends_after", "soon"),
        ("starts_before", "2031-05-01T10:00:00"),
    ],
)
def test_a_wrong_value_is_refused_with_its_key(reader: Client, key: str, wrong: str | list[str]) -> None:
    answer = reader.ask("GET", "/v1/leases", params={key: wrong})
    assert (answer.status_code, answer.json["field"]) == (400, key)


def test_older_versions_refuse_or_ignore_the_keys(reader: Client) -> None:
    refused = reader.but(version="1.2").ask("GET", "/v1/leases", params={"status": "ACTIVE"})
    assert (refused.status_code, refused.json["field"]) == (400, "status")
    assert listed(reader.but(version="1.1"), status="ACTIVE") == set(LEASES)
