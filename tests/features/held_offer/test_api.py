"""Offers by the API (feature I6): from 1.3 on one is made, shown, accepted once and given up; no lease shows it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from tests.api.conftest import NOW
from tests.factory import hosts

if TYPE_CHECKING:
    from tests.api.conftest import Client, Clock

OFFERS = "/v1/offers"
LEASE: dict[str, Any] = {
    "name": "l",
    "start_date": "2031-05-01 10:00",
    "end_date": "2031-05-01 11:00",
    "reservations": [hosts()],
    "events": [],
}


@pytest.fixture
def member(client: Client, host: str) -> Client:
    assert host
    return client.but(version="1.3")


def offered(member: Client, **more: Any) -> dict[str, Any]:
    answer = member.ask("POST", OFFERS, {**LEASE, **more})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json
    return found


def test_an_offer_shows_what_it_holds_until_when(member: Client) -> None:
    answer = offered(member, hold_seconds=90)
    offer, (part,) = answer["offer"], answer["reservations"]
    assert (offer["state"], offer["expires_at"]) == ("open", "2031-05-01 09:32:10")
    assert (offer["lease"]["status"], offer["lease"]["start_date"]) == ("OFFERED", "2031-05-01T10:00:00.000000")
    assert (part["resource_type"], len(part["resources"])) == ("physical:host", 1)
    assert member.ask("GET", f"{OFFERS}/{offer['id']}").json == answer
    assert member.ask("GET", OFFERS).json == {"offers": [offer]}


def test_no_version_shows_an_offer_as_a_lease(member: Client) -> None:
    ident = offered(member)["offer"]["id"]
    for version in ("1.0", "1.1", "1.2", "1.3"):
        caller = member.but(version=version)
        assert caller.ask("GET", "/v1/leases").json == {"leases": []}
        for method in ("GET", "DELETE"):
            assert caller.ask(method, f"/v1/leases/{ident}").status_code == 404
        assert caller.ask("PUT", f"/v1/leases/{ident}", {"name": "m"}).status_code == 404
    for version in ("1.0", "1.1", "1.2"):
        assert member.but(version=version).ask("GET", f"{OFFERS}/{ident}").status_code == 404
        assert member.but(version=version).ask("POST", OFFERS, LEASE).status_code == 404
    assert member.ask("GET", "/v1/events").json["events"] == []


def test_what_an_offer_holds_nobody_else_gets_until_it_lapses(member: Client, clock: Clock) -> None:
    ident = offered(member, hold_seconds=90)["offer"]["id"]
    other = member.but(project="alt", user="bob")
    assert other.ask("POST", "/v1/leases", LEASE).status_code == 409
    clock.now = NOW + timedelta(seconds=89)
    assert other.ask("POST", OFFERS, LEASE).status_code == 409
    # No manager runs here: what has lapsed is free without one.
    clock.now = NOW + timedelta(seconds=90)
    assert member.ask("GET", OFFERS).json == {"offers": []}
    assert other.ask("POST", "/v1/leases", LEASE).status_code == 201
    late = member.ask("POST", f"{OFFERS}/{ident}/accept")
    assert (late.status_code, late.json["code"]) == (409, "leasehold.offer.over")
    answer = member.ask("GET", f"{OFFERS}/{ident}").json
    assert (answer["offer"]["state"], "reservations" in answer) == ("over", False)


def test_an_accepted_offer_is_the_lease_that_it_showed(member: Client, clock: Clock) -> None:
    offer = offered(member)["offer"]
    clock.now += timedelta(minutes=2)
    accepted = member.ask("POST", f"{OFFERS}/{offer['id']}/accept")
    assert accepted.status_code == 201
    lease = accepted.json["lease"]
    changed = {"status", "updated_at"}
    assert {key: lease[key] for key in lease.keys() - changed} == {
        key: offer["lease"][key] for key in lease.keys() - changed
    }
    assert lease["status"] == "PENDING"
    assert member.ask("GET", "/v1/leases").json["leases"] == [lease]
    assert member.ask("GET", f"{OFFERS}/{offer['id']}").json["offer"]["state"] == "accepted"
    assert accepted.headers["ETag"] == member.ask("GET", f"/v1/leases/{lease['id']}").headers["ETag"]


def test_accepting_again_gives_the_same_lease_also_much_later(member: Client, clock: Clock) -> None:
    path = f"{OFFERS}/{offered(member)['offer']['id']}/accept"
    first = member.ask("POST", path, headers={"Idempotency-Key": "a"})
    clock.now += timedelta(minutes=20)
    again = member.ask("POST", path, headers={"Idempotency-Key": "a"})
    assert (first.status_code, again.status_code, again.json) == (201, 201, first.json)


def test_an_offer_is_made_once_for_each_key(member: Client) -> None:
    key: dict[str, Any] = {"headers": {"Idempotency-Key": "a"}}
    first, again = (member.ask("POST", OFFERS, LEASE, **key) for _ in range(2))
    assert (first.status_code, again.json) == (201, first.json)
    assert len(member.ask("GET", OFFERS).json["offers"]) == 1
    assert member.ask("POST", "/v1/leases", LEASE, **key).status_code == 409
    ident = first.json["offer"]["id"]
    member.ask("POST", f"{OFFERS}/{ident}/accept")
    assert member.ask("POST", OFFERS, LEASE, **key).json["offer"]["state"] == "accepted"


def test_an_offer_that_is_given_up_is_free_at_once(member: Client) -> None:
    ident = offered(member)["offer"]["id"]
    for _ in range(2):
        assert member.ask("DELETE", f"{OFFERS}/{ident}").status_code == 204
    assert member.ask("POST", f"{OFFERS}/{ident}/accept").status_code == 409
    kept = offered(member)["offer"]["id"]
    member.ask("POST", f"{OFFERS}/{kept}/accept")
    refused = member.ask("DELETE", f"{OFFERS}/{kept}")
    assert (refused.status_code, refused.json["code"]) == (409, "leasehold.offer.accepted")


def test_an_offer_is_refused_as_the_lease_is(member: Client) -> None:
    more = {**LEASE, "reservations": [hosts(2)]}
    lease, offer = (member.ask("POST", path, more) for path in ("/v1/leases", OFFERS))
    assert (offer.status_code, offer.json) == (lease.status_code, lease.json)
    assert offer.status_code == 409


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"hold_seconds": 901}, "hold_seconds"),
        ({"hold_seconds": 0}, "hold_seconds"),
        ({"hold_seconds": True}, "hold_seconds"),
        ({"type": "waitlist"}, "type"),
        ({"dry_run": True}, "dry_run"),
        ({"start_date": "soon"}, "start_date"),
    ],
)
def test_bad_input_is_refused_with_its_field(member: Client, more: dict[str, Any], field: str) -> None:
    answer = member.ask("POST", OFFERS, {**LEASE, **more})
    assert (answer.status_code, answer.json["field"]) == (400, field), answer.text


def test_a_project_may_have_so_many_open_offers(member: Client, clock: Clock) -> None:
    nothing = {**LEASE, "reservations": []}
    made = [member.ask("POST", OFFERS, nothing).json["offer"]["id"] for _ in range(5)]
    refused = member.ask("POST", OFFERS, nothing)
    assert (refused.status_code, refused.json["code"]) == (403, "leasehold.offers.too_many")
    assert refused.json["details"] == {"limit": 5}
    assert member.but(project="alt").ask("POST", OFFERS, nothing).status_code == 201
    member.ask("POST", f"{OFFERS}/{made[0]}/accept")
    assert member.ask("POST", OFFERS, nothing).status_code == 201
    assert member.ask("POST", OFFERS, nothing).status_code == 403
    clock.now += timedelta(minutes=5)
    assert member.ask("POST", OFFERS, nothing).status_code == 201


def test_administrators_see_the_offers_of_all_projects_on_request(member: Client, admin: Client) -> None:
    offered(member)
    boss = admin.but(version="1.3", project="ops")
    assert boss.ask("GET", OFFERS).json == {"offers": []}
    assert len(boss.ask("GET", f"{OFFERS}?all_projects=true").json["offers"]) == 1
    assert member.but(project="alt").ask("GET", f"{OFFERS}?all_projects=true").status_code == 403
