"""A reservation says which properties operators preferred for it, and whether it got them: from 1.3 on (feature C9)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import Settings
from tests.api.test_leases import HOST, made, make

if TYPE_CHECKING:
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

FILTER = '["==", "$rack", "a2"]'
KEYS = ("default_properties", "default_properties_applied")
SIZE = {"amount": 1, "vcpus": 1, "memory_mb": 512, "disk_gb": 1, "affinity": None}


@pytest.fixture
def service(service: Service) -> Service:
    leases = replace(Settings().leases, default_properties_by_type={"physical:host": FILTER})
    return replace(service, settings=replace(service.settings, leases=leases))


@pytest.fixture
def new(client: Client, admin: Client, host: str) -> Client:
    assert host
    assert admin.ask("POST", "/v1/os-hosts", {"name": "cmp-02", "rack": "a2"}).status_code == 201
    return client.but(version="1.3")


def shown(client: Client, lease: dict[str, Any], version: str = "1.3") -> list[Any]:
    """Return what a lease shows of its reservations, as a lease and in the list."""
    one = client.but(version=version).ask("GET", f"/v1/leases/{lease['id']}").json["lease"]
    found = [tuple(part.get(key, "-") for key in KEYS) for part in one["reservations"]]
    listed = client.but(version=version).ask("GET", "/v1/leases").json["leases"]
    (same,) = [each for each in listed if each["id"] == lease["id"]]
    assert [tuple(part.get(key, "-") for key in KEYS) for part in same["reservations"]] == found
    return found


def test_a_reservation_says_whether_it_got_what_operators_prefer(new: Client) -> None:
    first, second = made(new, reservations=[HOST]), made(new, reservations=[HOST])
    assert [first["reservations"][0][key] for key in KEYS] == [FILTER, True]
    assert [second["reservations"][0][key] for key in KEYS] == [FILTER, False]
    assert shown(new, first) == [(FILTER, True)]
    assert shown(new, second) == [(FILTER, False)]


def test_who_names_properties_and_whose_type_has_none_gets_null(new: Client) -> None:
    slots = {"resource_type": "virtual:instance", **SIZE, "resource_properties": ""}
    lease = made(new, reservations=[{**HOST, "resource_properties": "[]"}, slots])
    assert shown(new, lease) == [(None, None)] * 2


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2"])
def test_older_clients_get_them_and_see_no_other_keys(new: Client, version: str) -> None:
    lease = made(new.but(version=version), reservations=[HOST])
    assert not set(KEYS) & lease["reservations"][0].keys()
    assert shown(new, lease, version) == [("-", "-")]
    assert shown(new, lease) == [(FILTER, True)]


def test_a_dry_run_and_an_offer_say_it(new: Client) -> None:
    body = {"name": "n", "start_date": "2031-05-01 10:00", "end_date": "2031-05-01 12:00", "reservations": [HOST]}
    tried = new.ask("POST", "/v1/leases", {**body, "dry_run": True}).json["lease"]
    offer = new.ask("POST", "/v1/offers", body).json["offer"]
    for each in (tried, offer["lease"]):
        assert [each["reservations"][0][key] for key in KEYS] == [FILTER, True]
    amended = new.ask("POST", f"/v1/offers/{offer['id']}/accept").json["lease"]
    assert shown(new, amended) == [(FILTER, True)]


def test_an_amendment_that_names_properties_ends_them(new: Client) -> None:
    lease = made(new, reservations=[HOST])
    change = {"id": lease["reservations"][0]["id"], "resource_properties": '["==", "$rack", "a1"]'}
    answer = new.ask("PUT", f"/v1/leases/{lease['id']}", {"reservations": [change]})
    assert answer.status_code == 200, answer.text
    assert shown(new, lease) == [(None, None)]


def test_nobody_sets_the_keys(new: Client) -> None:
    for key in KEYS:
        answer = make(new, reservations=[{**HOST, key: "[]"}])
        assert (answer.status_code, key in answer.text) == (400, True)
