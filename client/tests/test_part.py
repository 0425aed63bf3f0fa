"""Which part of a list is asked for: the table of the client, and that of the service."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
import requests

from client.tests.booking import booked
from leasehold_client.calls.part import ListPart
from leasehold_client.cli.command.part import LIST_KEYS
from leasehold_client.errors import ApiError
from tests.processes import wait_for

if TYPE_CHECKING:
    from client.tests.conftest import Inside
    from leasehold_client import Client

pytestmark = pytest.mark.slow

ALSO = {"all_projects", "lease_id", "reservation_id"}
"""Query keys of some lists that choose whose they are, or what belongs to one lease; they have options of their own."""
AT_ONCE = {"/leases/{lease_id}/history", "/timeline"}
"""Lists that a command shows as a whole, or that no command shows (`test_every_route.py`)."""
SAME = {"/resources/{resource_type}/allocations": "/os-hosts/allocations"}
"""Lists that the same command shows."""


def test_the_client_knows_the_choice_of_every_list(endpoint: str) -> None:
    document = requests.get(f"{endpoint}/openapi.json", timeout=10).json()
    found = {}
    for path, methods in document["paths"].items():
        asked = {each["name"]: each["schema"] for each in methods.get("get", {}).get("parameters", ())}
        if {"limit", "marker"} <= asked.keys():
            found[path.removeprefix("/v1")] = {key for key in asked if not key.startswith("OpenStack")}
    assert {SAME.get(path, path) for path in found} == LIST_KEYS.keys() | AT_ONCE
    for path, keys in found.items():
        if path in AT_ONCE:
            continue
        choice = LIST_KEYS[SAME.get(path, path)]
        sort = {"sort"} if choice.sorts else set()
        known = {"limit", "marker", *sort, *choice.texts, *choice.switches, *choice.moments}
        assert known - ALSO == keys - ALSO - {"resource_type"}, path


@pytest.mark.parametrize("path", [path for path, choice in LIST_KEYS.items() if choice.sorts])
def test_the_client_knows_the_sorts_of_every_list(endpoint: str, path: str) -> None:
    url = endpoint + path.format(resource_type="physical:host")
    headers = {"OpenStack-API-Version": "reservation 1.3"}
    refused = requests.get(url, {"sort": "none-such"}, headers=headers, timeout=10).json()
    keys = re.search(r"one of (.+), and may end", refused["error_message"])
    assert keys is not None
    assert tuple(keys[1].split(", ")) == LIST_KEYS[path].sorts


def test_a_part_of_the_leases(inside: Inside, client: Client) -> None:
    first, second, third = (booked(client, name, timedelta(days=day)) for name, day in (("b", 1), ("a", 2), ("c", 3)))

    def names(*words: str) -> list[str]:
        return [row["name"] for row in inside.ok("lease", "list", *words, "-f", "json").json]

    assert names("--sort", "name:desc") == ["c", "b", "a"]
    assert names("--sort", "name:desc", "--limit", "2", "--sort-by", "name") == ["b", "c"]
    assert names("--sort", "name", "--limit", "1", "--marker", second.id) == ["b"]
    assert names("--name", "c") == ["c"]
    assert names("--starts-before", "in 36 h") == ["b"]
    assert names("--ends-after", "in 36 h") == ["a", "c"]
    assert names("--status", "ACTIVE,ERROR") == []
    pending = client.leases.list(ListPart(filters={"status": "PENDING"}))
    assert {each.id for each in pending} == {first.id, second.id, third.id}


def test_a_part_of_the_hosts(inside: Inside) -> None:
    sorts = ("--sort", "hypervisor_hostname:desc", "--limit", "2")
    rows = inside.ok("host", "list", "--reservable", *sorts, "-f", "json").json
    names = [row["hypervisor_hostname"] for row in rows]
    assert (len(names), names) == (2, sorted(names, reverse=True))
    assert inside.ok("host", "list", "--no-reservable", "-f", "json").json == []
    listed = inside.ok("resource", "list", "physical:host", "--name", names[0], "-f", "json").json
    assert [row["name"] for row in listed] == names[:1]
    assert len(inside.ok("allocation", "list", "host", "--limit", "3", "-f", "json").json) == 3


def test_what_cannot_be_asked_is_said(inside: Inside, client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        inside("lease", "list", "--sort", "colour")
    assert "has to be one of created_at, start_date" in capsys.readouterr().err
    with pytest.raises(ApiError, match="limit"):
        client.leases.list(ListPart(limit=0))


def test_events_of_a_type(inside: Inside, client: Client) -> None:
    lease = booked(client, "told", timedelta(days=1))
    client.leases.delete(lease.id)

    def told() -> list[str]:
        found = inside.ok("lease", "events", "--type", "lease.delete", "--type", "lease.create").out.splitlines()
        return found if any("told" in line for line in found) else []

    # Events are in the log a moment after they happened, when they have their place in it.
    wait_for(lambda: bool(told()))
    lines = told()
    assert all("lease.delete" in line or "lease.create" in line for line in lines)
