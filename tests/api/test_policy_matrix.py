"""Who may do what: every rule and every route, for every role, inside and outside the owning project (http-api §9).

The table `EXPECTED` has one row per rule. A new rule or route without a row here fails a test.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal
from itertools import count
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import pytest
from sqlalchemy import insert

from leasehold.api.policies.base import PARTS, Rule
from leasehold.api.policies.enforcer import Policies
from leasehold.cloud.sandbox import seed
from leasehold.cmd.web import ROUTES, get_enforcer, list_rules, make_app
from leasehold.conf import ConfigurationError
from leasehold.conf.settings import PolicySettings
from leasehold.features.power.options import MachineClass, PowerSettings
from leasehold.features.price.charge import Charge, Kind
from leasehold.features.price.charge_store import row_of
from leasehold.features.price.store import charges
from leasehold.leasing.reading import queries
from leasehold.model.caller import Caller
from leasehold.model.windows import Window
from tests.api.conftest import NOW
from tests.factory import Clock, World, floating_ips, hosts, instances, run_manager
from tests.stateful.audit import dump
from tests.web import LocalClient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from leasehold.api.route import Route
    from leasehold.cloud.sandbox.cloud import SandboxCloud
    from leasehold.conf.settings import ApiSettings
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
    "leasehold:leases:get_resources": READERS,
    "leasehold:leases:swap": MEMBERS,
    "leasehold:leases:heal": MEMBERS,
    "leasehold:leases:use_disabled": ADMINS,
    "leasehold:leases:give_back": ADMINS,
    "leasehold:leases:best_effort": MEMBERS,
    "leasehold:leases:on_behalf": ADMINS,
    "leasehold:leases:open_ended": ADMINS,
    "leasehold:leases:share": MEMBERS,
    "leasehold:leases:lend": ADMINS,
    "leasehold:leases:offer": MEMBERS,
    "leasehold:leases:get_history": READERS,
    "leasehold:leases:get_deleted": READERS,
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
    "leasehold:events:get": READERS,
    "leasehold:subscriptions:get": READERS,
    "leasehold:subscriptions:post": MEMBERS,
    "leasehold:subscriptions:delete": MEMBERS,
    "leasehold:subscriptions:replay": MEMBERS,
    "leasehold:availability:get": READERS,
    "leasehold:audit:get": ADMINS,
    "leasehold:audit:post": ADMINS,
    "leasehold:refusals:get": ADMINS,
    "leasehold:power:get": ADMINS,
    "leasehold:power:put": ADMINS,
    "leasehold:capacity:get": ADMINS,
    "leasehold:capacity:post": ADMINS,
    "leasehold:capacity:put": ADMINS,
    "leasehold:capacity:delete": ADMINS,
    "leasehold:forecast:get": ADMINS,
    "leasehold:availability:search": READERS,
    "leasehold:availability:get_properties": READERS,
    "leasehold:regions:get": READERS,
    "leasehold:timeline:get": READERS,
    "leasehold:timeline:get_all": ADMINS,
    "leasehold:fillers:get": READERS,
    "leasehold:fillers:post": MEMBERS,
    "leasehold:fillers:delete": MEMBERS,
    "leasehold:usage:get": READERS,
    "leasehold:prices:get": READERS,
    "leasehold:charges:get": READERS,
    "leasehold:charges:correct": ADMINS,
    "leasehold:budgets:get": READERS,
    "leasehold:budgets:post": ADMINS,
    "leasehold:budgets:put": ADMINS,
    "leasehold:budgets:delete": ADMINS,
    "leasehold:alarms:get": READERS,
    "leasehold:alarms:post": MEMBERS,
    "leasehold:alarms:delete": MEMBERS,
    "leasehold:feeds:get": READERS,
    "leasehold:feeds:post": MEMBERS,
    "leasehold:feeds:delete": MEMBERS,
    "leasehold:templates:get": READERS,
    "leasehold:templates:post": MEMBERS,
    "leasehold:templates:put": ADMINS,
    "leasehold:templates:delete": ADMINS,
    "leasehold:templates:public": ADMINS,
    "leasehold:series:get": READERS,
    "leasehold:series:post": MEMBERS,
    "leasehold:series:put": MEMBERS,
    "leasehold:series:delete": MEMBERS,
    "leasehold:flexible_leases:get": READERS,
    "leasehold:flexible_leases:post": MEMBERS,
    "leasehold:flexible_leases:put": MEMBERS,
    "leasehold:offers:get": READERS,
    "leasehold:offers:post": MEMBERS,
    "leasehold:offers:accept": MEMBERS,
    "leasehold:offers:delete": MEMBERS,
    "leasehold:owned_resources:get": READERS,
    "leasehold:owned_resources:end_lease": MEMBERS,
    "leasehold:published_offers:get": READERS,
    "leasehold:published_offers:post": MEMBERS,
    "leasehold:published_offers:delete": MEMBERS,
    "leasehold:published_offers:claim": MEMBERS,
    "leasehold:maintenances:get": ADMINS,
    "leasehold:maintenances:post": ADMINS,
    "leasehold:maintenances:delete": ADMINS,
    "leasehold:resources:get": ADMINS,
    "leasehold:resources:post": ADMINS,
    "leasehold:resources:put": ADMINS,
    "leasehold:resources:delete": ADMINS,
    "leasehold:resources:get_candidates": ADMINS,
    "leasehold:resources:get_allocations": ADMINS,
    "leasehold:resources:get_properties": ADMINS,
    "leasehold:resources:update_properties": ADMINS,
}
ROLES = ("", "reader", "member", "admin", "service", "observer", "member,reader", "service,reader", "adminx,member")
PUBLIC = {("GET", "/healthcheck"), ("GET", "/v1/openapi.json"), ("GET", "/v1/feeds/{token}.ics")}
UNRULED = {("GET", "/"), ("GET", "/versions")}
"""Routes for every authenticated caller, whatever the role."""
NAMED = {rule.name: rule for route in ROUTES for rule in (*route.rules, *route.within)}

WITHIN = {
    f"leasehold:leases:{each}"
    for each in ("use_disabled", "give_back", "best_effort", "on_behalf", "open_ended", "share", "get_deleted")
} | {"leasehold:templates:public", "leasehold:timeline:get_all"}
"""Rules that no route asks for, because they say what a request that is allowed may ask for or get.

