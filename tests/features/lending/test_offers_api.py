"""Features I2 and I3 by the API: published offers and claims, from 1.3 on; what a harmful member tries too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Client, Clock

PATH = "/v1/published-offers"
WHEN = {"start_date": "2031-05-02T10:00:00Z", "end_date": "2031-05-02T18:00:00Z"}


@pytest.fixture
def operator(admin: Client) -> Client:
    return admin.but(project="staff", version="1.3")


@pytest.fixture
def owner(client: Client, operator: Client, host: str) -> Client:
    """Return a member of `demo`, which owns the only host."""
    assert operator.ask("PUT", f"/v1/os-hosts/{host}", {"owner": "demo"}).status_code == 200
    return client.but(version="1.3")


@pytest.fixture
def tenant(owner: Client) -> Client:
    return owner.but(user="bob", project="alt")


def published(client: Client, host: str, **more: Any) -> Any:
    body = {"name": "big one", "resource_type": "physical:host", "resource_id": host, **WHEN, **more}
    answer = client.ask("POST", PATH, body)
    assert answer.status_code == 201, answer.text
    return answer.json["published_offer"]


def shown(client: Client, offer: Any) -> Any:
    answer = client.ask("GET", f"{PATH}/{offer['id']}")
    assert answer.status_code == 200, answer.text
    return answer.json["published_offer"]


def claimed(client: Client, offer: Any, **body: Any) -> Any:
    answer = client.ask("POST", f"{PATH}/{offer['id']}/claims", {"name": "mine", **body})
    assert answer.status_code == 201, answer.text
    return answer.json["lease"]


def test_an_offer_is_published_claimed_and_deleted(owner: Client, tenant: Client, operator: Client, host: str) -> None:
    offer = published(owner, host)
    free = [{"start_date": "2031-05-02T10:00:00+00:00", "end_date": "2031-05-02T18:00:00+00:00"}]
    assert (offer["status"], offer["free"], offer["resource_id"]) == ("available", free, host)
    assert shown(owner, offer) == shown(operator, offer) == offer
    hidden = dict.fromkeys(("project_id", "user_id", "for_project_id", "resource_id", "resource_name"))
    assert shown(tenant, offer) == {**offer, **hidden}
    lease = claimed(tenant, offer, end_date="2031-05-02T12:00:00Z")
    assert (lease["project_id"], lease["published_offer"]) == ("alt", offer["id"])
    assert (lease["start_date"], lease["end_date"]) == ("2031-05-02T10:00:00.000000", "2031-05-02T12:00:00.000000")
    assert [each["start_date"] for each in shown(tenant, offer)["free"]] == ["2031-05-02T12:00:00+00:00"]
    refused = tenant.ask("POST", f"{PATH}/{offer['id']}/claims", {"name": "again", "start_date": WHEN["start_date"]})
    assert (refused.status_code, refused.json["code"]) == (409, "leasehold.published_offer.not_free")
    assert refused.json["details"]["free"] == shown(tenant, offer)["free"]
    (owned,) = owner.ask("GET", "/v1/owned-resources").json["owned_resources"]
    assert [each["id"] for each in owned["leases"]] == [lease["id"]]
    assert owner.ask("DELETE", f"{PATH}/{offer['id']}").status_code == 204
    assert tenant.ask("GET", f"/v1/leases/{lease['id']}").status_code == 404
    assert tenant.ask("GET", f"{PATH}/{offer['id']}").status_code == 404
    assert shown(owner, offer)["status"] == "deleted"


def test_lists_show_what_is_open_to_a_project(owner: Client, tenant: Client, operator: Client, host: str) -> None:
    later = {"start_date": "2031-05-03 10:00", "end_date": "2031-05-03 12:00"}
    for_all, for_alt = published(owner, host), published(owner, host, name="yours", for_project_id="alt", **later)
    third = tenant.but(user="carol", project="third")

    def listed(client: Client, query: str = "") -> list[str]:
        found = client.ask("GET", PATH, query_string=query)
        assert found.status_code == 200, found.text
        return [each["id"] for each in found.json["published_offers"]]

    both = [for_all["id"], for_alt["id"]]
    assert listed(owner) == listed(tenant) == both
    assert (listed(third), listed(operator)) == ([for_all["id"]], [for_all["id"]])
    assert listed(operator, "all_projects=true&sort=start_date:desc") == both[::-1]
    assert listed(owner, "name=yours") == listed(owner, "status=available&limit=1&marker=" + both[0]) == [both[1]]
    assert third.ask("GET", PATH, query_string="all_projects=true").status_code == 403
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/claims")):
        body = {"name": "mine"} if path else None
        assert third.ask(method, f"{PATH}/{for_alt['id']}{path}", body).status_code == 404
    assert listed(owner) == both


def test_members_reach_nothing_of_others(owner: Client, tenant: Client, operator: Client, host: str) -> None:
    body = {"name": "stolen", "resource_type": "physical:host", "resource_id": host, **WHEN}
    assert tenant.ask("POST", PATH, body).status_code == 404
    offer = published(owner, host)
    assert tenant.ask("DELETE", f"{PATH}/{offer['id']}").status_code == 404
    reader = tenant.but(roles="reader")
    for method, path, sent in (("DELETE", "", None), ("POST", "/claims", {"name": "mine"})):
        assert reader.ask(method, f"{PATH}/{offer['id']}{path}", sent).status_code == 403
    assert reader.ask("POST", PATH, body).status_code == 403
    assert reader.ask("GET", f"{PATH}/{offer['id']}").status_code == 200
    lease = claimed(tenant, offer)
    more = {"reservations": [{"id": lease["reservations"][0]["id"], "min": 1, "max": 2}]}
    outside = {"end_date": "2031-05-02T19:00:00Z"}
    for change, code in ((more, "claimed"), (outside, "outside"), ({"open_ended": True}, None)):
        refused = tenant.ask("PUT", f"/v1/leases/{lease['id']}", change)
        assert refused.status_code in {403, 409}
        assert code is None or refused.json["code"] == f"leasehold.published_offer.{code}"
    assert operator.ask("DELETE", f"{PATH}/{offer['id']}").status_code == 204


def test_overlapping_offers_name_the_one_in_the_way(owner: Client, operator: Client, host: str) -> None:
    offer = published(operator, host)
    assert offer["project_id"] == "demo"
    body = {"name": "second", "resource_type": "physical:host", "resource_id": host, **WHEN}
    refused = owner.ask("POST", PATH, body)
    assert (refused.status_code, refused.json["code"]) == (409, "leasehold.published_offer.overlaps")
    assert refused.json["details"] == {"published_offer": offer["id"]}


def test_a_claim_is_made_once_and_tried(owner: Client, tenant: Client, host: str, clock: Clock) -> None:
    offer = published(owner, host, start_date="now")
    tried = tenant.ask("POST", f"{PATH}/{offer['id']}/claims", {"name": "mine", "dry_run": True})
    assert (tried.status_code, tried.json["lease"]["end_date"]) == (200, "2031-05-02T18:00:00.000000")
    once = {"Idempotency-Key": "once"}
    first, second = (
        tenant.ask("POST", f"{PATH}/{offer['id']}/claims", {"name": "mine", "start_date": "now"}, headers=once)
        for _ in range(2)
    )
    assert first.status_code == second.status_code == 201
    assert first.json["lease"]["id"] == second.json["lease"]["id"]
    assert first.json["lease"]["start_date"] == f"{clock.now:%Y-%m-%dT%H:%M:%S}.000000"
    other = tenant.ask("POST", f"{PATH}/{offer['id']}/claims", {"name": "other"}, headers=once)
    assert other.status_code == 409


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"end_date": "2031-05-02T09:00:00Z"}, "end_date"),
        ({"end_date": "soon"}, "end_date"),
        ({"start_date": "soon"}, "start_date"),
        ({"start_date": None}, "start_date"),
        ({"resource_id": ""}, "resource_id"),
        ({"name": 7}, "name"),
        ({"for_project_id": ""}, "for_project_id"),
        ({"resource_type": "virtual:quantum"}, None),
    ],
)
def test_bad_offers_are_refused(owner: Client, host: str, wrong: Any, field: str | None) -> None:
    body = {"name": "big one", "resource_type": "physical:host", "resource_id": host, **WHEN, **wrong}
    refused = owner.ask("POST", PATH, body)
    assert refused.status_code == (404 if field is None else 400), refused.text
    assert refused.json.get("field") == field


@pytest.mark.parametrize("wrong", [{"start_date": "soon"}, {"end_date": "soon"}, {"name": 7}, {"amount": 2}, {}])
def test_bad_claims_are_refused(owner: Client, tenant: Client, host: str, wrong: Any) -> None:
    offer = published(owner, host)
    refused = tenant.ask("POST", f"{PATH}/{offer['id']}/claims", {"name": "mine", **wrong} if wrong else {})
    assert refused.status_code == 400
    assert len(shown(tenant, offer)["free"]) == 1
