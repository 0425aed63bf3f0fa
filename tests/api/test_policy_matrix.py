"""Every route, for every role, inside and outside the owning project, through the whole API (contract http-api §9).

The table `EXPECTED` has one row per rule. A new rule or route without a row here fails a test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.api.policies import base
from leasehold.api.policies.enforcer import list_rules
from leasehold.api.routes import ROUTES
from leasehold.cloud.sandbox import seed
from tests.stateful.audit import dump

if TYPE_CHECKING:
    from collections.abc import Mapping

    from leasehold.api.routes import Route
    from leasehold.leasing.service import Service
    from tests.api.conftest import Client


@dataclass(frozen=True)
class Let:
    """The roles that a rule allows on leases of the caller's own project, and on those of other projects."""

    inside: frozenset[str]
    outside: frozenset[str] = frozenset({"admin"})


ADMINS = Let(frozenset({"admin"}))
READERS = Let(frozenset({"reader", "member", "admin"}))
"""The role `member` implies `reader`."""
MEMBERS = Let(frozenset({"member", "admin"}))

EXPECTED: Mapping[str, Let] = {
    "blazar:leases:get": READERS,
    "blazar:leases:post": MEMBERS,
    "blazar:leases:put": MEMBERS,
    "blazar:leases:delete": MEMBERS,
    "blazar:oshosts:get": ADMINS,
    "blazar:oshosts:post": ADMINS,
    "blazar:oshosts:put": ADMINS,
    "blazar:oshosts:delete": ADMINS,
    "blazar:oshosts:get_allocations": ADMINS,
    "blazar:oshosts:get_resource_properties": ADMINS,
    "blazar:oshosts:update_resource_properties": ADMINS,
    "blazar:floatingips:get": READERS,
    "blazar:floatingips:post": ADMINS,
    "blazar:floatingips:delete": ADMINS,
    "leasehold:resources:get": ADMINS,
    "leasehold:resources:post": ADMINS,
    "leasehold:resources:put": ADMINS,
    "leasehold:resources:delete": ADMINS,
    "leasehold:resources:get_allocations": ADMINS,
    "leasehold:resources:get_properties": ADMINS,
    "leasehold:resources:update_properties": ADMINS,
}
ROLES = ("", "reader", "member", "admin", "service", "observer", "member,reader", "service,reader", "adminx,member")
PUBLIC = {("GET", "/healthcheck"), ("GET", "/v1/openapi.json")}
UNRULED = {("GET", "/"), ("GET", "/versions")}
"""Routes for every authenticated caller, whatever the role."""

PROPERTIES = ("hypervisor_properties", "resource_properties")
LEASE = {"name": "n", "start_date": "2031-05-02 10:00", "end_date": "2031-05-02 11:00"}
BODIES: Mapping[tuple[str, str], Any] = {
    ("POST", "/v1/leases"): LEASE,
    ("PUT", "/v1/leases/{lease_id}"): {"name": "changed"},
    ("POST", "/v1/os-hosts"): {"name": "cmp-02"},
    ("PUT", "/v1/os-hosts/{host_id}"): {"rack": "b2"},
    ("PATCH", "/v1/os-hosts/properties/{name}"): {"private": True},
    ("POST", "/v1/floatingips"): {
        "floating_network_id": seed.NETWORK_ID,
        "floating_ip_address": seed.SUGGESTED_FLOATING_IPS[1],
    },
    ("POST", "/v1/resources/{resource_type}"): {"name": "cmp-02"},
    ("PUT", "/v1/resources/{resource_type}/{resource_id}"): {"properties": {"rack": "b2"}},
    ("PATCH", "/v1/resources/{resource_type}/properties/{name}"): {"private": True},
}
"""The body of each request that has one; it is valid, so an allowed request succeeds."""


def key(route: Route) -> tuple[str, str]:
    return route.method, route.path