`test_disabling.py`, `test_endings.py`, `test_best_effort.py`, `test_on_behalf.py`, `test_open_ended.py`,
`test_sharing.py`, `features/lease_history`, `features/timeline`, `features/template`; there also who made a template,
and managers."""

V1_2 = {"OpenStack-API-Version": "reservation 1.2"}
V1_3 = {"OpenStack-API-Version": "reservation 1.3"}
HOOK = {"target": "https://hooks.example.org/"}
WATCH = {"reservation": hosts(), "below": 2}
LENDING = {"name": "lent", "project_id": "alt", "amount": 1}
LEASE = {"name": "n", "start_date": "2031-05-02 10:00", "end_date": "2031-05-02 11:00"}
FLEXIBLE = {"name": "n", "latest": "2031-05-09 11:00", "duration_seconds": 3600}
SERIES = {**LEASE, "rule": "FREQ=DAILY;COUNT=2"}
MACHINE = {"power_class": "box", "address": "another"}
OWNER = Caller("owner", "p1")


@dataclass
class Site:
    """A service with one enrolled host; the leases belong to the project `demo`."""

    service: Service
    admin: Client
    owner: Client
    hosts: Iterator[str] = field(default_factory=lambda: iter([name for name, _ in seed.SUGGESTED_HOSTS]))
    addresses: Iterator[str] = field(default_factory=lambda: iter(seed.SUGGESTED_FLOATING_IPS))
    days: Iterator[int] = field(default_factory=lambda: count(1))
    server: str = ""
    owned: str = ""
    enrolled: list[str] = field(default_factory=list)
    planned: list[str] = field(default_factory=list)

    def path(self, route: Route) -> str:
        """Return the path of a lease, host or address that no request used before."""
        ids = {"resource_type": "physical:host", "name": "rack"}
        if "lease_id" in route.path:
            ids |= self.of_lease(route)
        if "host_id" in route.path or ("resource_id" in route.path and "resource_id" not in ids):
            host = self.admin.ask("POST", "/v1/os-hosts", self.new_host()).json["host"]["id"]
            ids |= {"host_id": host, "resource_id": host}
            if "/power/" in route.path:
                self.admin.ask("PUT", f"/v1/power/hosts/{host}", {**MACHINE, "address": f"of-{host}"}, headers=V1_3)
        if "subscription_id" in route.path:
            made = self.owner.ask("POST", "/v1/subscriptions", HOOK, headers=V1_2)
            ids["subscription_id"] = made.json["subscription"]["id"]
        if "series_id" in route.path:
            made = self.owner.ask("POST", "/v1/series", SERIES, headers=V1_2)
            ids["series_id"] = made.json["series"]["id"]
        if "alarm_id" in route.path:
            made = self.owner.ask("POST", "/v1/alarms", WATCH, headers=V1_2)
            ids["alarm_id"] = made.json["alarm"]["id"]
        if "offer_id" in route.path:
            ids["offer_id"] = self.offer()
        ids |= self.of_newest(route)
        if "floatingip_id" in route.path:
            address = self.admin.ask("POST", "/v1/floatingips", self.new_address())
            ids["floatingip_id"] = address.json["floatingip"]["id"]
        if "maintenance_id" in route.path:
            made = self.admin.but(version="1.2").ask("POST", "/v1/maintenances", self.new_window())
            ids["maintenance_id"] = made.json["maintenance"]["id"]
        return route.path.format(**ids)

    def new_filler(self) -> dict[str, Any]:
        """Return a filler that is granted: it has a host that nobody else has."""
        self.admin.ask("POST", "/v1/os-hosts", self.new_host())
        return {"reservation": hosts()}

    def of_newest(self, route: Route) -> dict[str, str]:
        """Return the ids of something new of what projects or operators make, or of a lease on what is owned."""
        if "feed_id" in route.path or "token" in route.path:
            feed = self.owner.ask("POST", "/v1/feeds", {}, headers=V1_3).json["feed"]
            return {"feed_id": feed["id"], "token": feed["url"].rpartition("/")[2].removesuffix(".ics")}
        owner, operator = self.owner.but(version="1.3"), self.admin.but(version="1.3")
        made = {
            "filler_id": (owner, "/v1/fillers", "filler", self.new_filler),
            "template_id": (owner, "/v1/lease-templates", "template", lambda: {"name": str(uuid4())}),
            "flexible_id": (owner, "/v1/flexible-leases", "flexible_lease", lambda: FLEXIBLE),
            "budget_id": (operator, "/v1/budgets", "budget", self.new_budget),
            "change_id": (operator, "/v1/capacity/increases", "change", self.new_increase),
            "published_id": (operator, "/v1/published-offers", "published_offer", self.new_publication),
        }
        for variable, (who, path, key, body) in made.items():
            if variable in route.path:
                return {variable: who.ask("POST", path, body()).json[key]["id"]}
        return {"owned_id": self.on_owned_host()} if "owned_id" in route.path else {}

    def new_budget(self) -> dict[str, Any]:
        """Return a budget of `demo` on days of its own."""
        start = NOW + timedelta(days=2 * next(self.days))
        dates = {"start_date": f"{start:%Y-%m-%d %H:%M}", "end_date": f"{start + timedelta(hours=1):%Y-%m-%d %H:%M}"}
        return {"project_id": "demo", "name": "spring", "amount": "9.50", **dates}

    def correction(self) -> dict[str, Any]:
        """Return a correction of a charge that no request used before."""
        priced = Charge("part", Kind.UNUSED, Window.of_seconds(0, 3600), 1, Decimal(2), Decimal(2), "2031")
        row = row_of(priced, "lease", ("demo", "alice"), "physical:host", 86_400)
        made = self.service.db.transact(lambda connection: connection.execute(insert(charges).values(row)))
        assert made.inserted_primary_key is not None
        return {"charge_id": made.inserted_primary_key[0], "amount": "-1", "reason": "No network."}

    def new_increase(self) -> dict[str, Any]:
        """Return a host to come, of a name that no request used before."""
        self.planned.append(f"planned-{next(self.days)}")
        return {"name": "n", "start_date": "2033-01-01 10:00", "hosts": self.planned[-1:], "vcpus": 1, "memory_mb": 1}

    def arrival(self) -> dict[str, Any]:
        """Say that the host that was planned last is there."""
        return {"hosts": {self.planned[-1]: self.new_host()["name"]}}

    def offer(self) -> str:
        """Return a new offer; those before it are given up, because a project may have few."""
        owner = self.owner.but(version="1.3")
        for each in owner.ask("GET", "/v1/offers").json["offers"]:
            owner.ask("DELETE", f"/v1/offers/{each['id']}")
        return str(owner.ask("POST", "/v1/offers", LEASE).json["offer"]["id"])

    def on_owned_host(self) -> str:
        """Return a lease of another project, on a day of its own, on a host of `demo`."""
        tenant = replace(self, owner=self.admin.but(project="alt"))
        return tenant.of_lease_with(hosts(1, resource_properties=f'["==", "$id", "{self.owned_host()}"]'))["lease_id"]

    def owned_host(self) -> str:
        if not self.owned:
            said = {**self.new_host(), "projects": ["alt"], "owner": "demo"}
            self.owned = self.admin.but(version="1.3").ask("POST", "/v1/os-hosts", said).json["host"]["id"]
        return self.owned

    def new_publication(self) -> dict[str, Any]:
        """Return an offer, on days of its own, of a host of `demo`."""
        start = NOW + timedelta(days=2 * next(self.days))
        dates = {"start_date": f"{start:%Y-%m-%d %H:%M}", "end_date": f"{start + timedelta(hours=1):%Y-%m-%d %H:%M}"}
        return {"name": "lent", **dates, "resource_type": "physical:host", "resource_id": self.owned_host()}

    def of_lease(self, route: Route) -> dict[str, str]:
        if route.path.endswith("/swap"):
            return {"lease_id": self.active()}
        if "/sub-leases" in route.path or route.path.endswith("/published-offers"):
            return self.of_lender(lent="sub_lease_id" in route.path)
        if route.path.endswith("/heal"):
            return {"lease_id": self.broken()}
        if "resource_id" in route.path:
            return self.of_two_addresses()
        if "reservation_id" in route.path:
            return self.of_lease_with(instances(), instances())
        return {"lease_id": self.owner.ask("POST", "/v1/leases", LEASE).json["lease"]["id"]}

    def of_two_addresses(self) -> dict[str, str]:
        """Return the ids of a lease of two addresses, of its reservation, and of one of the addresses."""
        while len(self.enrolled) < 2:
            made = self.admin.ask("POST", "/v1/floatingips", self.new_address()).json["floatingip"]
            self.enrolled.append(made["id"])
        return {**self.of_lease_with(floating_ips(2)), "resource_id": self.enrolled[0]}

    def of_lease_with(self, *parts: dict[str, Any]) -> dict[str, str]:
        """Return the ids of a lease with these reservations, on a day of its own, and of the first of them."""
        start = NOW + timedelta(days=next(self.days))
        dates = {"start_date": f"{start:%Y-%m-%d %H:%M}", "end_date": f"{start + timedelta(hours=1):%Y-%m-%d %H:%M}"}
        body = {"name": "two", **dates, "reservations": parts}
        answer = self.owner.ask("POST", "/v1/leases", body)
        assert answer.status_code == 201, answer.text
        made = answer.json["lease"]
        return {"lease_id": made["id"], "reservation_id": made["reservations"][0]["id"]}

    def active(self) -> str:
        """Return an active lease of a host with a server, beside a free host; the lease before it is gone."""
        inside = World(self.service, cast("SandboxCloud", self.service.cloud), Clock(NOW), self.service.db.engine)
        if self.server:
            (before,) = self.owner.ask("GET", "/v1/leases").json["leases"]
            self.owner.ask("DELETE", f"/v1/leases/{before['id']}")
            run_manager(inside)
        else:
            self.admin.ask("POST", "/v1/os-hosts", self.new_host())
        begun = {**LEASE, "start_date": "now", "reservations": [hosts()]}
        made = self.owner.ask("POST", "/v1/leases", begun).json["lease"]
        run_manager(inside)
        self.server = inside.boot(queries.get_lease(self.service, made["id"])).id
        return str(made["id"])

    def of_lender(self, *, lent: bool) -> dict[str, str]:
        """Return the ids of an active lease of a host that nothing uses, and of a sub-lease if it is `lent`."""
        lease = self.active()
        self.service.cloud.servers.delete(self.server)
        if not lent:
            return {"lease_id": lease}
        made = self.admin.ask("POST", f"/v1/leases/{lease}/sub-leases", LENDING, headers=V1_3)
        return {"lease_id": lease, "sub_lease_id": made.json["sub_lease"]["id"]}

    def broken(self) -> str:
        """Return an active lease that keeps a failed host, beside a free host; the lease before it is gone."""
        settings = replace(self.service.settings.manager, failure_grace_seconds=0)
        at_once = replace(self.service, settings=replace(self.service.settings, manager=settings))
        inside = World(at_once, cast("SandboxCloud", self.service.cloud), Clock(NOW), self.service.db.engine)
        for each in inside.listed():
            inside.recover(each.label)
        lease = self.active()
        self.owner.ask("PUT", f"/v1/leases/{lease}", {"heal_policy": "never"}, headers=V1_2)
        (name,) = inside.holds(queries.get_lease(self.service, lease))
        inside.fail(name)
        return lease

    def new_host(self) -> dict[str, str]:
        return {"name": next(self.hosts)}

    def new_window(self) -> dict[str, Any]:
        host = self.admin.ask("POST", "/v1/os-hosts", self.new_host()).json["host"]["id"]
        return {**LEASE, "hosts": [host]}

    def new_address(self) -> dict[str, str]:
        return {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": next(self.addresses)}

    def dump(self) -> Any:
        return dump(self.service.db.engine)


BODIES: Mapping[tuple[str, str], Callable[[Site], Any]] = {
    ("POST", "/v1/leases"): lambda _: LEASE,
    ("PUT", "/v1/leases/{lease_id}"): lambda _: {"name": "changed"},
    ("POST", "/v1/leases/{lease_id}/sub-leases"): lambda _: LENDING,
    ("POST", "/v1/leases/{lease_id}/published-offers"): lambda _: {"name": "part", "amount": 1},
    ("POST", "/v1/leases/{lease_id}/swap"): lambda site: {"server": site.server, "servers": [site.server]},
    ("POST", "/v1/os-hosts"): Site.new_host,
    ("PUT", "/v1/os-hosts/{host_id}"): lambda _: {"rack": "b2"},
    ("PUT", "/v1/power/hosts/{host_id}"): lambda site: {**MACHINE, "address": f"node-{next(site.days)}"},
    ("PATCH", "/v1/os-hosts/properties/{name}"): lambda _: {"private": True},
    ("POST", "/v1/floatingips"): Site.new_address,
    ("POST", "/v1/maintenances"): Site.new_window,
    ("POST", "/v1/capacity/increases"): Site.new_increase,
    ("POST", "/v1/capacity/decreases"): Site.new_window,
    ("POST", "/v1/capacity/reserves"): lambda _: {"name": "spare", "amount": 1},
    ("PUT", "/v1/capacity/changes/{change_id}"): lambda _: {"promise": False},
    ("POST", "/v1/capacity/changes/{change_id}/arrived"): Site.arrival,
    ("POST", "/v1/resources/{resource_type}"): Site.new_host,
    ("PUT", "/v1/resources/{resource_type}/{resource_id}"): lambda _: {"properties": {"rack": "b2"}},
    ("PATCH", "/v1/resources/{resource_type}/properties/{name}"): lambda _: {"private": True},
    ("POST", "/v1/subscriptions"): lambda _: HOOK,
    ("POST", "/v1/budgets"): Site.new_budget,
    ("POST", "/v1/charges/corrections"): Site.correction,
    ("PUT", "/v1/budgets/{budget_id}"): lambda _: {"amount": "12"},
    ("POST", "/v1/alarms"): lambda _: WATCH,
    ("POST", "/v1/fillers"): Site.new_filler,
    ("POST", "/v1/series"): lambda _: SERIES,
    ("POST", "/v1/flexible-leases"): lambda _: FLEXIBLE,
    ("PUT", "/v1/flexible-leases/{flexible_id}"): lambda _: {"latest": "2031-05-08 11:00"},
    ("POST", "/v1/offers"): lambda _: LEASE,
    ("POST", "/v1/published-offers"): Site.new_publication,
    ("POST", "/v1/published-offers/{published_id}/claims"): lambda _: {"name": "mine"},
    ("POST", "/v1/feeds"): lambda _: {},
    ("POST", "/v1/lease-templates"): lambda _: {"name": str(uuid4())},
    ("PUT", "/v1/lease-templates/{template_id}"): lambda _: {"description": "changed"},
    ("POST", "/v1/availability/search"): lambda _: {"reservations": [hosts()], "duration_seconds": 60},
    ("POST", "/v1/regions/availability/search"): lambda _: {"reservations": [hosts()], "duration_seconds": 60},
    ("PUT", "/v1/series/{series_id}"): lambda _: {"name": "changed"},
    ("POST", "/v1/subscriptions/{subscription_id}/replay"): lambda _: {},
}
"""The body of each request that has one; it is valid, so an allowed request succeeds."""


@pytest.fixture
def service(service: Service) -> Service:
    """Return the service of the other tests, where machines of one class can be switched."""
    return replace(service, settings=service.settings.having(PowerSettings(classes=(MachineClass("box"),))))


@pytest.fixture
def site(service: Service, client: Client, admin: Client) -> Site:
    made = Site(service, admin, client)
    assert admin.ask("POST", "/v1/os-hosts", {**made.new_host(), "rack": "a1"}).status_code == 201
    return made


@pytest.fixture(scope="module")
def policies() -> Policies:
    return Policies(PolicySettings(), list_rules())


def key(route: Route) -> tuple[str, str]:
    return route.method, route.path


OWNED = (
    "lease_id",
    "series_id",
    "subscription_id",
    "alarm_id",
    "budget_id",
    "offer_id",
    "feed_id",
    "template_id",
    "flexible_id",
    "filler_id",
)


def is_owned(route: Route) -> bool:
    return any(name in route.path for name in OWNED)


def allows(rule: str, roles: str, *, inside: bool) -> bool:
    """Return the answer of the table."""
    let = EXPECTED[rule].inside if inside else EXPECTED[rule].outside
    return bool(let & set(roles.split(",")))


def denied_by(route: Route, roles: str, *, inside: bool) -> str | None:
    """Return the rule that refuses according to the table; None if the request is allowed."""
    return next((rule.name for rule in route.rules if not allows(rule.name, roles, inside=inside)), None)


def overridden(folder: Path, text: str) -> PolicySettings:
    """Return the settings with an operator's policy file of this content."""
    path = folder / "policy.yaml"
    path.write_text(text, encoding="utf-8")
    return PolicySettings(file=str(path))


