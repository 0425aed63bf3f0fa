"""Feature J6 over HTTP: `POST /v1/leases/{lease_id}/swap`, for owners and for who may list hosts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import make_app
from leasehold.conf.settings import ApiSettings
from leasehold.leasing.reading.event_log import sequence_events
from tests.factory import at_call
from tests.v1.world import ADMIN, HOST, MEMBER, World, plant, world
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from falcon import testing

    from leasehold.cloud.ports import Server

pytestmark = pytest.mark.slow

V1_2 = {"OpenStack-API-Version": "reservation 1.2"}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[World]:
    """Yield a service with two hosts, whose client is a member by default."""
    with world(plant(tmp_path)) as made:
        for name in ("cmp-01", "cmp-02"):
            made.enrol(name)
        yield World(made.inside, made.web, MEMBER)


def active(site: World) -> tuple[dict[str, Any], Server]:
    """Return an active lease of a host, and a server on it."""
    lease = site.lease(HOST, end_date=site.date(hours=5))
    site.wait(minutes=1)
    server = site.boot("m1.small", lease["reservations"][0]["id"])
    assert server.service_host == "cmp-01"
    return lease, server


def swap(site: World, lease: dict[str, Any], who: dict[str, str] = MEMBER, **body: Any) -> testing.Result:
    headers = {**V1_2, **body.pop("headers", {})}
    return site.ask("POST", f"/leases/{lease['id']}/swap", body, headers={**who, **headers})


def test_the_refusal_says_which_servers_to_name_and_the_second_request_swaps(site: World) -> None:
    lease, server = active(site)
    first = swap(site, lease, server=server.id)
    assert (first.status_code, first.json["code"]) == (409, "leasehold.swap.servers")
    assert first.json["details"] == {"servers": [server.id]}
    # A member does not learn which host it is.
    assert "cmp-0" not in first.text
    second = swap(site, lease, server=server.id, **first.json["details"])
    assert (second.status_code, second.json["lease"]["id"]) == (200, lease["id"])
    assert "cmp-0" not in second.text
    site.wait(minutes=2)
    assert site.hosts_of(lease["reservations"][0]["id"]) == {"cmp-01", "cmp-02"}
    again = swap(site, lease, server=server.id, servers=[server.id])
    assert (again.status_code, again.json["code"], again.json["details"]) == (
        409,
        "leasehold.swap.unfinished",
        {"servers": [server.id]},
    )
    (event,) = [each for each in _events(site) if each["type"] == "lease.swapped"]
    assert (event["payload"]["status"], "cmp-0" in str(event)) == ("ACTIVE", False)


def _events(site: World) -> list[dict[str, Any]]:
    sequence_events(site.service)
    return list(site.get("/events", headers=V1_2)["events"])


def test_only_who_may_list_hosts_names_one(site: World) -> None:
    lease, server = active(site)
    denied = swap(site, lease, host="cmp-01", servers=[server.id])
    assert (denied.status_code, denied.json["details"]) == (403, {"rule": "blazar:oshosts:get"})
    assert swap(site, lease, ADMIN, host="cmp-02").json["field"] == "host"
    granted = swap(site, lease, ADMIN, host="cmp-01", servers=[server.id])
    assert granted.status_code == 200


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "server"), ({"servers": []}, "server"), ({"server": None}, "server"), ({"server": "x", "host": "y"}, "host")],
)
def test_the_host_is_named_in_one_way(site: World, body: dict[str, Any], field: str) -> None:
    lease = site.lease(HOST)
    answer = swap(site, lease, **body)
    assert (answer.status_code, answer.json["field"]) == (400, field)
    assert "by one of the two" in answer.json["error_message"]


def test_it_is_new_in_1_2_and_knows_conditions(site: World) -> None:
    lease, server = active(site)
    body: dict[str, Any] = {"server": server.id, "servers": [server.id]}
    for version in ("1.0", "1.1"):
        assert swap(site, lease, **body, headers={"OpenStack-API-Version": f"reservation {version}"}).status_code == 404
    stale = swap(site, lease, **body, headers={"If-Match": '"1"'})
    assert (stale.status_code, stale.json["code"]) == (412, "leasehold.lease.stale")
    shown = site.ask("GET", f"/leases/{lease['id']}", headers=V1_2)
    done = swap(site, lease, **body, headers={"If-Match": shown.headers["ETag"]})
    assert (done.status_code, done.headers["ETag"] == shown.headers["ETag"]) == (200, False)


def test_without_another_host_the_refusal_explains_itself(site: World) -> None:
    lease, server = active(site)
    site.lease(HOST, start_date=site.date(hours=1), end_date=site.date(hours=2))
    refused = swap(site, lease, server=server.id, servers=[server.id])
    assert (refused.status_code, refused.json["code"]) == (409, "leasehold.resources.not_enough")
    assert refused.json["details"]["no_window"] == "kept"
    assert "2 enrolled, 2 matching, 2 healthy, 0 free in the window" in refused.json["error_message"]


def test_while_the_cloud_is_asked_the_request_holds_no_permit(site: World) -> None:
    lease, server = active(site)
    narrow = ApiSettings(auth_strategy="none", threads=1, wait_seconds=0.01)
    narrowed = replace(site, web=LocalClient(make_app(site.service, narrow)))
    answers: list[int] = []

    def ask() -> None:
        answers.append(swap(narrowed, lease, server=server.id, servers=[server.id]).status_code)

    at_call(site.inside, 1, ask, lambda: answers.append(narrowed.ask("GET", "/leases").status_code), "servers.on_hosts")
    assert answers == [200, 200]
