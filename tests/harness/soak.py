"""All kinds of work in parallel for a while, while hosts, cloud, processes and database fail.

Afterwards all faults are undone, the managers must become idle within a minute, and the answers are checked.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import requests
from sqlalchemy.exc import DBAPIError

from leasehold.cloud.ports import CloudError
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.seed import HOSTS as PLANTED
from leasehold.cloud.sandbox.seed import HostSpec, add_hosts
from leasehold.db.engine import open_engine
from tests.harness.cloud_checks import misplaced_servers
from tests.harness.disturbances import Disturber
from tests.harness.mix import HOSTS, Times
from tests.harness.storm import storm
from tests.harness.tables import read_tables
from tests.harness.visitor import Visitor
from tests.servers import server_of_kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from leasehold.cloud.sandbox.cloud import SandboxCloud
    from tests.harness.mix import Known
    from tests.harness.programs import Fleet
    from tests.harness.report import Report
    from tests.harness.storm import Crowd
    from tests.servers import Server

CLIENTS = 10
SPARE = tuple(HostSpec(100 + n, f"spare-{n}", f"spare-{n}", 1, 1024, 20) for n in range(3))
"""Hosts that the admin enrols and removes again; few leases ask for hosts that small."""
POOLS = ("reservation", "shared")
THINKING = 0.05
EXTRA_SECONDS = 300
"""For how long the users go on if something of `USUAL` has not happened yet: the machine may be slow, or luck bad."""
PROJECT = "demo"
USUAL = (
    "server booted",
    "server booted without a lease",
    "server deleted by its user",
    "host enrolled: 201",
    "host removed: 204",
)
"""What must have happened besides requests and disturbances for the mix to be valid."""
OTHERS = "it never had a lease"
"""What the servers are called that run on the shared hosts."""
REQUESTS = {("create", 201), ("create", 409), ("amend", 200), ("delete", 204)}


@dataclass
class People:
    """The users: clients with leases and their servers in the cloud, and an admin, until they are told to stop.

    `done` counts the actions that are not lease requests. `running` maps the ids of the servers that were booted and
    not deleted by their user to their reservations, or to `OTHERS`.
    """

    cloud: SandboxCloud
    done: Counter[str] = field(default_factory=Counter)
    running: dict[str, str] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def visit(self, number: int, crowd: Crowd, site: Fleet) -> None:
        """Request, change and delete leases, and boot servers in them; the last client is the admin."""
        rng = random.Random(crowd.seed * 1000 + number)  # noqa: S311 - a workload wants repeatable numbers
        with requests.Session() as session:
            while not self.stop.wait(4 * THINKING if number == CLIENTS else THINKING):
                visitor = Visitor(number, session, site.url(number))
                if number == CLIENTS:
                    self._administer(crowd, visitor, rng)
                elif rng.random() < 0.15:
                    self._boot(_begun(crowd, rng), rng)
                else:
                    crowd.ask(visitor, rng)

    def _boot(self, known: Known | None, rng: random.Random) -> None:
        """Boot a server in some lease, named after its reservation, with the reservation's own flavor if it has one."""
        if known is None:
            return
        part = rng.choice(known.parts)
        flavor = part["id"] if part["resource_type"] in ("virtual:instance", "flavor:instance") else "m1.small"
        hints = [part["id"]] if part["resource_type"] == "physical:host" else []
        self._boot_as(part["id"], flavor, hints, rng, "server booted")

    def _boot_as(self, name: str, flavor: str, hints: Sequence[str], rng: random.Random, what: str) -> None:
        with suppress(CloudError, DBAPIError):
            server = self.cloud.servers.boot(name, PROJECT, flavor, hints)
            self._count(what if server.status == "ACTIVE" else "server found no host")
            if rng.random() < 0.2:
                self.cloud.servers.delete(server.id)
                self._count("server deleted by its user")
            elif server.status == "ACTIVE":
                with self._lock:
                    self.running[server.id] = name

    def _delete_one(self, rng: random.Random) -> None:
        """Delete a server of which its user has no more need, also one that has outlived its lease."""
        with self._lock:
            server = rng.choice(sorted(self.running)) if self.running else None
            self.running.pop(server or "", None)
        if server is not None:
            with suppress(CloudError, DBAPIError):
                self.cloud.servers.delete(server)
                self._count("server deleted by its user")

    def _administer(self, crowd: Crowd, visitor: Visitor, rng: random.Random) -> None:
        """Enrol a spare host, let it serve everybody or leases, or take it out of service; count the API's answers."""
        if rng.random() < 0.3:
            self._boot_as(OTHERS, "m1.small", (), rng, "server booted without a lease")
            self._delete_one(rng)
            crowd.move_a_host(visitor, rng)
        if rng.random() < 0.4:
            body = {"name": rng.choice(SPARE).hypervisor_hostname, "pool": rng.choice(POOLS)}
            self._count(f"host enrolled: {visitor.ask('POST', '/os-hosts', body).status}")
            return
        listed, spare = visitor.ask("GET", "/os-hosts"), {spec.hypervisor_hostname for spec in SPARE}
        hosts = listed.body["hosts"] if listed.status == 200 else []
        found = [host["id"] for host in hosts if host["hypervisor_hostname"] in spare]
        if found and rng.random() < 0.5:
            pool = rng.choice(POOLS)
            answer = visitor.ask("PUT", f"/os-hosts/{rng.choice(found)}", {"pool": pool})
            self._count(f"host to be {pool}: {answer.status}")
        elif found:
            self._count(f"host removed: {visitor.ask('DELETE', f'/os-hosts/{rng.choice(found)}').status}")

    def missing(self) -> list[str]:
        """Return what of `USUAL` has not happened yet."""
        with self._lock:
            return [kind for kind in USUAL if not self.done[kind]]

    def _count(self, what: str) -> None:
        with self._lock:
            self.done[what] += 1


