"""Failures of a database cluster during a storm: one server dies, or is isolated, and recovers."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import requests
from sqlalchemy import make_url

from leasehold.cloud.sandbox.seed import NETWORK_ID
from leasehold.db.engine import open_engine
from tests.cluster import guide
from tests.harness.storm import SEED, storm
from tests.harness.tables import differences, dump
from tests.harness.verdict import audit_findings
from tests.harness.visitor import Asked, Visitor
from tests.processes import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.harness.programs import Fleet, Program
    from tests.harness.report import Report
    from tests.harness.tables import Dump
    from tests.servers.galera import GaleraCluster
    from tests.servers.standby import PrimaryAndStandby

GALERA, POSTGRESQL = "Galera", "PostgreSQL"
"""The sections of the guide that describe each setup."""
CUT_OFF = 2
"""The number of the affected node, and of the API that uses it."""
CLIENTS = 12
BACK_WITHIN = 60.0


@dataclass
class Seen:
    """The answers that a client of the affected API got, and the durations in seconds, by name."""

    asked: list[Asked] = field(default_factory=list)
    took: dict[str, float] = field(default_factory=dict)

    @property
    def answers(self) -> list[tuple[str, int, str | None]]:
        """The names, statuses and Retry-After of the answers."""
        return [(each.kind, each.status, each.headers.get("Retry-After")) for each in self.asked]

    @property
    def creations(self) -> list[Asked]:
        """The answers to requests for a lease."""
        return [each for each in self.asked if each.method == "POST"]

    def create(self, what: str, url: str, body: dict[str, Any]) -> str:
        """Request a lease; return its id, or "" when it was refused."""
        return self._ask(what, url, "POST", "/leases", body).lease_id

    def read(self, what: str, url: str, path: str) -> None:
        """Read something."""
        self._ask(what, url, "GET", path)

    def _ask(self, what: str, url: str, method: str, path: str, body: dict[str, Any] | None = None) -> Asked:
        with requests.Session() as session:
            answer = Visitor(0, session, url).ask(method, path, body, what)
        self.took[what] = round(answer.seconds, 2)
        self.asked.append(answer)
        return answer

    def wait_for_health(self, what: str, url: str, status: int) -> None:
        """Wait until the health check, which a periodic thread updates, returns this status; record its answer."""
        begun = time.monotonic()
        wait_for(lambda: requests.get(health(url), timeout=90).status_code == status, within=BACK_WITHIN)
        self.read(what, *_health(url))
        self.took[what] = round(time.monotonic() - begun, 2)


def lease_far_ahead() -> dict[str, Any]:
    """Return the body of a request for an address in a window that no other request uses."""
    network = {"resource_type": "virtual:floatingip", "network_id": NETWORK_ID, "amount": 1}
    window = {"start_date": "2099-01-01T00:00:00+00:00", "end_date": "2099-01-02T00:00:00+00:00"}
    return {"name": uuid4().hex, "reservations": [network], **window}


def well(url: str) -> bool:
    """Return whether an API reports healthy and also serves a request: the health report may be seconds old."""
    return all(requests.get(place, timeout=60).ok for place in (health(url), f"{url}/leases"))


def health(url: str) -> str:
    """Return the URL of an API's health check, which a load balancer polls."""
    return "".join(_health(url))


def _health(url: str) -> tuple[str, str]:
    return url.removesuffix("/v1"), "/healthcheck"


def work_again(manager: Program, seen: Seen, api: str) -> None:
    """Create work until this manager has done some of it; raise AssertionError when it does none in time."""
    before = sum(manager.work_done().values())

    def worked() -> bool:
        # A lease without resources is always granted, and a manager processes it at once.
        seen.create("create, again", api, lease_far_ahead() | {"reservations": []})
        return sum(manager.work_done().values()) > before

    wait_for(worked, within=BACK_WITHIN)


# ---------------------------------------------------------------- Galera


def let_every_manager_work(seen: Seen) -> Callable[[Fleet], None]:
    """Return a function that creates work until each manager has done some: in a short storm one may claim nothing."""

    def meanwhile(site: Fleet) -> None:
        for api, manager in zip(site.apis, site.managers, strict=True):
            work_again(manager, seen, api.url)

    return meanwhile


def kill_a_node(cluster: GaleraCluster, seen: Seen) -> Callable[[Fleet], None]:
    """Return a function that kills a node and restarts it, and sends requests to the node's API meanwhile."""

    def meanwhile(site: Fleet) -> None:
        node, api = cluster.nodes[CUT_OFF], site.apis[CUT_OFF].url
        time.sleep(1)  # Let the storm create leases and work first.
        node.kill()
        seen.wait_for_health("health, dead", api, 503)
        seen.read("read, dead", api, "/leases")
        seen.create("create, dead", api, lease_far_ahead())
        begun = time.monotonic()
        node.start()
        seen.took["node back"] = round(time.monotonic() - begun, 1)
        wait_for(lambda: well(api), within=BACK_WITHIN)
        seen.took["API well again"] = round(time.monotonic() - begun, 1)
        work_again(site.managers[CUT_OFF], seen, api)

    return meanwhile