# ---------------------------------------------------------------- the defaults


def test_the_table_names_every_rule_and_every_route() -> None:
    rules = {rule.name: rule for rule in list_rules()}
    assert rules.keys() == EXPECTED.keys() | {part.name for part in PARTS}
    assert all(rules[name].scope_types == ["project"] for name in EXPECTED)
    assert {rule.name for route in ROUTES for rule in route.rules} == EXPECTED.keys() - WITHIN
    assert {rule.name for route in ROUTES for rule in route.within} >= WITHIN
    assert {key(route) for route in ROUTES if route.public} == PUBLIC
    assert {key(route) for route in ROUTES if not route.public and not route.rules} == UNRULED
    assert {key(route) for route in ROUTES if route.request is not None} == set(BODIES)


@pytest.mark.parametrize("rule", EXPECTED)
def test_9_defaults(policies: Policies, rule: str) -> None:
    for roles in ROLES:
        for project in ("p1", "p2"):
            # Only authentication adds the role `reader` to `member`.
            mine = frozenset(roles.split(",")) | ({"reader"} if "member" in roles else set())
            allowed = policies.allows(NAMED[rule], Caller("somebody", project, mine), OWNER)
            assert allowed == allows(rule, roles, inside=project == "p1"), (roles, project)


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_the_matrix(site: Site, route: Route) -> None:
    """An allowed caller gets the route's success status; any other gets a 403 with the rule, and no row changes.

    The 403 precedes all other checks, so it reveals neither whether a resource exists nor if the body is valid. Only
    leases, series, subscriptions, alarms, budgets, offers, feeds, templates and fillers have an owner; for all others a
    rule is checked against the caller's own project.
    """
    make: Callable[[Site], Any] = BODIES.get(key(route), lambda _: None)
    path, body = site.path(route), make(site)
    unknown = path if is_owned(route) else route.path.format_map(dict.fromkeys(IDS, "unknown"))
    caller = site.owner.but(user="somebody", version=str(route.since))
    before = site.dump()
    allowed = []
    for project in ("demo", "other"):
        for roles in ROLES:
            somebody = caller.but(project=project, roles=roles)
            rule = denied_by(route, roles, inside=project == "demo" or not is_owned(route))
            if rule is None:
                allowed.append(somebody)
                continue
            for answer in (
                somebody.ask(route.method, path, body),
                somebody.ask(route.method, unknown, content=b"nonsense"),
            ):
                assert answer.status_code == 403, (project, roles, answer.text)
                assert (answer.json["error_code"], answer.json["details"]) == (403, {"rule": rule})
                assert f"Policy {rule} " in answer.json["error_message"]
    assert site.dump() == before
    assert allowed
    for somebody in allowed:
        answer = somebody.ask(route.method, path, body)
        if (
            key(route) in FOR_OWNERS
            and somebody.project != "demo"
            and not ("admin" in somebody.roles.split(",") and "published" in route.path)
        ):
            assert answer.status_code == 404
            continue
        assert answer.status_code == route.success, (somebody.project, somebody.roles, answer.text)
        if route.method in ("POST", "DELETE"):
            path, body = site.path(route), make(site)


