"""Contract http-api §5 to §7, clients §2: the objects of every route, and the OpenAPI document that describes them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from leasehold.cloud.sandbox.seed import NETWORK_ID, SUGGESTED_FLOATING_IPS
from leasehold.cmd.web import ROUTES
from leasehold.features.template.model import KEYS
from leasehold.leasing.reading.event_log import sequence_events
from tests.factory import hosts, instances
from tests.release.distributions import declared

if TYPE_CHECKING:
    from falcon import testing

    from leasehold.leasing.service import Service
    from tests.api.conftest import Client

WIRE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}")
RECORD = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
OPTIONAL = (str, type(None))
COUNT = (int, type(None))
NEWER = {
    "heal_policy": str,
    "at_risk": bool,
    "reminder_seconds": (str, list),
    "type": str,
    "deadline": OPTIONAL,
    "retries": COUNT,
    "retry_seconds": COUNT,
    "tried": COUNT,
}
"""What leases show from microversion 1.2 on."""
OCCURRENCE = {
    "start_date": str,
    "end_date": str,
    "planned": (dict, type(None)),
    "lease_id": OPTIONAL,
    "status": OPTIONAL,
    "refused": (dict, type(None)),
}
SERIES = {
    **dict.fromkeys(("id", "name", "project_id", "user_id", "rule", "time_zone", "created_at"), str),
    "updated_at": OPTIONAL,
    "occurrences": list,
}
FLEXIBLE = {
    **dict.fromkeys(("id", "state", "earliest", "latest", "strategy", "time_zone", "frozen_at"), str),
    **dict.fromkeys(("duration_seconds", "frozen_seconds", "moves"), int),
    **dict.fromkeys(("hours", "pieces"), list),
    "moved_at": OPTIONAL,
    "lease": dict,
}
OFFER = {**dict.fromkeys(("id", "state", "expires_at"), str), "lease": dict}
MADE: dict[str, Any] = {"id": str, "created_at": OPTIONAL, "updated_at": OPTIONAL}
EVENT = {**MADE, "lease_id": str, "event_type": str, "time": OPTIONAL, "status": OPTIONAL}
RESERVATION = {
    **MADE,
    "lease_id": str,
    "resource_id": str,
    "resource_type": str,
    "status": str,
    "missing_resources": bool,
    "resources_changed": bool,
    "min": int,
    "max": int,
    "hypervisor_properties": str,
    "resource_properties": str,
    "before_end": str,
}
ENDING = {
    "on_end": str,
    "grace_seconds": int,
    "recycle_seconds": int,
    "images": list,
    "shelved": list,
    "no_show_seconds": int,
}
"""What reservations of hosts show from microversion 1.2 on."""
NEWEST = {
    "suspended": list,
    "default_properties": str | None,
    "default_properties_applied": bool | None,
    **dict.fromkeys(("together", "apart"), type(None)),
}
"""What they show from 1.3 on."""
LEASE = {
    **MADE,
    "name": str,
    "user_id": str,
    "project_id": str,
    "trust_id": type(None),
    "status": str,
    "start_date": str,
    "end_date": str,
    "degraded": bool,
    "reservations": list,
    "events": list,
}
WINDOW = {
    **MADE,
    **dict.fromkeys(("name", "user_id", "project_id", "start_date", "end_date", "status"), str),
    **dict.fromkeys(("hosts", "moved", "warned"), list),
}
FLAG = {"disabled": bool, "disabled_reason": type(None)}
POOL = {"pool": str, "pool_reason": type(None), "held_for": type(None)}
"""What hosts and addresses have from 1.2 on, and resources."""
RESTRICTION = {"projects": type(None), "owner": type(None)}
"""What they have from 1.3 on."""
HOST = {
    **MADE,
    "hypervisor_hostname": str,
    "hypervisor_type": str,
    "hypervisor_version": int,
    "service_name": str,
    "vcpus": int,
    "cpu_info": str,
    "memory_mb": int,
    "local_gb": int,
    "availability_zone": OPTIONAL,
    "reservable": bool,
    "status": type(None),
    "trust_id": type(None),
    "rack": str,
}
ADDRESS = {
    **MADE,
    "floating_network_id": str,
    "subnet_id": str,
    "floating_ip_address": str,
    "reservable": bool,
}
RESOURCE = {
    **MADE,
    "resource_type": str,
    "name": str,
    "attributes": dict,
    "properties": dict,
    "capacity": dict,
    "traits": list,
    "reservable": bool,
    "health": str,
    **FLAG,
    **POOL,
}
HOLDING = {
    **dict.fromkeys(("id", "name", "resource_type", "health", "start_date", "end_date"), str),
    **dict.fromkeys(("left", "substitute"), bool),
    "slots": int,
    "demand": type(None),
    **dict.fromkeys(("capacity", "attributes", "properties"), dict),
}
LOG_EVENT = {
    "id": str,
    "position": int,
    "type": str,
    "time": str,
    "project_id": str,
    "lease_id": str,
    "resource_type": type(None),
    "resource_id": type(None),
    "payload": dict,
}
SUBSCRIPTION = {
    **dict.fromkeys(("id", "project_id", "user_id", "channel", "target", "status", "created_at"), str),
    **dict.fromkeys(("lease_id", "failing_since", "next_try", "last_error"), type(None)),
    "event_types": list,
    **dict.fromkeys(("all_projects", "own"), bool),
    **dict.fromkeys(("position", "failures"), int),
}
ALARM = {
    **dict.fromkeys(("id", "name", "project_id", "user_id", "state", "reason", "created_at"), str),
    **dict.fromkeys(("available", "changed_at", "checked_at"), type(None)),
    **dict.fromkeys(("below", "duration"), int),
    "reservation": dict,
}
FILLER = {
    **dict.fromkeys(("id", "name", "project_id", "user_id", "state", "created_at"), str),
    **dict.fromkeys(("end_date", "guaranteed_until", "ended_at"), type(None)),
    "reservation": dict,
    "at_least": int,
    "hosts": list,
}
OF_CALENDARS = "/v1/feeds/{token}.ics"
TEMPLATE = {
    *("id", "name", "description", "public", "project_id", "user_id", "created_at", "updated_at"),
    *KEYS,
}
FEED = {**dict.fromkeys(("id", "name", "project_id", "user_id", "created_at"), str), "own": bool}
OWNED = {
    **dict.fromkeys(("id", "resource_type", "name", "owner", "health"), str),
    "projects": list,
    "capacity": dict,
    "reservable": bool,
}
PUBLISHED = {
    **dict.fromkeys(("id", "name", "status", "resource_type", "resource_id", "resource_name"), str),
    **dict.fromkeys(("project_id", "user_id", "start_date", "end_date", "created_at"), str),
    "capacity": dict,
    "notice_seconds": int,
    **dict.fromkeys(("for_project_id", "lease_id", "amount", "left"), type(None)),
}
DEFINITION = {**MADE, "resource_type": str, "property_name": str, "private": bool}
"""Of each object every key, with the type of its values."""


def check_fields(shown: dict[str, Any], fields: dict[str, Any]) -> None:
    assert shown.keys() == fields.keys()
    assert [name for name, kind in fields.items() if not isinstance(shown[name], kind)] == []


@dataclass(frozen=True)
class Collection:
    """A collection: its path, the variable of its paths and the key of its answers, what is made, and a change."""

    path: str
    variable: str
    one: str
    body: dict[str, Any]
    fields: dict[str, Any]
    change: dict[str, Any] | None = None
    ids: dict[str, Any] = field(default_factory=dict)


NEW_LEASE = {
    "name": "n",
    "start_date": "2031-05-01 10:00",
    "end_date": "2031-05-01 12:00",
    "events": [{"event_type": "notify"}],
    "reservations": [hosts()],
}
NEW_HOST = {"name": "cmp-01", "rack": "r7"}
NEW_ADDRESS = {"floating_network_id": NETWORK_ID, "floating_ip_address": SUGGESTED_FLOATING_IPS[0]}
TYPE = "/v1/resources/{resource_type}"
NEW_RESOURCE = {"name": "cmp-01", "properties": {"rack": 7}}
CHANGED_RESOURCE = {"properties": {"rack": None, "row": "b"}}
LEASES = Collection("/v1/leases", "lease_id", "lease", NEW_LEASE, LEASE, {"name": "x"})
V1 = [
    Collection("/v1/os-hosts", "host_id", "host", NEW_HOST, HOST, {"rack": "r8"}),
    Collection("/v1/floatingips", "floatingip_id", "floatingip", NEW_ADDRESS, ADDRESS),
]
PUBLIC = ("/", "/versions", "/healthcheck", "/v1/openapi.json")
V1_2 = [
    Collection(TYPE, "resource_id", "resource", body, RESOURCE, CHANGED_RESOURCE, {"resource_type": name})
    for name, body in (
        ("physical:host", NEW_RESOURCE),
        ("virtual:floatingip", {**NEW_ADDRESS, "properties": {"rack": 7}}),
    )
]


@dataclass
class Walk:
    """An administrator whose every answer is checked against the document."""

    caller: Client
    document: dict[str, Any]
    asked: set[tuple[str, str]] = field(default_factory=set)

    def ask(self, method: str, path: str, body: Any = None, query: str = "", status: int = 200, **words: Any) -> Any:
        """Send a request, check the answer's status and that the document allows it, and return its body."""
        answer = self.caller.ask(method, path.format(**words), body, query_string=query)
        assert answer.status_code == status, answer.text
        self.asked.add((method, path))
        self.check(answer, method, path)
        return answer.json if answer.headers.get("content-type") == "application/json" else None

    def check(self, answer: testing.Result, method: str, path: str) -> None:
        responses = self.document["paths"][path][method.lower()]["responses"]
        status = str(answer.status_code)
        response = responses.get(status) or responses[f"{status[0]}XX"]
        (media_type,) = response.get("content", {"": {}})
        if media_type not in ("", "application/json"):
            assert (answer.headers["content-type"], bool(answer.text)) == (media_type, True)
            return
        if "content" not in response:
            assert answer.content == b""
            assert "content-type" not in answer.headers
            return
        schema = {**response["content"]["application/json"]["schema"], "components": self.document["components"]}
        Draft202012Validator(schema).validate(answer.json)

    def make(self, kind: Collection) -> dict[str, Any]:
        """Make a member of a collection; it is shown and listed with the same fields."""
        made = self.ask("POST", kind.path, kind.body, status=201, **kind.ids)[kind.one]
        newer: dict[str, Any] = {"status_reason": OPTIONAL} if kind is LEASES and self.caller.version != "1.0" else {}
        if (self.caller.version or "") >= "1.2":
            newer |= NEWER if kind is LEASES else FLAG if kind in V1 else {}
            newer |= POOL if kind.one == "host" else {}
        if (self.caller.version or "") >= "1.3":
            newer |= RESTRICTION if kind.one in {"host", "floatingip", "resource"} else {}
            newest = {"open_ended": bool, "shared_with": list, "published_offer": type(None), "parent_id": OPTIONAL}
            newest |= {"notice_seconds": int, "taken_back_at": OPTIONAL}
            newer |= newest if kind is LEASES else {}
        check_fields(made, kind.fields | newer)
        ids: dict[str, Any] = {**kind.ids, kind.variable: made["id"]}
        shown = self.ask("GET", f"{kind.path}/{{{kind.variable}}}", **ids)[kind.one]
        assert RECORD.fullmatch(shown["created_at"])
        # Of floating IPs alone v1 shows the date of the creation in another format at first (contract http-api §7).
        assert (WIRE if kind.one == "floatingip" else RECORD).fullmatch(made["created_at"])
        assert {**made, "created_at": shown["created_at"]} == shown
        assert self.ask("GET", kind.path, **kind.ids) == {f"{kind.one}s": [shown]}
        return dict(shown)

    def change_and_remove(self, kind: Collection, ident: str) -> None:
        """Change a member, unless the collection allows no change, and remove it."""
        one = f"{kind.path}/{{{kind.variable}}}"
        ids: dict[str, Any] = {**kind.ids, kind.variable: ident}
        if kind.change is not None:
            changed = self.ask("PUT", one, kind.change, **ids)
            assert self.ask("GET", one, **ids) == changed
            if "properties" in kind.change:
                assert changed[kind.one]["properties"] == {"row": "b"}
            else:
                assert changed[kind.one].items() >= kind.change.items()
        self.ask("DELETE", one, status=204, **ids)
        self.ask("GET", one, status=404, **ids)

    def properties(self, path: str, **ids: Any) -> None:
        """List the properties of a type, and change one: `rack`."""
        assert self.ask("GET", path, **ids) == {"resource_properties": [{"property": "rack"}]}
        (shown,) = self.ask("GET", path, query="detail=1", **ids)["resource_properties"]
        assert (shown["private"], shown["values"]) in ((False, ["r7"]), (False, ["7"]))
        definition = self.ask("PATCH", f"{path}/{{name}}", {"private": False}, name="rack", **ids)["resource_property"]
        check_fields(definition, DEFINITION)
        assert (definition["property_name"], definition["private"]) == ("rack", False)


