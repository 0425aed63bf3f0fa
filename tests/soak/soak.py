"""All kinds of work in parallel for a while, while hosts, cloud, processes and database fail.

Afterwards all faults are undone, the managers must become idle within a minute, and the answers are checked.
"""

from __future__ import annotations

import random
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.seed import add_hosts
from leasehold.db.engine import open_engine
from tests.harness.cloud_checks import misplaced_servers
from tests.harness.tables import read_tables
from tests.processes import prepare_database
from tests.race.fleet import answers, fleet, work_done
from tests.race.report import OUTAGE, StormReport
from tests.race.storm import Crowd, enrol, wait_until_idle
from tests.race.wanted import Times
from tests.servers import server_of_kind
from tests.soak.disturbances import Disturber
from tests.soak.people import SPARE, People

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from leasehold.cloud.ports import Server as CloudServer
    from tests.servers import Server

CLIENTS = 10
IDLE_WITHIN = 60.0
USUAL = ("server booted", "server deleted by its user", "host enrolled: 201", "host removed: 204")
"""What must have happened besides requests and disturbances for the mix to be valid."""
REQUESTS = (("create", 201), ("create", 409), ("amend", 200), ("delete", 204))


@dataclass(frozen=True)
class SoakReport:
    """The requests, the actions, and the faults."""

    storm: StormReport
    done: Mapping[str, int]
    disturbances: Mapping[str, int]
    rounds: int
    running: Mapping[str, str]
    servers: Sequence[CloudServer]

    def check(self, url: str) -> None:
        """Raise AssertionError, with the seed, when database, cloud and answers disagree or too little happened."""
        self.storm.check(url, tolerated=OUTAGE, shared=False)
        wrong = list(misplaced_servers(read_tables(url), self.servers, self.running))
        assert not wrong, f"seed {self.storm.seed}: " + "\n".join(wrong[:20])
        asked = {(kind.split()[0], status) for kind, status in self.storm.statuses()}
        missing = [f"{kind} {status}" for kind, status in REQUESTS if (kind, status) not in asked]
        missing += [kind for kind in USUAL if not self.done.get(kind)]
        assert not missing, f"seed {self.storm.seed}: this never happened: {missing}\n{self.table()}"
        assert self.rounds, f"seed {self.storm.seed}: some disturbance never happened: {dict(self.disturbances)}"

    def table(self) -> str:
        """Return all counts as text."""
        counts = {**dict(sorted(self.done.items())), **dict(sorted(self.disturbances.items()))}
        lines = [f"{kind:28}{count:6}" for kind, count in counts.items()]
        return "\n".join([self.storm.table(), *lines])


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


def soak(url: str, server: Server | None, *, seconds: float, seed: int) -> SoakReport:
    """Run all users for `seconds`, and at least until every disturbance happened once; then wait until all is idle."""
    prepare_database(url)
    engine = open_engine(url)
    add_hosts(engine, SPARE)
    cloud = sandbox(engine, faults_in_force=False)
    crowd = Crowd(seed, Times(soon=0.5, stays=0.15), float("inf"), None)
    with fleet([url], apis=2, managers=2) as site:
        enrol(site)
        people = People(site, cloud, crowd, seed)
        disturber = Disturber(site, cloud, server, random.Random(seed))  # noqa: S311 - repeatable, not secret
        begun = time.monotonic()
        with ThreadPoolExecutor(CLIENTS + 1) as threads:
            visits = [threads.submit(people.client, number) for number in range(CLIENTS)]
            visits.append(threads.submit(people.admin, CLIENTS))
            try:
                while time.monotonic() < begun + seconds or not disturber.rounds:
                    disturber.disturb()
            finally:
                people.stop.set()
            for visit in visits:
                visit.result()
        took = time.monotonic() - begun
        disturber.make_good()
        rest = wait_until_idle([url], IDLE_WITHIN)
        work = [work_done(manager) if answers(manager) else {} for manager in site.managers]
    servers = cloud.servers.all()
    engine.dispose()
    return SoakReport(
        StormReport(seed, crowd.answers, took, rest, work),
        people.done,
        disturber.counts,
        disturber.rounds,
        people.running,
        servers,
    )