@pytest.mark.parametrize(
    "route", [each for each in ROUTES if is_owned(each)], ids=lambda route: f"{route.method} {route.path}"
)
def test_what_nobody_owns_is_not_found(client: Client, route: Route) -> None:
    """The rule beside that of the matrix: an id that there is not is a 404, whatever the role and the body."""
    ids = {name: str(uuid4()) for name in (*OWNED, *IDS, "reservation_id", "sub_lease_id")}
    for roles in ROLES:
        asked = client.but(roles=roles, version=str(route.since))
        assert asked.ask(route.method, route.path.format_map(ids), content=b"nonsense").status_code == 404, roles


FOR_OWNERS = {
    ("DELETE", "/v1/owned-leases/{owned_id}"),
    ("POST", "/v1/published-offers"),
    ("DELETE", "/v1/published-offers/{published_id}"),
}
"""Requests about what `demo` owns: for others it is not there; administrators publish for it."""
IDS = (
    "owned_id",
    "published_id",
    "host_id",
    "maintenance_id",
    "change_id",
    "floatingip_id",
    "name",
    "resource_type",
    "resource_id",
    "token",
)


@pytest.mark.parametrize("roles", ROLES)
def test_5_2_a_list_shows_the_leases_of_ones_own_project_alone(site: Site, roles: str) -> None:
    """Only administrators see the leases of all projects."""
    for project in ("demo", "other", "third"):
        site.admin.but(project=project).ask("POST", "/v1/leases", LEASE)
    for project in ("demo", "other", "fourth"):
        answer = site.owner.but(project=project, roles=roles).ask("GET", "/v1/leases")
        if not allows("blazar:leases:get", roles, inside=True):
            assert answer.status_code == 403
            continue
        shown = {lease["project_id"] for lease in answer.json["leases"]}
        all_of_them = {"demo", "other", "third"}
        assert shown == (all_of_them if roles == "admin" else all_of_them & {project})