def test_every_rule_has_its_expectation() -> None:
    """The base rules are only parts of other rules and need no expectation."""
    parts = {rule.name for rule in base.RULES}
    assert {rule.name for rule in list_rules()} - parts == set(EXPECTED)


def test_every_rule_is_asked_somewhere_and_every_route_asks_or_says_why_not() -> None:
    assert {rule for route in ROUTES for rule in route.rules} == set(EXPECTED)
    assert {key(route) for route in ROUTES if route.public} == PUBLIC
    assert {key(route) for route in ROUTES if not route.public and not route.rules} == UNRULED
    assert {key(route) for route in ROUTES if route.request is not None} == set(BODIES)


@dataclass(frozen=True)
class Site:
    """A service with a resource for each route, owned by the project `demo`."""

    service: Service
    admin: Client
    owner: Client

    def places(self) -> dict[str, str]:
        """Return the ids for the paths; recreates what an earlier request removed."""
        hosts = self.admin.ask("GET", "/v1/os-hosts").json["hosts"]
        found = next((host["id"] for host in hosts if host["hypervisor_hostname"] == "cmp-01"), None)
        host = found or self.admin.ask("POST", "/v1/os-hosts", {"name": "cmp-01", "rack": "a1"}).json["host"]["id"]
        lease = self.owner.ask("POST", "/v1/leases", LEASE).json["lease"]["id"]
        of_type = {"resource_type": "physical:host", "resource_id": host}
        return {"lease_id": lease, "host_id": host, "name": "rack", "floatingip_id": self.address(), **of_type}

    def address(self) -> str:
        body = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": seed.SUGGESTED_FLOATING_IPS[0]}
        made = self.admin.ask("POST", "/v1/floatingips", body)
        if made.status_code == 201:
            return str(made.json["floatingip"]["id"])
        found = self.admin.ask("GET", "/v1/floatingips").json["floatingips"]
        return str(next(each["id"] for each in found if each["floating_ip_address"] == body["floating_ip_address"]))

    def clear(self) -> None:
        """Remove what an allowed request created, so that the next request can create it again."""
        for host in self.admin.ask("GET", "/v1/os-hosts").json["hosts"]:
            if host["hypervisor_hostname"] == "cmp-02":
                self.admin.ask("DELETE", f"/v1/os-hosts/{host['id']}")
        for each in self.admin.ask("GET", "/v1/floatingips").json["floatingips"]:
            if each["floating_ip_address"] == seed.SUGGESTED_FLOATING_IPS[1]:
                self.admin.ask("DELETE", f"/v1/floatingips/{each['id']}")


@pytest.fixture
def site(service: Service, client: Client, admin: Client) -> Site:
    return Site(service, admin, client)


def denied_by(route: Route, roles: str, *, inside: bool) -> str | None:
    """Return the rule that refuses according to the table; None if the request is allowed."""
    mine = set(roles.split(","))
    for rule in route.rules:
        let = EXPECTED[rule].inside if inside else EXPECTED[rule].outside
        if not mine & let:
            return rule
    return None


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
@pytest.mark.parametrize("project", ["demo", "other"])
def test_the_matrix(site: Site, route: Route, project: str) -> None:
    """An allowed caller gets the route's success status; any other gets a 403 with the rule, and no row changes.

    Only leases have an owner. For all other resources a rule is checked against the caller's own project.
    """
    inside = project == "demo" or "{lease_id}" not in route.path
    for roles in ROLES:
        path = route.path.format(**site.places())
        caller = site.owner.but(user="somebody", project=project, roles=roles)
        before = dump(site.service.db.engine)
        answer = caller.but(version=str(route.since)).ask(route.method, path, BODIES.get(key(route)))
        denied = denied_by(route, roles, inside=inside)
        if denied is None:
            assert answer.status_code == route.success, (roles, answer.text)
        else:
            assert answer.status_code == 403, (roles, answer.text)
            assert answer.json["details"] == {"rule": denied}, roles
            assert dump(site.service.db.engine) == before, roles
        site.clear()


