"""A request that the API refuses, and what its answer says: one row of the tables in this folder."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.cmd.web import ROUTES
from leasehold.features.price.model import Prices
from leasehold.features.price.options import PriceSettings
from tests.factory import AT_ONCE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from falcon import testing

VERSION = "OpenStack-API-Version"
LEASES, LEASE = "/v1/leases", "/v1/leases/{lease_id}"
PRICED = AT_ONCE.having(PriceSettings(Prices("EUR", 2)))
"""Budgets may be made, although nothing has a price."""
HOSTS, HOST, PROPERTIES = "/v1/os-hosts", "/v1/os-hosts/{host_id}", "/v1/os-hosts/properties"
ADDRESSES = "/v1/floatingips"
CANDIDATES = "/v1/resources/{resource_type}/candidates"
TYPE, RESOURCE = "/v1/resources/{resource_type}", "/v1/resources/{resource_type}/{resource_id}"
SWAP, HEAL, HELD = f"{LEASE}/swap", f"{LEASE}/heal", f"{LEASE}/resources"
PAST, SUB_LEASES = f"{LEASE}/history", f"{LEASE}/sub-leases"
SUB_OFFERS = f"{LEASE}/published-offers"
PART = f"{LEASE}/reservations/{{reservation_id}}"
WINDOWS = "/v1/maintenances"
FILLERS, FILLER = "/v1/fillers", "/v1/fillers/{filler_id}"
BUDGETS, BUDGET, PRICES = "/v1/budgets", "/v1/budgets/{budget_id}", "/v1/prices"
ALARMS, ALARM = "/v1/alarms", "/v1/alarms/{alarm_id}"
MANY, SERIES = "/v1/series", "/v1/series/{series_id}"
FLEXIBLES, FLEXIBLE = "/v1/flexible-leases", "/v1/flexible-leases/{flexible_id}"
OFFERS, OFFER = "/v1/offers", "/v1/offers/{offer_id}"
FREE, SEARCH, ASKABLE = "/v1/availability", "/v1/availability/search", "/v1/availability/properties"
REGIONS, EVERYWHERE = "/v1/regions", "/v1/regions/availability/search"
FEEDS, FEED = "/v1/feeds", "/v1/feeds/{feed_id}"
TEMPLATES, TEMPLATE = "/v1/lease-templates", "/v1/lease-templates/{template_id}"
_OF_PROJECTS = (WINDOWS, FILLERS, BUDGETS, ALARMS, MANY, FLEXIBLES, OFFERS, FEEDS, TEMPLATES)
TIMELINE, AUDIT, REFUSALS, FORECAST = "/v1/timeline", "/v1/audit", "/v1/refusals", "/v1/forecast"
MACHINE, POWER = "/v1/power/hosts/{host_id}", "/v1/power"
USAGE, CHARGES = "/v1/usage", "/v1/charges"
CORRECTIONS = f"{CHARGES}/corrections"
CAPACITY, CHANGE = "/v1/capacity", "/v1/capacity/changes/{change_id}"
INCREASES, DECREASES, RESERVES = (f"{CAPACITY}/{kind}" for kind in ("increases", "decreases", "reserves"))
OWNED, OWNED_LEASE = "/v1/owned-resources", "/v1/owned-leases/{owned_id}"
_TYPES = ("/v1/resources", "/v1/events", "/v1/subscriptions")
PUBLISHED, ONE_PUBLISHED = "/v1/published-offers", "/v1/published-offers/{published_id}"
CLAIMS = f"{ONE_PUBLISHED}/claims"
_OF_OWNERS = (OWNED, "/v1/owned-leases", PUBLISHED)
_SEEN = (FREE, REGIONS, TIMELINE, AUDIT, REFUSALS, FORECAST, POWER, CAPACITY, PRICES, USAGE, CHARGES, CORRECTIONS)
_NEWER = (*_OF_PROJECTS, *_SEEN, CANDIDATES, *_OF_OWNERS)
NEW = (*_TYPES, SWAP, HEAL, HELD, PAST, SUB_LEASES, SUB_OFFERS, PART, *_NEWER)
"""Paths that are new since 1.1."""
NEWEST = "1.3"
SUBSCRIPTIONS, REPLAY = "/v1/subscriptions", "/v1/subscriptions/{subscription_id}/replay"
ADDRESS_TYPE = "/v1/resources/virtual:floatingip"
WRITES = [(route.method, route.path) for route in ROUTES if route.request is not None]
"""Every request with a body, from the API's own table, so that bad input reaches each new one as well."""
BEFORE_A_HANDLER = {"http.route", "http.method", "http.malformed", "version.not_acceptable", "input.too_large"}
"""The codes of errors in shape E2 (contract http-api §3)."""
VALID = {"name": "n", "start_date": "2031-05-05 10:00", "end_date": "2031-05-05 11:00"}
"""A lease that is granted."""


@dataclass(frozen=True)
class Refusal:
    """The request, and of the answer: status, code (without `leasehold.`), field, a part of the message, and details.

    Bytes as the body are sent unchanged. The path and the ids of reservations name the target's rows: `{lease_id}`.
    """

    method: str
    path: str
    body: Any = None
    status: int = 400
    code: str = "input.invalid"
    field: str | None = None
    words: str = ""
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    headers: Mapping[str, str] = dataclasses.field(default_factory=dict)
    query: str = ""

    def __str__(self) -> str:
        """Return an id for pytest that shows what is wrong."""
        sent = self.body if self.body is not None else self.query or dict(self.headers)
        return f"{self.method} {self.path[:40]} {str(sent)[:70]}"

    def check(self, answer: testing.Result) -> None:
        """Fail unless the answer is this refusal."""
        check_shape(answer)
        shown = answer.json
        found = (answer.status_code, shown["code"].removeprefix("leasehold."), shown.get("field"))
        assert found == (self.status, self.code, self.field), answer.text
        assert self.words in shown["error_message"]
        assert shown.get("details", {}).items() >= self.details.items(), shown


def check_shape(answer: testing.Result) -> None:
    """Fail unless the answer is a refusal in JSON, in the shape of contract http-api §3 that belongs to its code."""
    status, shown = answer.status_code, answer.json
    assert 400 <= status < 500, answer.text
    assert answer.headers["content-type"] == "application/json"
    assert 0 < len(shown["error_message"]) < 2000
    area, _, code = shown["code"].partition(".")
    assert area == "leasehold"
    keys = shown.keys() - {"error_message", "code", "details", "field"}
    versioned = True
    if status == 401:
        assert keys == {"error"}
        assert shown["error"].keys() == {"code", "title", "message"}
        versioned = False
    elif code in BEFORE_A_HANDLER:
        assert (keys, shown["error"]) == ({"error"}, status)
        versioned = False
    else:
        assert (keys, shown["error_code"], shown["error_name"]) == ({"error_code", "error_name"}, status, status)
    assert (VERSION in answer.headers) == versioned


def one_quick(rows: Sequence[Any]) -> list[Any]:
    """Return parameters of which only the first is for the quick tests."""
    return [rows[0], *(pytest.param(row, marks=pytest.mark.slow) for row in rows[1:])]
