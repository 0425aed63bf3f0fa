"""Features A11 and A13 from outside: an active reservation asks for less, from 1.3 on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.v1.world import HOST, MEMBER, World, plant, world

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from falcon import testing

pytestmark = pytest.mark.slow


@pytest.fixture
def site(tmp_path: Path) -> Iterator[World]:
    """Yield a service with two hosts, whose client is a member."""
    with world(plant(tmp_path)) as made:
        for name in ("cmp-01", "cmp-02"):
            made.enrol(name)
        yield World(made.inside, made.web, MEMBER)


def ask_less(site: World, lease: dict[str, Any], version: str = "1.3") -> testing.Result:
    body = {"reservations": [{"id": lease["reservations"][0]["id"], "min": 1, "max": 1}]}
    headers = {**MEMBER, "OpenStack-API-Version": f"reservation {version}"}
    return site.ask("PUT", f"/leases/{lease['id']}", body, headers=headers)


def test_a_member_gets_rid_of_a_host_without_knowing_which(site: World) -> None:
    lease = site.lease({**HOST, "min": 2, "max": 2}, end_date=site.date(hours=5))
    site.wait(minutes=1)
    part = lease["reservations"][0]["id"]
    for version in ("1.0", "1.2"):
        refused = ask_less(site, lease, version)
        assert (refused.status_code, refused.json["code"]) == (409, "leasehold.resource.in_use")
    answer = ask_less(site, lease)
    assert (answer.status_code, "cmp-0" in answer.text) == (200, False)
    site.wait(minutes=1)
    assert site.hosts_of(part) == {"cmp-01"}


def test_the_refusal_names_the_servers_and_no_hosts(site: World) -> None:
    lease = site.lease({**HOST, "min": 2, "max": 2}, end_date=site.date(hours=5))
    site.wait(minutes=1)
    servers = set[str]()
    while site.hosts_of(lease["reservations"][0]["id"]) - {
        each.service_host for each in site.inside.cloud.servers.all()
    }:
        servers.add(site.boot("m1.small", lease["reservations"][0]["id"]).id)
    refused = ask_less(site, lease)
    assert (refused.status_code, refused.json["field"]) == (409, "reservations[0].max")
    assert refused.json["details"] == {"servers": sorted(servers)}
    assert "cmp-0" not in refused.text