@pytest.mark.parametrize("roles", ROLES)
def test_a_list_shows_the_leases_of_ones_own_project_alone(site: Site, roles: str) -> None:
    """Only administrators see the leases of all projects."""
    for project in ("demo", "other", "third"):
        site.admin.but(project=project).ask("POST", "/v1/leases", LEASE)
    for project in ("demo", "other", "fourth"):
        answer = site.owner.but(project=project, roles=roles).ask("GET", "/v1/leases")
        if not READERS.inside & set(roles.split(",")):
            assert answer.status_code == 403
            continue
        shown = {lease["project_id"] for lease in answer.json["leases"]}
        all_of_them = {"demo", "other", "third"}
        assert shown == (all_of_them if roles == "admin" else all_of_them & {project})


@pytest.mark.parametrize("roles", ["member,reader", "service,reader"])
def test_a_reservation_of_another_project_is_out_of_reach_through_ones_own_lease(site: Site, roles: str) -> None:
    """The path selects the lease; a reservation id in the body that is not of that lease is unknown."""
    site.places()
    asked = {"resource_type": "physical:host", "min": 1, "max": 1, **dict.fromkeys(PROPERTIES, "")}
    theirs = site.owner.ask("POST", "/v1/leases", {**LEASE, "reservations": [asked]}).json["lease"]
    stranger = site.owner.but(user="bob", project="other", roles="member,reader")
    mine = stranger.ask("POST", "/v1/leases", LEASE).json["lease"]
    body = {"reservations": [{"id": theirs["reservations"][0]["id"], "min": 1, "max": 2}]}
    before = dump(site.service.db.engine)
    answer = stranger.but(roles=roles).ask("PUT", f"/v1/leases/{mine['id']}", body)
    assert answer.status_code == (400 if "member" in roles else 403)
    # An update cannot change the owner of a lease, neither by its body nor by its headers.
    claim = {"name": "x", "project_id": "other", "user_id": "bob", "id": mine["id"], "status": "TERMINATED"}
    assert stranger.but(roles=roles).ask("PUT", f"/v1/leases/{theirs['id']}", claim).status_code == 403
    assert dump(site.service.db.engine) == before


def test_no_key_of_a_body_says_whose_a_lease_is_or_how_it_stands(site: Site) -> None:
    """The API stores neither unknown keys nor fields that callers must not set."""
    claim = {
        "id": "11111111-1111-4111-8111-111111111111",
        "project_id": "victim",
        "user_id": "victim",
        "status": "ACTIVE",
        "trust_id": "t",
        "degraded": True,
        "generation": 99,
        "created_at": "2000-01-01 00:00:00",
        "leasehold_secret": "x",
    }
    made = site.owner.ask("POST", "/v1/leases", {**LEASE, **claim}).json["lease"]
    assert (made["project_id"], made["user_id"], made["status"]) == ("demo", "alice", "PENDING")
    assert made["id"] != claim["id"]
    assert not made["degraded"]
    changed = site.owner.ask("PUT", f"/v1/leases/{made['id']}", {**claim, "name": "m"}).json["lease"]
    assert {**changed, "updated_at": None} == {**made, "name": "m", "updated_at": None}
    text = repr(dump(site.service.db.engine))
    assert "leasehold_secret" not in text
    assert "victim" not in text


def test_an_idempotency_key_of_another_project_tells_nothing(site: Site) -> None:
    headers = {"Idempotency-Key": "the-same-key"}
    theirs = site.owner.ask("POST", "/v1/leases", LEASE, headers=headers).json["lease"]
    stranger = site.owner.but(user="bob", project="other")
    for body in (LEASE, {**LEASE, "name": "another"}):
        answer = stranger.ask("POST", "/v1/leases", {**body}, headers=headers)
        assert theirs["id"] not in answer.text
    (mine,) = stranger.ask("GET", "/v1/leases").json["leases"]
    assert (mine["project_id"], mine["user_id"]) == ("other", "bob")