@pytest.fixture
def document(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = client.web.simulate_get("/v1/openapi.json").json
    return found


def test_every_route_is_described_once(document: dict[str, Any]) -> None:
    described = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert described == {(route.method, route.path) for route in ROUTES}
    ids = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(ids) == len(set(ids))
    assert {"lease_show", "alarm_show", "lease_history_show", "region_search", "resource_show_of_type"} <= set(ids)


def test_the_version_is_that_of_the_release(document: dict[str, Any]) -> None:
    assert document["info"]["version"] == declared("leasehold")["version"]


def test_every_schema_is_one(document: dict[str, Any]) -> None:
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_reservations_are_described_by_their_types(document: dict[str, Any]) -> None:
    variants = document["components"]["schemas"]["ReservationRequest"]["anyOf"]
    kinds = {each["allOf"][1]["properties"]["resource_type"]["const"] for each in variants}
    assert kinds == {"physical:host", "virtual:instance", "flavor:instance", "virtual:floatingip"}


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3"])
def test_every_answer_is_described(admin: Client, service: Service, document: dict[str, Any], version: str) -> None:
    """Each route's answer has the fields that clients read, each of its type, and matches the document."""
    walk = Walk(admin.but(version=version), document)
    for path in PUBLIC:
        walk.ask("GET", path, status=300 if path in {"/", "/versions"} else 200)
    host, address = map(walk.make, V1)
    assert (host["id"], host["rack"], json.loads(host["cpu_info"])["arch"]) == ("1", "r7", "x86_64")
    assert address.items() >= NEW_ADDRESS.items()
    lease = walk.make(LEASES)
    newest = NEWEST if version >= "1.3" else {}
    check_lease(lease, RESERVATION | (ENDING if version >= "1.2" else {}) | newest)
    (found,) = walk.ask("GET", "/v1/os-hosts/allocations")["allocations"]
    entry = {"id": lease["reservations"][0]["id"], "lease_id": lease["id"]}
    dates = {"start_date": "2031-05-01T10:00:00.000000", "end_date": "2031-05-01T12:00:00.000000"}
    assert found == {"resource_id": "1", "reservations": [{**entry, **dates}]}
    assert walk.ask("GET", "/v1/os-hosts/{host_id}/allocation", host_id="1") == {"allocation": found}
    walk.properties("/v1/os-hosts/properties")
    for kind, shown in zip((LEASES, *V1), (lease, host, address), strict=True):
        walk.change_and_remove(kind, shown["id"])
    if version >= "1.2":
        walk_swap(walk, version)
        sequence_events(service)
        walk_resources(walk)
    if version >= "1.3":
        walk_availability(walk)
        past = walk.ask("GET", "/v1/leases/{lease_id}/history", lease_id=lease["id"])
        assert (past["changes"][0]["type"], past["changes"][-1]["type"]) == ("lease.create", "lease.delete")
        walk_drop(walk)
        walk_offers(walk)
        walk_flexible(walk)
        walk_feeds(walk)
        walk_templates(walk)
        walk_fillers(walk)
        walk_budgets(walk)
        walk_owned(walk)
        walk_operators(walk)
    # Calendar programs ask for no microversion, so it is there at each.
    walk.ask("GET", OF_CALENDARS, status=404, token="none-such")
    routes = {(route.method, route.path) for route in ROUTES if str(route.since) <= version}
    assert walk.asked == routes
    # Errors of each shape.
    walk.ask("POST", "/v1/leases", {}, status=400)
    walk.ask("POST", "/v1/leases", [], status=400)
    walk.ask("POST", "/v1/leases", {**NEW_LEASE, "reservations": [hosts(9)]}, status=409)


def check_lease(lease: dict[str, Any], fields: dict[str, Any]) -> None:
    """Check a lease of a host with an event of its client; `fields` are those of its reservation."""
    assert (lease["user_id"], lease["project_id"], lease["degraded"]) == ("admin", "demo", False)
    assert (lease["start_date"], lease["end_date"]) == ("2031-05-01T10:00:00.000000", "2031-05-01T12:00:00.000000")
    (reservation,) = lease["reservations"]
    check_fields(reservation, fields)
    times = {event["event_type"]: event["time"] for event in lease["events"]}
    assert times.keys() == {"start_lease", "before_end_lease", "end_lease", "notify"}
    assert [kind for kind, time in times.items() if time is None or not WIRE.fullmatch(time)] == ["notify"]
    for part in (reservation, *lease["events"]):
        assert part["lease_id"] == lease["id"]
    for event in lease["events"]:
        check_fields(event, EVENT)


def walk_subscriptions(walk: Walk) -> None:
    """Ask every route of subscriptions."""
    path = "/v1/subscriptions"
    body = {"target": "https://hooks.example.org/", "own": True}
    made = walk.ask("POST", path, body, status=201)["subscription"]
    secret = made.pop("secret")
    check_fields(made, SUBSCRIPTION)
    assert secret.startswith("whsec_")
    assert made["own"]
    one, ids = f"{path}/{{subscription_id}}", {"subscription_id": made["id"]}
    assert walk.ask("GET", path)["subscriptions"] == [made]
    assert walk.ask("GET", one, **ids)["subscription"] == made
    assert walk.ask("GET", f"{one}/dead-letters", **ids) == {"dead_letters": []}
    assert walk.ask("POST", f"{one}/replay", {}, **ids)["subscription"] == made
    walk.ask("DELETE", one, status=204, **ids)
    walk.ask("GET", one, status=404, **ids)


def walk_alarms(walk: Walk) -> None:
    """Ask every route of capacity alarms."""
    path, one = "/v1/alarms", "/v1/alarms/{alarm_id}"
    asked = {"resource_type": "virtual:floatingip", "network_id": NETWORK_ID}
    made = walk.ask("POST", path, {"reservation": asked, "below": 2}, status=201)["alarm"]
    check_fields(made, ALARM)
    assert (made["reservation"], made["duration"]) == (asked, 3600)
    assert walk.ask("GET", path)["alarms"] == [made]
    assert walk.ask("GET", one, alarm_id=made["id"])["alarm"] == made
    walk.ask("DELETE", one, status=204, alarm_id=made["id"])
    walk.ask("GET", one, status=404, alarm_id=made["id"])


def walk_budgets(walk: Walk) -> None:
    """Ask for usage, prices and charges, and every route of budgets."""
    hours = walk.ask("GET", "/v1/usage")["usage"]
    assert (hours["group_by"], hours["precision_seconds"]) == ("project", 300.0)
    assert walk.ask("GET", "/v1/prices") == {"unit": "EUR", "places": 2, "price_lists": []}
    charged = walk.ask("GET", "/v1/charges")["charges"]
    assert (charged["closed_until"], charged["total"], charged["rows"]) == (None, "0.000000", [])
    correction = {"charge_id": 1, "amount": "-1.50", "reason": "The rack had no network."}
    walk.ask("POST", "/v1/charges/corrections", correction, status=404)
    path, one = "/v1/budgets", "/v1/budgets/{budget_id}"
    dates = {"start_date": "2031-01-01 00:00", "end_date": "2032-01-01 00:00"}
    body = {"project_id": "demo", "name": "spring", "amount": "9.50", **dates}
    made = walk.ask("POST", path, body, status=201)["budget"]
    assert (made["amount"], made["left"], made["user_id"]) == ("9.500000", "9.500000", None)
    assert walk.ask("GET", path)["budgets"] == [made]
    assert walk.ask("GET", one, budget_id=made["id"])["budget"] == made
    assert walk.ask("PUT", one, {"amount": "10"}, budget_id=made["id"])["budget"]["amount"] == "10.000000"
    walk.ask("DELETE", one, status=204, budget_id=made["id"])
    walk.ask("GET", one, status=404, budget_id=made["id"])


def walk_fillers(walk: Walk) -> None:
    """Ask every route of fillers."""
    path, one = "/v1/fillers", "/v1/fillers/{filler_id}"
    asked = {"resource_type": "physical:host", "min": 1, "max": 1}
    asked |= {"hypervisor_properties": "", "resource_properties": "", "before_end": "shelve"}
    made = walk.ask("POST", path, {"reservation": asked, "at_least": 3600, "name": "idle"}, status=201)["filler"]
    check_fields(made, FILLER)
    assert (made["reservation"], made["at_least"], made["state"]) == (asked, 3600, "active")
    assert [each["state"] for each in made["hosts"]] == ["coming"]
    assert walk.ask("GET", path)["fillers"] == [made]
    assert walk.ask("GET", one, filler_id=made["id"])["filler"] == made
    ended = walk.ask("DELETE", one, status=202, filler_id=made["id"])["filler"]
    assert [each["reason"] for each in ended["hosts"]] == ["Its project has ended it."]


def walk_swap(walk: Walk, version: str) -> None:
    """Swap the host of a lease, and ask which one it has."""
    names = {
        walk.ask("POST", "/v1/os-hosts", {"name": name}, status=201)["host"]["id"] for name in ("cmp-01", "cmp-02")
    }
    lease = walk.ask("POST", "/v1/leases", NEW_LEASE, status=201)["lease"]
    swapped = walk.ask("POST", "/v1/leases/{lease_id}/swap", {"host": "cmp-01"}, lease_id=lease["id"])["lease"]
    assert {**swapped, "updated_at": None} == {**lease, "updated_at": None}
    healed = walk.ask("POST", "/v1/leases/{lease_id}/heal", status=409, lease_id=lease["id"])
    assert healed["code"] == "leasehold.heal.nothing"
    (part,) = walk.ask("GET", "/v1/leases/{lease_id}/resources", lease_id=lease["id"])["reservations"]
    assert part["reservation_id"] == lease["reservations"][0]["id"]
    (held,) = part["resources"]
    check_fields(held, HOLDING | ({"expected_at": type(None)} if version >= "1.3" else {}))
    assert (held["name"], held["id"] in names) == ("cmp-02", True)
    allocations = walk.ask("GET", "/v1/os-hosts/allocations")["allocations"]
    assert [len(each["reservations"]) for each in allocations] == [0, 1]
    walk.ask("DELETE", "/v1/leases/{lease_id}", status=204, lease_id=lease["id"])
    for host in sorted(names):
        walk.ask("DELETE", "/v1/os-hosts/{host_id}", status=204, host_id=host)


def walk_series(walk: Walk) -> None:
    """Ask every route of series."""
    path, one = "/v1/series", "/v1/series/{series_id}"
    body = {
        "name": "course",
        "start_date": "2031-05-05 10:00",
        "end_date": "2031-05-05 12:00",
        "rule": "FREQ=DAILY;COUNT=2",
    }
    made = walk.ask("POST", path, body, status=201)["series"]
    check_fields(made, SERIES)
    for each in made["occurrences"]:
        check_fields(each, OCCURRENCE)
    assert [each["status"] for each in made["occurrences"]] == ["PENDING"] * 2
    assert walk.ask("GET", path)["series"] == [made]
    assert walk.ask("GET", one, series_id=made["id"])["series"] == made
    assert walk.ask("PUT", one, {"name": "lab"}, series_id=made["id"])["series"]["name"] == "lab"
    walk.ask("DELETE", one, status=204, series_id=made["id"])
    walk.ask("GET", one, status=404, series_id=made["id"])


def walk_flexible(walk: Walk) -> None:
    """Ask every route of flexible leases."""
    path, one = "/v1/flexible-leases", "/v1/flexible-leases/{flexible_id}"
    body = {"name": "any hour", "latest": "2031-06-01 10:00", "duration_seconds": 3600, "hours": ["nights"]}
    made = walk.ask("POST", path, {**body, "reservations": [instances()]}, status=201)["flexible_lease"]
    check_fields(made, FLEXIBLE)
    assert walk.ask("GET", path)["flexible_leases"] == [made]
    assert walk.ask("GET", one, flexible_id=made["id"])["flexible_lease"] == made
    changed = walk.ask("PUT", one, {"strategy": "sleep"}, flexible_id=made["id"])["flexible_lease"]
    assert (changed["strategy"], changed["lease"]["id"]) == ("sleep", made["id"])
    walk.ask("DELETE", one, status=204, flexible_id=made["id"])
    walk.ask("GET", one, status=404, flexible_id=made["id"])
    walk.ask("DELETE", "/v1/leases/{lease_id}", status=204, lease_id=made["id"])


def walk_offers(walk: Walk) -> None:
    """Ask every route of offers."""
    path, one = "/v1/offers", "/v1/offers/{offer_id}"
    body = {**NEW_LEASE, "hold_seconds": 60, "reservations": [instances()]}
    answer = walk.ask("POST", path, body, status=201)
    made, held = answer["offer"], answer["reservations"]
    check_fields(made, OFFER)
    assert (made["state"], made["lease"]["id"], len(held)) == ("open", made["id"], 1)
    assert walk.ask("GET", path)["offers"] == [made]
    assert walk.ask("GET", one, offer_id=made["id"]) == answer
    lease = walk.ask("POST", f"{one}/accept", status=201, offer_id=made["id"])["lease"]
    assert (lease["id"], lease["status"]) == (made["id"], "PENDING")
    walk.ask("DELETE", one, status=409, offer_id=made["id"])
    assert walk.ask("GET", one, offer_id=made["id"])["offer"]["state"] == "accepted"
    walk.ask("DELETE", "/v1/leases/{lease_id}", status=204, lease_id=made["id"])
    walk.ask("POST", f"{one}/accept", status=409, offer_id=made["id"])
    walk.ask("DELETE", one, status=204, offer_id=made["id"])
    walk.ask("GET", one, status=404, offer_id=made["id"][::-1])


def walk_feeds(walk: Walk) -> None:
    """Ask every route of calendar feeds."""
    path, one = "/v1/feeds", "/v1/feeds/{feed_id}"
    made = walk.ask("POST", path, {"name": "lab", "own": True}, status=201)["feed"]
    check_fields(made, {**FEED, "url": str})
    token = made.pop("url").rpartition("/")[2].removesuffix(".ics")
    assert walk.ask("GET", path)["feeds"] == [made]
    assert walk.ask("GET", one, feed_id=made["id"])["feed"] == made
    assert walk.ask("GET", OF_CALENDARS, token=token) is None
    walk.ask("DELETE", one, status=204, feed_id=made["id"])
    walk.ask("GET", OF_CALENDARS, status=404, token=token)


def walk_templates(walk: Walk) -> None:
    """Ask every route of lease templates."""
    path, one = "/v1/lease-templates", "/v1/lease-templates/{template_id}"
    kept = {"reservations": [hosts()], "duration_seconds": 3600, "events": [{"event_type": "mine"}]}
    made = walk.ask("POST", path, {"name": "course", **kept}, status=201)["template"]
    assert made.keys() == TEMPLATE
    assert walk.ask("GET", path)["templates"] == [made]
    assert walk.ask("GET", one, template_id=made["id"])["template"] == made
    changed = walk.ask("PUT", one, {"type": "retry", "retries": 2, "events": None}, template_id=made["id"])["template"]
    assert (changed["retries"], changed["events"], changed["duration_seconds"]) == (2, None, 3600)
    lease = {key: value for key, value in NEW_LEASE.items() if key in ("name", "start_date")}
    walk.ask("POST", "/v1/leases", {**lease, "template": "course", "dry_run": True})
    walk.ask("DELETE", one, status=204, template_id=made["id"])
    walk.ask("POST", "/v1/leases", {**lease, "template": "course"}, status=404)


def walk_owned(walk: Walk) -> None:
    """Ask every route of the resources of owners."""
    said = {"name": "gpu-03", "owner": "demo"}
    host = walk.ask("POST", "/v1/os-hosts", said, status=201)["host"]["id"]
    body = {**NEW_LEASE, "reservations": [hosts(1, resource_properties=f'["==", "$id", "{host}"]')]}
    lease = walk.ask("POST", "/v1/leases", body, status=201)["lease"]
    (owned,) = walk.ask("GET", "/v1/owned-resources")["owned_resources"]
    (used,) = owned.pop("leases")
    check_fields(owned, OWNED)
    check_fields(used, dict.fromkeys(("id", "project_id", "start_date", "end_date", "status"), str))
    assert (owned["id"], used["id"]) == (host, lease["id"])
    walk.ask("DELETE", "/v1/owned-leases/{owned_id}", status=204, owned_id=lease["id"])
    walk.ask("DELETE", "/v1/owned-leases/{owned_id}", status=404, owned_id=lease["id"])
    walk_published(walk, host)
    walk.ask("DELETE", "/v1/os-hosts/{host_id}", status=204, host_id=host)


def walk_published(walk: Walk, host: str) -> None:
    """Ask every route of published offers."""
    path, one = "/v1/published-offers", "/v1/published-offers/{published_id}"
    dates = {key: value for key, value in NEW_LEASE.items() if key in ("start_date", "end_date")}
    body = {"name": "lent", "resource_type": "physical:host", "resource_id": host, **dates}
    made = walk.ask("POST", path, body, status=201)["published_offer"]
    walk.ask("POST", path, body, status=409)
    check_fields(made, {**PUBLISHED, "free": list})
    assert walk.ask("GET", one, published_id=made["id"])["published_offer"] == made
    assert walk.ask("GET", path)["published_offers"] == [{key: made[key] for key in PUBLISHED}]
    lease = walk.ask("POST", f"{one}/claims", {"name": "mine"}, status=201, published_id=made["id"])["lease"]
    assert lease["published_offer"] == made["id"]
    walk.ask("POST", f"{one}/claims", {"name": "mine"}, status=409, published_id=made["id"])
    walk.ask("DELETE", one, status=204, published_id=made["id"])
    walk.ask("GET", "/v1/leases/{lease_id}", status=404, lease_id=lease["id"])
    walk.ask("GET", one, status=404, published_id=made["id"][::-1])


def walk_operators(walk: Walk) -> None:
    """Look at what the audit has found, at what was refused, and at what will be asked for."""
    walk.ask("POST", "/v1/leases", {**NEW_LEASE, "reservations": [instances(amount=99)]}, status=409)
    (refused,) = (each for each in walk.ask("GET", "/v1/refusals")["refusals"] if each["operation"] == "create")
    assert refused["missing"] > 0
    assert walk.ask("GET", "/v1/forecast")["forecast"]["weeks"] == 0
    walk.ask("GET", f"{TYPE}/candidates", resource_type="physical:host")
    walk.ask("GET", "/v1/audit")
    walk.ask("POST", "/v1/audit", status=202)
    walk_capacity(walk)
    machine, described = "/v1/power/hosts/{host_id}", {"power_class": "box", "address": "node-1"}
    assert walk.ask("PUT", machine, described, status=400, host_id="1")["field"] == "power_class"
    for method, path, status in (("GET", machine, 404), ("DELETE", machine, 404), ("POST", f"{machine}/wake", 404)):
        walk.ask(method, path, status=status, host_id="1")
    for path, key in (("hosts", "machines"), ("margins", "margins"), ("report", "report")):
        assert walk.ask("GET", f"/v1/power/{path}") == {key: []}


def walk_capacity(walk: Walk) -> None:
    """Plan a host, put it off, fail to enrol it, and hold another one back."""
    coming = {"name": "n", "start_date": "2033-01-01 10:00", "hosts": ["node-1"], "vcpus": 1, "memory_mb": 1}
    ident = walk.ask("POST", "/v1/capacity/increases", {**coming, "promise": True}, status=201)["change"]["id"]
    one = "/v1/capacity/changes/{change_id}"
    assert walk.ask("PUT", one, {"start_date": "2033-02-01 10:00"}, change_id=ident)["change"]["delays"] == 1
    walk.ask("POST", f"{one}/arrived", {}, status=404, change_id=ident)
    walk.ask("GET", one, change_id=ident)
    walk.ask("DELETE", one, status=204, change_id=ident)
    gone = {"name": "n", "start_date": "2033-01-01 10:00", "hosts": ["1"]}
    walk.ask("POST", "/v1/capacity/decreases", gone, status=201)
    walk.ask("POST", "/v1/capacity/reserves", {"name": "n", "start_date": "2033-01-01 10:00", "percent": 1}, status=201)
    for each in walk.ask("GET", "/v1/capacity/changes")["changes"]:
        walk.ask("DELETE", one, status=204, change_id=each["id"])


def walk_drop(walk: Walk) -> None:
    """Drop one resource of a lease, and one reservation, and neither lend nor offer anything of it."""
    lease = walk.ask("POST", "/v1/leases", {**NEW_LEASE, "reservations": [instances(), instances()]}, status=201)
    made = lease["lease"]
    one, ids = "/v1/leases/{lease_id}/reservations/{reservation_id}", [each["id"] for each in made["reservations"]]
    for status, ident in ((409, "1"), (404, "none")):
        path = f"{one}/resources/{{resource_id}}"
        walk.ask("DELETE", path, status=status, lease_id=made["id"], reservation_id=ids[0], resource_id=ident)
    walk.ask("DELETE", one, status=204, lease_id=made["id"], reservation_id=ids[0])
    walk.ask("DELETE", one, status=409, lease_id=made["id"], reservation_id=ids[1])
    walk.ask("DELETE", one, status=404, lease_id=made["id"], reservation_id=ids[0])
    lent = "/v1/leases/{lease_id}/sub-leases"
    assert walk.ask("GET", lent, lease_id=made["id"]) == {"sub_leases": []}
    refused = walk.ask("POST", lent, {"name": "n", "project_id": "alt", "amount": 1}, status=409, lease_id=made["id"])
    assert refused["code"] == "leasehold.sublease.refused"
    offers = "/v1/leases/{lease_id}/published-offers"
    refused = walk.ask("POST", offers, {"name": "n", "amount": 1}, status=409, lease_id=made["id"])
    assert refused["code"] == "leasehold.sublease.refused"
    walk.ask("DELETE", f"{lent}/{{sub_lease_id}}", status=404, lease_id=made["id"], sub_lease_id="none")
    walk.ask("DELETE", "/v1/leases/{lease_id}", status=204, lease_id=made["id"])


def walk_availability(walk: Walk) -> None:
    """Ask how much is free."""
    found = walk.ask("GET", "/v1/availability", query="resource_type=virtual:floatingip&network_id=net")["availability"]
    assert (found["unit"], found["total"], found["steps"]["free"]) == ("floating IPs", 0, [0])
    named = walk.ask("GET", "/v1/availability/properties", query="resource_type=physical:host")["properties"]
    assert {"vcpus", "memory_mb"} <= {each["property"] for each in named}
    asked = {"alternatives": [[hosts(1)], [hosts(99)]], "duration_seconds": 3600}
    found = walk.ask("POST", "/v1/availability/search", asked)
    assert [each["alternative"] for key in ("windows", "refused") for each in found[key]] in ([0] * 3 + [1], [0, 1])
    drawn = walk.ask("GET", "/v1/timeline")["timeline"]
    assert len(drawn["rows"]["id"]) == len(drawn["rows"]["state"]) > 0
    (own,) = walk.ask("GET", "/v1/regions")["regions"]
    assert own == {"name": "RegionOne", "endpoint": "http://localhost/v1", "here": True}
    (here,) = walk.ask("GET", "/v1/regions/availability", query="region=all")["regions"]
    assert (here["availability"]["unit"], here["error_message"]) == ("hosts", None)
    (there,) = walk.ask("POST", "/v1/regions/availability/search", asked)["regions"]
    assert there.items() >= found.items()


def walk_resources(walk: Walk) -> None:
    """Ask every route that is new in 1.2."""
    events = walk.ask("GET", "/v1/events")["events"]
    for event in events:
        check_fields(event, LOG_EVENT)
    assert (events[0]["type"], events[0]["payload"]["status"]) == ("lease.create", "PENDING")
    walk_subscriptions(walk)
    walk_alarms(walk)
    walk_series(walk)
    listed = walk.ask("GET", "/v1/resources")["resource_types"]
    assert {each["resource_type"]: each["enrolled"] for each in listed} == {
        "flavor:instance": False,
        "physical:host": True,
        "virtual:floatingip": True,
        "virtual:instance": False,
    }
    for kind in V1_2:
        made = walk.make(kind)
        name = kind.body.get("name") or kind.body["floating_ip_address"]
        assert (made["name"], made["properties"], made["health"]) == (name, {"rack": "7"}, "healthy")
        found = {"resource_id": made["id"], "reservations": []}
        assert walk.ask("GET", f"{TYPE}/allocations", **kind.ids) == {"allocations": [found]}
        one = f"{TYPE}/{{resource_id}}/allocation"
        assert walk.ask("GET", one, resource_id=made["id"], **kind.ids) == {"allocation": found}
        walk.properties(f"{TYPE}/properties", **kind.ids)
        walk.change_and_remove(kind, made["id"])
    host = walk.caller.ask("POST", "/v1/os-hosts", NEW_HOST).json["host"]["id"]
    window = {"name": "fans", "start_date": "2031-05-02 10:00", "end_date": "2031-05-02 12:00", "hosts": [host]}
    windows = Collection("/v1/maintenances", "maintenance_id", "maintenance", window, WINDOW)
    walk.change_and_remove(windows, walk.make(windows)["id"])