# ---------------------------------------------------------------- whose a lease is


@pytest.mark.parametrize("roles", ["member,reader", "service,reader"])
def test_a_reservation_of_another_project_is_out_of_reach_through_ones_own_lease(site: Site, roles: str) -> None:
    """The path selects the lease; a reservation id in the body that is not of that lease is unknown."""
    properties = {"hypervisor_properties": "", "resource_properties": ""}
    asked = {"resource_type": "physical:host", "min": 1, "max": 1, **properties}
    theirs = site.owner.ask("POST", "/v1/leases", {**LEASE, "reservations": [asked]}).json["lease"]
    stranger = site.owner.but(user="bob", project="other", roles="member,reader")
    mine = stranger.ask("POST", "/v1/leases", LEASE).json["lease"]
    body = {"reservations": [{"id": theirs["reservations"][0]["id"], "min": 1, "max": 2}]}
    before = site.dump()
    answer = stranger.but(roles=roles).ask("PUT", f"/v1/leases/{mine['id']}", body)
    assert answer.status_code == (400 if "member" in roles else 403)
    # An update cannot change the owner of a lease, neither by its body nor by its headers.
    claim = {"name": "x", "project_id": "other", "user_id": "bob", "id": mine["id"], "status": "TERMINATED"}
    assert stranger.but(roles=roles).ask("PUT", f"/v1/leases/{theirs['id']}", claim).status_code == 403
    assert site.dump() == before


