"""Paging of the list of leases, from microversion 1.1 on; 1.0 always returns all leases (contract http-api §2)."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Client, Clock

MAKE: dict[str, Any] = {"name": "n", "start_date": "2031-05-01 10:00", "end_date": "2031-05-01 12:00"}


@pytest.fixture
def newer(client: Client) -> Client:
    return client.but(version="1.1")


@pytest.fixture
def made(newer: Client, clock: Clock) -> list[str]:
    """Return the ids of seven leases in list order: by creation time, then by id, since some times are equal."""
    leases = []
    for number in range(7):
        clock.now += timedelta(seconds=number % 3)
        lease = newer.ask("POST", "/v1/leases", MAKE).json["lease"]
        leases.append((lease["created_at"], lease["id"]))
    return [ident for _, ident in sorted(leases)]


def listed(client: Client, **query: object) -> list[str]:
    answer = client.ask("GET", "/v1/leases", params=query)
    assert answer.status_code == 200, answer.text
    return [lease["id"] for lease in answer.json["leases"]]


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 8, 1000])
def test_pages_one_after_the_other_are_the_whole_list(newer: Client, made: list[str], limit: int) -> None:
    pages = [listed(newer, limit=limit)]
    while len(pages[-1]) == limit:
        pages.append(listed(newer, limit=limit, marker=pages[-1][-1]))
    assert [ident for page in pages for ident in page] == made


def test_a_marker_without_a_limit_gives_the_rest(newer: Client, made: list[str]) -> None:
    assert listed(newer, marker=made[4]) == made[5:]


def test_a_lease_that_is_deleted_between_two_pages_breaks_nothing(newer: Client, made: list[str]) -> None:
    assert newer.ask("DELETE", f"/v1/leases/{made[2]}").status_code == 204
    assert listed(newer, limit=2, marker=made[2]) == made[3:5]


def test_another_projects_lease_is_no_marker_but_for_admins(newer: Client, made: list[str]) -> None:
    stranger = newer.but(user="bob", project="alt")
    for marker in (made[0], "none-such"):
        answer = stranger.ask("GET", "/v1/leases", params={"marker": marker})
        assert (answer.status_code, answer.json["field"]) == (400, "marker")
    assert listed(stranger.but(roles="admin"), marker=made[5]) == made[6:]


def test_1_0_has_no_pages(client: Client, made: list[str]) -> None:
    assert listed(client, limit="nonsense", marker="none-such") == made
