"""Feature I4 over HTTP: a member offers hosts of its lease, and the project that claims some has them as its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.features.lending.test_sub_leases_api import ALT, V1_3, active, ask
from tests.v1.world import ADMIN, MEMBER

if TYPE_CHECKING:
    from falcon import testing

    from tests.v1.world import World

pytestmark = pytest.mark.slow

THIRD = {**MEMBER, "X-Project-Id": "third", "X-User-Id": "carol"}
READER = {**MEMBER, "X-Roles": "reader"}
OFFERS = "/published-offers"


def offer(site: World, lease: dict[str, Any], who: dict[str, str] = MEMBER, **body: Any) -> testing.Result:
    return ask(site, "POST", f"{lease['id']}{OFFERS}", {"name": "spare", "amount": 1, **body}, who)


def offered(site: World, lease: dict[str, Any], **body: Any) -> dict[str, Any]:
    answer = offer(site, lease, **body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json["published_offer"]
    return made


def seen(site: World, made: dict[str, Any], who: dict[str, str] = ALT) -> testing.Result:
    return site.ask("GET", f"{OFFERS}/{made['id']}", headers={**who, **V1_3})


def claim(site: World, made: dict[str, Any], who: dict[str, str] = ALT, **body: Any) -> testing.Result:
    path = f"{OFFERS}/{made['id']}/claims"
    return site.ask("POST", path, {"name": "mine", **body}, headers={**who, **V1_3})


def test_hosts_are_offered_claimed_and_taken_back(site: World) -> None:
    lease = active(site)
    made = offered(site, lease, amount=2, end_date=site.date(hours=3))
    assert (made["lease_id"], made["amount"], made["left"]) == (lease["id"], 2, 2)
    assert (made["resource_type"], made["resource_id"], made["resource_name"]) == ("physical:host", None, None)
    assert made["capacity"]["VCPU"] > 0
    # Whose lease it is, others do not learn, nor which hosts.
    hidden = dict.fromkeys(("project_id", "user_id", "lease_id", "for_project_id"))
    assert seen(site, made).json["published_offer"] == {**made, **hidden}
    would = claim(site, made, dry_run=True)
    assert (would.status_code, would.json["lease"]["project_id"]) == (200, "alt")
    first = claim(site, made, end_date=site.date(hours=2))
    assert first.status_code == 201, first.text
    mine = first.json["lease"]
    assert (mine["project_id"], mine["parent_id"], mine["published_offer"]) == ("alt", lease["id"], made["id"])
    site.wait(minutes=1)
    assert ask(site, "GET", mine["id"], who=ALT).json["lease"]["status"] == "ACTIVE"
    assert seen(site, made).json["published_offer"]["left"] == 1
    (listed,) = ask(site, "GET", f"{lease['id']}/sub-leases").json["sub_leases"]
    assert (listed["id"], listed["project_id"]) == (mine["id"], "alt")
    assert ask(site, "DELETE", f"{lease['id']}/sub-leases/{mine['id']}").status_code == 204
    site.wait(minutes=2)
    assert ask(site, "GET", mine["id"], who=ALT).status_code == 404
    assert seen(site, made).json["published_offer"]["left"] == 2
    second = claim(site, made, THIRD, amount=2)
    assert second.status_code == 201, second.text
    assert site.ask("DELETE", f"{OFFERS}/{made['id']}", headers={**MEMBER, **V1_3}).status_code == 204
    site.wait(minutes=2)
    assert len(ask(site, "GET", f"{lease['id']}/resources").json["reservations"][0]["resources"]) == 2


def test_nobody_offers_or_claims_what_is_not_theirs(site: World) -> None:
    lease = active(site)
    assert offer(site, lease, ALT).status_code == 403
    assert offer(site, lease, READER).status_code == 403
    made = offered(site, lease, for_project_id="alt")
    for stranger in (THIRD, {**THIRD, "X-Roles": "reader"}):
        assert seen(site, made, stranger).status_code == 404
        assert claim(site, made, stranger).status_code in (403, 404)
        assert site.ask("DELETE", f"{OFFERS}/{made['id']}", headers={**stranger, **V1_3}).status_code in (403, 404)
    own = claim(site, made, MEMBER)
    assert (own.status_code, own.json["code"]) == (400, "leasehold.input.invalid")
    assert offer(site, lease, for_project_id=MEMBER["X-Project-Id"]).json["field"] == "for_project_id"
    mine = claim(site, made).json["lease"]
    site.wait(minutes=1)
    again = offer(site, mine, ALT)
    assert (again.status_code, again.json["code"]) == (409, "leasehold.sublease.level")


def test_a_refused_claim_names_nothing_of_the_lender(site: World) -> None:
    lease = active(site, 1)
    server = site.boot("m1.small", lease["reservations"][0]["id"])
    answer = claim(site, offered(site, lease))
    assert (answer.status_code, answer.json["code"]) == (409, "leasehold.published_offer.fewer")
    assert (answer.json["field"], answer.json["details"]) == ("amount", {"free": 0})
    assert not [each for each in (server.id, lease["id"], "cmp-0", MEMBER["X-Project-Id"]) if each in answer.text]


def test_a_claim_is_carried_out_once(site: World) -> None:
    made = offered(site, active(site), amount=2)
    headers = {**ALT, **V1_3, "Idempotency-Key": "k"}
    path = f"{OFFERS}/{made['id']}/claims"
    first, second = (site.ask("POST", path, {"name": "mine"}, headers=headers) for _ in range(2))
    assert (first.status_code, first.json["lease"]["id"]) == (201, second.json["lease"]["id"])
    other = site.ask("POST", path, {"name": "mine", "amount": 2}, headers=headers)
    assert (other.status_code, other.json["field"]) == (409, "Idempotency-Key")


def test_an_administrator_offers_for_the_project_of_the_lease(site: World) -> None:
    made = offer(site, active(site), {**ADMIN, "X-Project-Id": "staff"}).json["published_offer"]
    assert made["project_id"] == MEMBER["X-Project-Id"]
    listed = site.ask("GET", OFFERS, headers={**MEMBER, **V1_3}).json["published_offers"]
    assert [each["id"] for each in listed] == [made["id"]]


def test_older_versions_have_no_offers_of_leases(site: World) -> None:
    lease = active(site)
    old = {**MEMBER, "OpenStack-API-Version": "reservation 1.2"}
    answer = site.ask("POST", f"/leases/{lease['id']}{OFFERS}", {"name": "n", "amount": 1}, headers=old)
    assert answer.status_code == 404


def test_a_notice_is_promised_shown_and_given(site: World) -> None:
    lease = active(site)
    for wrong in (-1, 1.5, "long", 400 * 24 * 3600, None):
        refused = offer(site, lease, notice_seconds=wrong)
        assert (refused.status_code, refused.json["field"]) == (400, "notice_seconds"), refused.text
    assert offered(site, lease)["notice_seconds"] == 0
    made = offered(site, lease, notice_seconds=600, name="with notice")
    # Who might claim it sees what is promised.
    assert seen(site, made).json["published_offer"]["notice_seconds"] == 600
    mine = claim(site, made).json["lease"]
    assert (mine["notice_seconds"], mine["taken_back_at"]) == (600, None)
    own = ask(site, "GET", lease["id"]).json["lease"]
    assert (own["notice_seconds"], own["taken_back_at"]) == (0, None)
    assert "notice_seconds" not in site.ask("GET", f"/leases/{mine['id']}", headers=ALT).json["lease"]
    site.wait(minutes=1)
    assert site.ask("DELETE", f"{OFFERS}/{made['id']}", headers={**MEMBER, **V1_3}).status_code == 204
    told = ask(site, "GET", mine["id"], who=ALT).json["lease"]
    assert told["status"] == "ACTIVE"
    assert mine["end_date"] > told["end_date"] > told["taken_back_at"]
    # The lender sees when its host is back.
    (listed,) = ask(site, "GET", f"{lease['id']}/sub-leases").json["sub_leases"]
    assert [listed[key] for key in ("end_date", "taken_back_at", "notice_seconds")] == [
        told["end_date"],
        told["taken_back_at"],
        600,
    ]
    longer = ask(site, "PUT", mine["id"], {"end_date": mine["end_date"]}, ALT)
    assert (longer.status_code, longer.json["code"]) == (409, "leasehold.lease.taken_back")
    again = ask(site, "DELETE", f"{lease['id']}/sub-leases/{mine['id']}")
    assert again.status_code == 204
    assert ask(site, "GET", mine["id"], who=ALT).json["lease"] == told
    site.wait(minutes=11)
    assert ask(site, "GET", mine["id"], who=ALT).json["lease"]["status"] == "TERMINATED"
    site.wait(minutes=1)
    assert len(ask(site, "GET", f"{lease['id']}/resources").json["reservations"][0]["resources"]) == 2


def test_an_operator_ends_it_at_once_and_a_lender_cannot(site: World) -> None:
    lease = active(site)
    made = offered(site, lease, notice_seconds=3600)
    mine = claim(site, made).json["lease"]
    site.wait(minutes=1)
    assert ask(site, "DELETE", mine["id"]).status_code == 403
    assert ask(site, "DELETE", lease["id"]).status_code == 204
    site.wait(minutes=5)
    assert ask(site, "GET", lease["id"]).status_code == 404
    assert ask(site, "GET", mine["id"], who=ALT).json["lease"]["status"] == "ACTIVE"
    assert ask(site, "DELETE", mine["id"], who=ADMIN).status_code == 204
    site.wait(minutes=5)
    assert ask(site, "GET", mine["id"], who=ALT).status_code == 404