def cut_a_node_off(cluster: GaleraCluster, seen: Seen) -> Callable[[Fleet], None]:
    """Return a function that isolates a node and rejoins it, and meanwhile asks its API for the other nodes' data."""

    def meanwhile(site: Fleet) -> None:
        node, api, other = cluster.nodes[CUT_OFF], site.apis[CUT_OFF].url, site.apis[0].url
        time.sleep(1)
        node.cut_off()
        # The other nodes decide without it, maybe after a pause; the isolated node must not answer from stale data.
        lease = seen.create("create, on the others", other, lease_far_ahead())
        seen.read("read, cut off", api, f"/leases/{lease}")
        seen.create("create, cut off", api, lease_far_ahead())
        begun = time.monotonic()
        node.wait_until(synced=False)
        seen.took["node knows"] = round(time.monotonic() - begun, 1)
        seen.wait_for_health("health, cut off", api, 503)
        seen.read("read, known", api, f"/leases/{lease}")
        seen.create("create, known", api, lease_far_ahead())
        seen.read("health, the others", *_health(other))
        begun = time.monotonic()
        node.reconnect()
        node.wait_until(synced=True)
        seen.took["node back"] = round(time.monotonic() - begun, 1)
        wait_for(lambda: well(api), within=BACK_WITHIN)
        seen.read("read, back", api, f"/leases/{lease}")
        work_again(site.managers[CUT_OFF], seen, api)

    return meanwhile


def galera_urls(cluster: GaleraCluster) -> list[str]:
    """Create an empty database and return its URL on each node, in the form of the guide."""
    places = [make_url(url) for url in cluster.create_database()]
    return [guide.connection(GALERA, "root", str(at.database), f"{at.host}:{at.port}") for at in places]


def galera_storm(
    urls: Sequence[str],
    *,
    seconds: float,
    seed: int = SEED,
    meanwhile: Callable[[Fleet], None] | None = None,
) -> Report:
    """Run a storm with an API and a manager on every node."""
    nodes = len(urls)
    return storm(urls, apis=nodes, managers=nodes, seconds=seconds, seed=seed, meanwhile=meanwhile, idle_within=120.0)


def check_galera(report: Report, seen: Seen, urls: Sequence[str], *, outage: bool) -> None:
    """Compare the database with every answer, and every node with the first; raise AssertionError on a difference."""
    report = replace(report, answers=[*report.answers, *seen.creations])
    report.check(urls[0], outage=outage)
    # Before any audit: it is a program, and a program notes in the database that it has seen the clock.
    first, *others = map(all_rows, urls)
    for url, rows in zip(urls[1:], others, strict=True):
        assert differences(first, rows) == [], f"seed {report.seed}: {url} differs"
        assert audit_findings(url) == [], f"seed {report.seed}: {url}"


def all_rows(url: str) -> Dump:
    """Return all rows of a node, by table; the node first catches up with the others."""
    engine = open_engine(url)
    try:
        return dump(engine, lambda _table: True)
    finally:
        engine.dispose()


# ---------------------------------------------------------------- PostgreSQL


def fail_over(pair: PrimaryAndStandby, seen: Seen) -> Callable[[Fleet], None]:
    """Return a function that kills the primary and promotes the standby."""

    def meanwhile(site: Fleet) -> None:
        api = site.apis[0].url
        time.sleep(1)
        pair.primary.kill()
        seen.wait_for_health("health, no primary", api, 503)
        seen.create("create, no primary", api, lease_far_ahead())
        begun = time.monotonic()
        pair.standby.promote()
        seen.took["promoted"] = round(time.monotonic() - begun, 1)
        for member in site.apis:
            wait_for(lambda url=member.url: well(url), within=BACK_WITHIN)  # type: ignore[misc]
        seen.took["all APIs well again"] = round(time.monotonic() - begun, 1)
        for member in site.apis:
            seen.create("create, new primary", member.url, lease_far_ahead())

    return meanwhile


def standby_url(pair: PrimaryAndStandby) -> str:
    """Create an empty database and return the guide's URL for it, which connects to the server that accepts writes."""
    servers = [f"127.0.0.1:{server.port}" for server in (pair.primary, pair.standby)]
    return guide.connection(POSTGRESQL, "postgres", pair.create_database(), *servers)


def standby_storm(
    url: str, *, seconds: float, seed: int = SEED, meanwhile: Callable[[Fleet], None] | None = None
) -> Report:
    """Run a storm on whichever server accepts writes."""
    return storm(
        [url],
        apis=2,
        managers=2,
        seconds=seconds,
        seed=seed,
        clients=CLIENTS,
        options={"database": guide.of_leasehold(POSTGRESQL)},
        meanwhile=meanwhile,
        idle_within=120.0,
    )


def check_standby(report: Report, seen: Seen, url: str) -> None:
    """Compare the database of the promoted server with every answer; raise AssertionError on a difference."""
    report = replace(report, answers=[*report.answers, *seen.creations])
    report.check(url, outage=True)