def test_no_key_of_a_body_says_whose_a_lease_is_or_how_it_stands(site: Site) -> None:
    """The API stores neither unknown keys nor fields that callers must not set."""
    claim = {
        "id": "11111111-1111-4111-8111-111111111111",
        **dict.fromkeys(("project_id", "user_id", "trust_id", "leasehold_secret"), "victim"),
        "status": "ACTIVE",
        "degraded": True,
        "generation": 99,
        "created_at": "2000-01-01 00:00:00",
    }
    made = site.owner.ask("POST", "/v1/leases", {**LEASE, **claim}).json["lease"]
    assert (made["project_id"], made["user_id"], made["status"]) == ("demo", "alice", "PENDING")
    assert made["id"] != claim["id"]
    assert not made["degraded"]
    changed = site.owner.ask("PUT", f"/v1/leases/{made['id']}", {**claim, "name": "m"}).json["lease"]
    assert {**changed, "updated_at": None} == {**made, "name": "m", "updated_at": None}
    assert not {"leasehold_secret", "victim"} & set(repr(site.dump()).replace("'", " ").split())


def test_an_idempotency_key_of_another_project_tells_nothing(site: Site) -> None:
    headers = {"Idempotency-Key": "the-same-key"}
    theirs = site.owner.ask("POST", "/v1/leases", LEASE, headers=headers).json["lease"]
    stranger = site.owner.but(user="bob", project="other")
    for body in (LEASE, {**LEASE, "name": "another"}):
        assert theirs["id"] not in stranger.ask("POST", "/v1/leases", body, headers=headers).text
    (mine,) = stranger.ask("GET", "/v1/leases").json["leases"]
    assert (mine["project_id"], mine["user_id"]) == ("other", "bob")


