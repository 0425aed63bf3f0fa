"""Every route of the API is reached by a command, or is listed here with the reason why not."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
import requests

from client.tests.booking import booked
from leasehold.cloud.sandbox import seed
from leasehold_client.calls.wire import read_time
from leasehold_client.errors import ApiError
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from client.tests.conftest import Inside
    from leasehold_client import Client

    Run = Callable[..., str]

pytestmark = pytest.mark.slow

UNREACHED = {
    ("GET", "/"): "for programs that negotiate a version; the client knows which it needs",
    ("GET", "/versions"): "the same by another path",
    ("GET", "/healthcheck"): "for load balancers",
    ("GET", "/v1/openapi.json"): "the description itself",
    ("GET", "/v1/feeds/{token}.ics"): "for calendar programs",
    ("GET", "/v1/timeline"): "for programs that draw: tables of thousands of numbers",
}
_SENT = re.compile(r"REQ: curl .*?-X (?P<method>[A-Z]+) (?P<url>\S+)")
_HOSTS = "physical:host"
_JSON = ("-f", "json")
_BOTH = ("--reservation", "resource_type=virtual:instance,vcpus=1,memory_mb=512,disk_gb=1,amount=1")


def test_every_route_is_reached(
    inside: Inside, client: Client, endpoint: str, caplog: pytest.LogCaptureFixture
) -> None:
    def run(*words: str, status: int = 0) -> str:
        # With --debug a refusal is raised, after its line in the log.
        try:
            said = inside("--debug", *words)
        except ApiError:
            assert status
            return ""
        assert said.status == status, said.err
        return said.out

    with caplog.at_level(logging.DEBUG):
        own = (leases, offers, flexible, series, fillers, budgets, alarms, subscriptions, feeds, templates, owned)
        for part in (*own, maintenances, hosts, resources, addresses, operators):
            part(run, client)
    document = requests.get(f"{endpoint}/openapi.json", timeout=10).json()
    routes = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    root = endpoint.removesuffix("/v1")
    sent = {
        (found["method"], found["url"].strip("\"'").removeprefix(root).partition("?")[0])
        for record in caplog.records
        if (found := _SENT.search(record.getMessage()))
    }
    reached = {route for method, path in sent if (route := route_of(method, path, routes))}
    assert routes - reached == UNREACHED.keys()


def route_of(method: str, path: str, routes: set[tuple[str, str]]) -> tuple[str, str] | None:
    """Return the route of a request: the one with the fewest words that stand for others."""
    fits = [
        each
        for each in routes
        if each[0] == method and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", each[1]), path.replace("%3A", ":"))
    ]
    return min(fits, key=lambda each: each[1].count("{"), default=None)


def made(said: str) -> str:
    """Return the id of what a command has made."""
    ident: str = json.loads(said)["id"]
    return ident


def leases(run: Run, client: Client) -> None:
    """Run the commands of leases."""
    run("lease", "create", "walked", "--hosts", "2", *_BOTH, "--for", "2h", "--from", "in 1 d", "--earliest")
    run("lease", "list")
    lease = client.leases.find("walked")
    run("lease", "show", lease.id)
    run("lease", "extend", "walked", "--for", "1h")
    run("lease", "resources", "walked")
    run("lease", "events", "walked")
    run("availability", "--for", "1d")
    run("window", "search", "--hosts", "1", "--for", "1h")
    run("property", "list")
    run("region", "list")
    run("region", "availability", "--for", "1d")
    run("region", "search", "--hosts", "1", "--for", "1h")
    part = next(each for each in lease.reservations if each.resource_type != _HOSTS)
    run("lease", "drop", "walked", part.id)
    held = client.leases.resources(lease.id)[0]
    run("lease", "drop", "walked", held.reservation_id, "--resource", held.id or "")
    # Nothing has failed, so there is nothing to heal.
    run("lease", "heal", "walked", status=1)
    active = booked(client, "active", timedelta(0))
    wait_for(lambda: client.leases.get(active.id).status == "ACTIVE")
    run("lease", "swap", "active", "--host", client.leases.resources(active.id)[0].name or "")
    run("lease", "sublease", "offer", "active", "spare", "--hosts", "1", "--until", "in 5 min")
    run("published", "offer", "delete", "spare")
    lent = made(run("lease", "sublease", "create", "active", "lent", "--project", "other", "--hosts", "1", *_JSON))
    run("lease", "sublease", "list", "active")
    run("lease", "sublease", "delete", "active", lent)
    wait_for(lambda: datetime.now(UTC) - timedelta(seconds=2) > read_time(lease.values["created_at"]))
    run("lease", "show", "walked", "--as-of", "1 s ago")
    run("lease", "delete", "walked")
    run("lease", "list", "--deleted")
    run("lease", "history", "walked")


def offers(run: Run, _client: Client) -> None:
    """Run the commands of offers."""
    wanted = ("--hosts", "1", "--from", "in 1 d", "--for", "1h", "--purpose", "a test", *_JSON)
    ident, other = (made(run("offer", "create", name, *wanted)) for name in ("yes", "no"))
    run("offer", "list")
    run("offer", "show", ident)
    run("offer", "accept", ident)
    run("offer", "delete", other)


def flexible(run: Run, _client: Client) -> None:
    """Run the commands of flexible leases."""
    wanted = ("--hosts", "1", "--latest", "in 9 d", "--for", "4h", "--hours", "nights", "--time-zone", "Europe/Berlin")
    ident = made(run("flexible", "create", "any", *wanted, "--strategy", "sleep", *_JSON))
    run("flexible", "list")
    run("flexible", "show", ident)
    run("flexible", "set", "any", "--for", "5h", "--latest", "in 8 d")
    run("flexible", "fix", ident)
    run("lease", "delete", ident)
    cut = made(run("flexible", "create", "cut", *wanted, "--pieces-of", "2h", *_JSON))
    run("lease", "delete", cut)


def series(run: Run, _client: Client) -> None:
    """Run the commands of series."""
    rule = ("--rule", "FREQ=DAILY;COUNT=2", "--hosts", "1", "--purpose", "a course")
    ident = made(run("series", "create", "daily", *rule, "--from", "in 1 d", "--for", "1h", *_JSON))
    run("series", "list")
    run("series", "show", ident)
    run("series", "set", "daily", "--name", "every day", "--purpose", "")
    run("series", "delete", "every day")


def fillers(run: Run, _client: Client) -> None:
    """Run the commands of fillers."""
    ident = made(run("filler", "create", "idle", "--hosts", "1", "--at-least", "1h", *_JSON))
    run("filler", "list")
    run("filler", "show", ident)
    run("filler", "delete", "idle")


def budgets(run: Run, _client: Client) -> None:
    """Run the commands of prices and budgets."""
    run("price", "list")
    dates = ("--from", "2031-01-01", "--until", "2032-01-01")
    ident = made(run("budget", "create", "spring", "--for-project", "other", "--amount", "9.5", *dates, *_JSON))
    run("budget", "list", "--all-projects")
    run("budget", "show", ident)
    run("budget", "set", ident, "--amount", "12")
    run("budget", "delete", ident)


def alarms(run: Run, _client: Client) -> None:
    """Run the commands of alarms."""
    ident = made(run("alarm", "create", "few", "--below", "3", *_JSON))
    run("alarm", "list")
    run("alarm", "show", ident)
    run("alarm", "delete", "few")


def subscriptions(run: Run, _client: Client) -> None:
    """Run the commands of subscriptions."""
    ident = made(run("subscription", "create", "https://hooks.invalid/leases", *_JSON))
    run("subscription", "list")
    run("subscription", "show", ident)
    run("subscription", "dead", "letter", "list", ident)
    run("subscription", "replay", ident)
    run("subscription", "delete", ident)


def feeds(run: Run, _client: Client) -> None:
    """Run the commands of calendar feeds."""
    ident = made(run("feed", "create", "lab", *_JSON))
    run("feed", "list")
    run("feed", "show", ident)
    run("feed", "delete", ident)


def templates(run: Run, _client: Client) -> None:
    """Run the commands of lease templates."""
    ident = made(run("template", "create", "kept", "--hosts", "1", "--for", "1h", *_JSON))
    run("template", "list")
    run("template", "show", ident)
    run("template", "set", "kept", "--for", "2h")
    run("template", "delete", "kept")


def owned(run: Run, client: Client) -> None:
    """Run the commands of the resources that the project owns."""
    run("host", "set", "gpu-03", "--owner", client.leases.list()[0].values["project_id"])
    (found,) = client.owned_resources.list()
    there = f'min=1,max=1,resource_properties=["==", "$id", "{found.id}"]'
    wanted = ("--physical-reservation", there, "--from", "in 9 d", "--for", "1h")
    ident = made(run("lease", "create", "there", *wanted, *_JSON))
    assert ident in run("owned", "resource", "list")
    run("owned", "lease", "delete", ident)
    until = ("--from", "in 9 d", "--for", "2h")
    ident = made(run("published", "offer", "create", "lent", _HOSTS, found.name, *until, *_JSON))
    run("published", "offer", "list")
    run("published", "offer", "show", "lent")
    lease = made(run("published", "offer", "claim", ident, "--for", "1h", *_JSON))
    assert client.leases.get(lease).values["published_offer"] == ident
    run("published", "offer", "delete", "lent")
    run("host", "set", "gpu-03", "--no-owner", "--all-projects")


def maintenances(run: Run, _client: Client) -> None:
    """Run the commands of maintenance windows."""
    when = ("--from", "in 3 d", "--for", "1h")
    ident = made(run("maintenance", "create", "fans", "--host", "cmp-07", *when, *_JSON))
    run("maintenance", "list")
    run("maintenance", "show", ident)
    run("maintenance", "delete", "fans")


def hosts(run: Run, _client: Client) -> None:
    """Run the commands of hosts."""
    run("host", "list")
    run("host", "show", "7")
    run("host", "set", "cmp-07", "--extra", "walked=yes")
    run("host", "property", "list")
    run("host", "property", "set", "walked", "--public")
    run("host", "unset", "cmp-07", "--extra", "walked")
    run("allocation", "list", "host")
    run("allocation", "show", "host", "cmp-07")
    run("host", "delete", "cmp-07")
    run("host", "create", "cmp-07", "--extra", "rack=b1")


def operators(run: Run, _client: Client) -> None:
    """Run the commands about what the service has found, refused and expects."""
    run("audit", "show")
    run("audit", "start")
    run("refusal", "list", "--from", "2 d ago")
    run("forecast", "--for", "2d")
    run("usage", "--from", "2 d ago", "--group-by", "day")
    run("charge", "list", "--from", "2 d ago")
    run("charge", "correct", "1", "--amount", "-1.50", "--reason", "No network", status=1)
    run("power", "list")
    run("power", "margin", "list")
    run("power", "report", "--from", "2 d ago")
    size = ("--vcpus", "8", "--memory", "1024", "--promise")
    run("capacity", "increase", "march", "--host", "march-01", "--from", "in 30 d", *size, "--property", "a=b")
    run("capacity", "list")
    run("capacity", "show", "march")
    run("capacity", "set", "march", "--from", "in 31 d")
    run("capacity", "arrived", "march", status=1)
    run("capacity", "delete", "march", "--force")
    run("capacity", "decrease", "old", "--host", "cmp-07", "--from", "in 40 d", "--until", "in 41 d")
    run("capacity", "reserve", "spare", "--percent", "10", "--from", "in 50 d")
    run("capacity", "delete", "old")
    run("capacity", "delete", "spare")
    # No class of machines is configured.
    run("power", "set", "cmp-07", "--class", "box", "--address", "cmp-07", status=1)
    for verb in ("show", "wake", "unset"):
        run("power", verb, "cmp-07", status=1)


def resources(run: Run, _client: Client) -> None:
    """Run the commands of resources of any type."""
    run("resource", "type", "list")
    run("resource", "list", _HOSTS)
    run("resource", "show", _HOSTS, "7")
    run("resource", "set", _HOSTS, "cmp-07", "--property", "walked=yes")
    run("resource", "property", "list", _HOSTS)
    run("resource", "property", "set", "walked", _HOSTS, "--public")
    run("resource", "unset", _HOSTS, "cmp-07", "--property", "walked")
    run("allocation", "list", _HOSTS)
    run("allocation", "show", _HOSTS, "cmp-07")
    run("resource", "delete", _HOSTS, "cmp-07")
    assert [each["name"] for each in json.loads(run("resource", "candidate", "list", _HOSTS, *_JSON))] == ["cmp-07"]
    run("resource", "create", _HOSTS, "name=cmp-07", "--property", "rack=b1")


def addresses(run: Run, _client: Client) -> None:
    """Run the commands of floating IPs."""
    ident = made(run("floatingip", "create", seed.NETWORK_ID, "203.0.113.171", *_JSON))
    run("floatingip", "list")
    run("floatingip", "show", ident)
    run("floatingip", "delete", ident)
