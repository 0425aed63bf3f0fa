"""Feature I4 over HTTP: who lends, what the other project has and may do with it, and what neither sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.v1.world import ADMIN, HOST, MEMBER

if TYPE_CHECKING:
    from falcon import testing

    from tests.v1.world import World

pytestmark = pytest.mark.slow

V1_3 = {"OpenStack-API-Version": "reservation 1.3"}
ALT = {**MEMBER, "X-Project-Id": "alt", "X-User-Id": "bob"}
LENDER = {**ADMIN, "X-Project-Id": MEMBER["X-Project-Id"]}
"""An administrator in the project of the lease: members publish an offer instead (`test_sub_offers_api.py`)."""


def active(site: World, many: int = 2) -> dict[str, Any]:
    """Return an active lease of hosts for five hours."""
    lease = site.lease({**HOST, "min": many, "max": many}, end_date=site.date(hours=5))
    site.wait(minutes=1)
    return lease


def ask(site: World, method: str, path: str, body: Any = None, who: dict[str, str] = MEMBER) -> testing.Result:
    return site.ask(method, f"/leases/{path}", body, headers={**who, **V1_3})


def lend(site: World, lease: dict[str, Any], who: dict[str, str] = LENDER, **body: Any) -> testing.Result:
    asked = {"name": "lent", "project_id": "alt", **body}
    return ask(site, "POST", f"{lease['id']}/sub-leases", asked, who)


def test_a_project_gets_hosts_and_the_lender_has_them_again(site: World) -> None:
    lease = active(site)
    made = lend(site, lease, amount=1, end_date=site.date(hours=2))
    assert made.status_code == 201, made.text
    child = made.json["sub_lease"]
    assert (child["parent_id"], child["project_id"], child["amount"]) == (lease["id"], "alt", 1)
    assert "cmp-0" not in made.text
    site.wait(minutes=1)
    shown = ask(site, "GET", child["id"], who=ALT).json["lease"]
    assert (shown["status"], shown["parent_id"], shown["name"]) == ("ACTIVE", lease["id"], "lent")
    (has,) = ask(site, "GET", f"{child['id']}/resources", who=ALT).json["reservations"][0]["resources"]
    assert has["end_date"] == shown["end_date"] < ask(site, "GET", lease["id"]).json["lease"]["end_date"]
    assert ask(site, "GET", lease["id"]).json["lease"]["parent_id"] is None
    assert ask(site, "GET", lease["id"]).json["lease"]["degraded"] is False
    listed = ask(site, "GET", f"{lease['id']}/sub-leases").json["sub_leases"]
    assert listed == [{**child, "status": "ACTIVE"}]
    assert ask(site, "PUT", child["id"], {"name": "private"}, ALT).status_code == 200
    # The lender does not learn what the project calls it.
    assert "private" not in ask(site, "GET", f"{lease['id']}/sub-leases").text
    site.wait(hours=2)
    assert ask(site, "GET", child["id"], who=ALT).json["lease"]["status"] == "TERMINATED"
    found = ask(site, "GET", f"{lease['id']}/resources").json["reservations"][0]["resources"]
    assert len(found) == 2


def test_the_lender_takes_back_what_it_has_lent(site: World) -> None:
    lease = active(site)
    child = lend(site, lease, amount=2).json["sub_lease"]
    site.wait(minutes=1)
    assert ask(site, "PUT", lease["id"], {"end_date": site.date(hours=4)}).json["code"] == "leasehold.sublease.lent"
    assert ask(site, "DELETE", f"{lease['id']}/sub-leases/none").status_code == 404
    other = active(site, 1)
    assert ask(site, "DELETE", f"{lease['id']}/sub-leases/{other['id']}").status_code == 404
    assert ask(site, "DELETE", f"{other['id']}/sub-leases/{child['id']}").status_code == 404
    assert ask(site, "DELETE", f"{lease['id']}/sub-leases/{child['id']}").status_code == 204
    site.wait(minutes=5)
    assert ask(site, "GET", child["id"], who=ALT).status_code == 404
    assert ask(site, "PUT", lease["id"], {"end_date": site.date(hours=4)}).status_code == 200


def test_nobody_lends_or_takes_back_what_is_not_theirs(site: World) -> None:
    lease = active(site)
    child = lend(site, lease, amount=1).json["sub_lease"]
    site.wait(minutes=1)
    path = f"{lease['id']}/sub-leases"
    refused = [
        lend(site, lease, ALT, amount=1, project_id="third"),
        ask(site, "GET", path, who=ALT),
        ask(site, "DELETE", f"{path}/{child['id']}", who=ALT),
        ask(site, "DELETE", lease["id"], who=ALT),
        ask(site, "GET", lease["id"], who=ALT),
        ask(site, "DELETE", child["id"]),
        ask(site, "PUT", child["id"], {"name": "mine again"}),
        ask(site, "GET", child["id"]),
    ]
    assert {each.status_code for each in refused} == {403}
    on = lend(site, child, ADMIN, amount=1, project_id="third")
    assert (on.status_code, on.json["code"]) == (409, "leasehold.sublease.level")
    assert lend(site, lease, amount=1, project_id="demo").status_code == 400
    # A member gives no project a lease that it has not asked for, which would count to its limits.
    assert lend(site, lease, MEMBER, amount=1).status_code == 403
    # Only who may list hosts names one, or learns of one.
    named = lend(site, lease, MEMBER, hosts=["cmp-02"])
    assert (named.status_code, "cmp-0" in named.text) == (403, False)


def test_a_sub_lease_keeps_what_it_was_made_with(site: World) -> None:
    lease = active(site)
    child = lend(site, lease, amount=1, end_date=site.date(hours=2)).json["sub_lease"]
    site.wait(minutes=1)
    part = ask(site, "GET", child["id"], who=ALT).json["lease"]["reservations"][0]
    for body in (
        {"end_date": site.date(hours=6)},
        {"heal_policy": "replace"},
        {"reservations": [{"id": part["id"], "min": 1, "max": 2}]},
    ):
        answer = ask(site, "PUT", child["id"], body, ALT)
        assert (answer.status_code, answer.json["code"]) == (409, "leasehold.sublease.fixed"), answer.text
    assert ask(site, "POST", f"{child['id']}/heal", who=ALT).json["code"] == "leasehold.sublease.fixed"
    assert ask(site, "PUT", child["id"], {"end_date": site.date(hours=4)}, ALT).status_code == 200
    assert ask(site, "DELETE", child["id"], who=ALT).status_code == 204


def test_an_administrator_names_the_hosts(site: World) -> None:
    lease = active(site)
    answer = lend(site, lease, hosts=["cmp-02"])
    assert answer.status_code == 201, answer.text
    unknown = lend(site, lease, hosts=["cmp-09"])
    assert (unknown.status_code, unknown.json["field"]) == (400, "hosts")
    bodies: list[dict[str, Any]] = [{}, {"hosts": ["cmp-01"], "amount": 1}]
    for body in bodies:
        assert lend(site, lease, **body).status_code == 400


def test_a_host_with_servers_is_refused_with_their_ids(site: World) -> None:
    lease = active(site, 1)
    server = site.boot("m1.small", lease["reservations"][0]["id"])
    answer = lend(site, lease, amount=1)
    assert (answer.status_code, answer.json["code"]) == (409, "leasehold.resource.in_use")
    assert (answer.json["details"], "cmp-0" in answer.text) == ({"servers": [server.id], "unused": 0}, False)


def test_a_request_is_carried_out_once(site: World) -> None:
    lease = active(site)
    body = {"name": "lent", "project_id": "alt", "amount": 1}
    path, headers = f"/leases/{lease['id']}/sub-leases", {**LENDER, **V1_3, "Idempotency-Key": "k"}
    first, second = (site.ask("POST", path, body, headers=headers) for _ in range(2))
    assert (first.status_code, first.json) == (201, second.json)
    assert len(ask(site, "GET", f"{lease['id']}/sub-leases").json["sub_leases"]) == 1
    other = site.ask("POST", path, {**body, "amount": 2}, headers=headers)
    assert (other.status_code, other.json["field"]) == (409, "Idempotency-Key")
    stale = site.ask("POST", path, body, headers={**LENDER, **V1_3, "If-Match": '"1"'})
    assert stale.status_code == 412


def test_older_versions_have_no_sub_leases(site: World) -> None:
    lease = active(site)
    old = {**MEMBER, "OpenStack-API-Version": "reservation 1.2"}
    answer = site.ask("POST", f"/leases/{lease['id']}/sub-leases", {"name": "n"}, headers=old)
    assert answer.status_code == 404
    assert "parent_id" not in site.ask("GET", f"/leases/{lease['id']}", headers=old).json["lease"]