def _begun(crowd: Crowd, rng: random.Random) -> Known | None:
    """Return a lease in whose window servers can be booted, if one is found soon; otherwise any other."""
    known, now = crowd.pick(rng), datetime.now(UTC)
    for _ in range(8):
        if known is not None and known.span.start <= now < known.span.end:
            break
        known = crowd.pick(rng)
    return known


@contextmanager
def place(kind: str) -> Iterator[tuple[str, Server | None]]:
    """Yield the URL of an empty database, and its server if it has one to restart."""
    with ExitStack() as stack:
        if kind == "sqlite":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="leasehold-soak-"))
            yield f"sqlite:///{Path(folder) / 'leasehold.db'}", None
        else:
            server = stack.enter_context(server_of_kind(kind))
            yield server.create_database(), server


def soak(url: str, server: Server | None, *, seconds: float, seed: int) -> Report:
    """Run all users for `seconds`, longer if something has not happened once by then; then wait until all is idle."""
    engine = open_engine(url)
    cloud = sandbox(engine, faults_in_force=False)
    people, disturber = People(cloud), Disturber(cloud, server, random.Random(seed))  # noqa: S311 - repeatable

    def disturb(site: Fleet) -> None:
        add_hosts(engine, SPARE)
        for spec in (spec for spec in PLANTED if spec.hypervisor_hostname not in HOSTS):
            # Otherwise all that has no lease would run there.
            cloud.hypervisors.disable(spec.service_host, "nobody uses it")
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until or not disturber.rounds:
                disturber.disturb(site)
            while people.missing() and time.monotonic() < until + EXTRA_SECONDS:
                disturber.disturb(site)
        finally:
            people.stop.set()
        disturber.make_good()

    try:
        report = storm(
            [url],
            apis=2,
            managers=2,
            seed=seed,
            clients=CLIENTS + 1,
            times=Times(soon=0.5, stays=0.15, retry=0.05),
            visit=people.visit,
            meanwhile=disturb,
        )
        wrong = list(misplaced_servers(read_tables(url), cloud.servers.all(), people.running))
    finally:
        engine.dispose()
    missing = [*(REQUESTS - report.verbs()), *people.missing()]
    if missing:
        wrong.append(f"this never happened: {missing}\n{report.table()}")
    return replace(report, done=people.done + disturber.counts + Counter(report.done), wrong=wrong)