# ---------------------------------------------------------------- an operator's rules


def test_9_the_deprecated_defaults_count_when_asked_for() -> None:
    old = Policies(PolicySettings(new_defaults=False), list_rules())
    anybody = Caller("somebody", "p1")
    assert old.allows(NAMED["blazar:leases:delete"], anybody, OWNER)
    assert not old.allows(NAMED["blazar:leases:delete"], replace(anybody, project_id="p2"), OWNER)
    assert not old.allows(NAMED["blazar:oshosts:get"], anybody, OWNER)


def test_9_an_unknown_rule_lets_nobody(policies: Policies) -> None:
    assert not policies.allows(Rule("blazar:nonsense:get", "", ""), Caller("root", "p1", frozenset({"admin"})), OWNER)


@pytest.mark.parametrize(
    ("check", "allowed"),
    [
        ("role:auditor", True),
        ("project_id:%(project_id)s and 'owner':%(user_id)s", True),
        ("user_id:%(user_id)s", False),
        ("user_domain_id:here and project_domain_id:there", True),
        ("user_domain_id:there", False),
        ("is_admin_project:True", False),
        ("service_roles:service", True),
        ("service_roles:Service or service_roles:admin", False),
        ("service_user_id:nova and service_project_id:service", True),
        ("system_scope:all or domain_id:here or is_admin:True", False),
    ],
)
def test_9_what_an_operators_rule_may_ask_about(tmp_path: Path, check: str, *, allowed: bool) -> None:
    """A rule of the operator's file replaces the default; the other rules stay."""
    policies = Policies(overridden(tmp_path, f'"blazar:leases:get": "{check}"\n'), list_rules())
    service = Caller("nova", "service", frozenset({"service"}))
    roles = frozenset({"auditor", "reader"})
    asks = Caller("u", "p1", roles, "here", "there", is_admin_project=False, service=service)
    assert policies.allows(NAMED["blazar:leases:get"], asks, OWNER) == allowed
    assert not policies.allows(NAMED["blazar:oshosts:post"], asks, OWNER)


