"""What a lease does not use is released: the key of reservations in the API, from microversion 1.2 on (feature E10)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.api.test_leases import HOST, made, make

if TYPE_CHECKING:
    from tests.api.conftest import Client

KEY = "no_show_seconds"


@pytest.fixture
def new(client: Client, host: str) -> Client:
    assert host
    return client.but(version="1.2")


def shown(client: Client, lease: dict[str, Any], version: str = "1.2") -> int | None:
    answer = client.but(version=version).ask("GET", f"/v1/leases/{lease['id']}")
    found: int | None = answer.json["lease"]["reservations"][0].get(KEY)
    return found


def amend(client: Client, lease: dict[str, Any], value: Any, version: str = "1.2") -> Any:
    change = [{"id": lease["reservations"][0]["id"], KEY: value}]
    return client.but(version=version).ask("PUT", f"/v1/leases/{lease['id']}", {"reservations": change})


def test_a_reservation_says_when_it_releases_what_it_does_not_use(new: Client) -> None:
    lease = made(new, reservations=[{**HOST, KEY: 900}])
    assert [shown(new, lease, version) for version in ("1.0", "1.1", "1.2")] == [None, None, 900]
    assert amend(new, lease, 1800).json["lease"]["reservations"][0][KEY] == 1800
    assert amend(new, lease, None).json["lease"]["reservations"][0][KEY] == 1800
    assert amend(new, lease, 0).json["lease"]["reservations"][0][KEY] == 0


def test_nothing_is_released_unless_asked(new: Client) -> None:
    assert shown(new, made(new, reservations=[HOST])) == 0


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_older_versions_ignore_the_key(new: Client, version: str) -> None:
    lease = made(new.but(version=version), reservations=[{**HOST, KEY: "no such time"}])
    assert KEY not in lease["reservations"][0]
    assert shown(new, lease) == 0
    assert amend(new, lease, 900, version).status_code == 200
    assert shown(new, lease) == 0


@pytest.mark.parametrize("wrong", ["soon", 299, -1, 10**12, [], True])
def test_a_wrong_time_is_refused_with_its_field(new: Client, wrong: Any) -> None:
    answer = make(new, reservations=[{**HOST, KEY: wrong}])
    assert (answer.status_code, answer.json["field"]) == (400, f"reservations[0].{KEY}")
    assert new.ask("GET", "/v1/leases").json["leases"] == []
    lease = made(new, reservations=[HOST])
    assert amend(new, lease, wrong).json["field"] == f"reservations[0].{KEY}"


def test_addresses_have_no_such_time(new: Client) -> None:
    address = {"resource_type": "virtual:floatingip", "network_id": "net", "amount": 1}
    answer = make(new, reservations=[{**address, KEY: 900}])
    assert (answer.status_code, answer.json["field"]) == (400, f"reservations[0].{KEY}")