def test_9_the_rules_are_there_for_the_tools_of_oslo_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leasehold.conf").write_text("", encoding="utf-8")
    overridden(tmp_path, '"admin": "role:boss"\n')
    assert get_enforcer().enforce("blazar:oshosts:get", {}, {"roles": ["boss"]})
    assert not get_enforcer().enforce("blazar:oshosts:get", {}, {"roles": ["admin"]})


@pytest.mark.parametrize("check", ['"rule:nonsense"', '"rule:blazar:leases:get"', "]["])
def test_9_an_operators_file_that_makes_no_sense_ends_the_start(tmp_path: Path, check: str) -> None:
    with pytest.raises(ConfigurationError, match=r"policy\.yaml"):
        Policies(overridden(tmp_path, f'"blazar:leases:get": {check}'), list_rules())


def test_5_2_put_and_delete_are_checked_against_the_owner(site: Site, settings: ApiSettings, tmp_path: Path) -> None:
    """Relaxing `leases:get` must not let everyone amend: upstream checks `put` against the caller's own project."""
    relaxed = replace(settings, policy=overridden(tmp_path, '"blazar:leases:get": "@"\n'))
    owner = site.owner.but(web=LocalClient(make_app(site.service, relaxed)))
    lease = f"/v1/leases/{owner.ask('POST', '/v1/leases', LEASE).json['lease']['id']}"
    stranger = owner.but(project="other")
    assert stranger.ask("GET", lease).status_code == 200
    assert "blazar:leases:put" in stranger.ask("PUT", lease, {"name": "mine"}).json["error_message"]
    assert "blazar:leases:delete" in stranger.ask("DELETE", lease).json["error_message"]
    assert owner.ask("DELETE", lease).status_code == 204
