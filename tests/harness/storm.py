"""Many clients, several API processes and managers: creates, amendments and deletes of every kind in parallel.

    report = storm([url], apis=4, managers=2, seconds=10)
    report.check(url)

For a database cluster, `urls` lists its nodes: the processes use them in rotation, and `check` may use any of them.
The caller's `meanwhile` disturbs the nodes during the storm; the clients record every answer, and every request that
got none.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import requests
from sqlalchemy.exc import DBAPIError

from leasehold.cloud.sandbox.seed import NETWORK_ID, add_hosts
from leasehold.db.engine import open_engine
from tests.harness import mix
from tests.harness.mix import Known, Times
from tests.harness.programs import fleet
from tests.harness.report import Report
from tests.harness.tables import read_tables
from tests.harness.verdict import open_work
from tests.harness.visitor import ANSWERED_WITHIN, NEWEST, NO_ANSWER, VERSION, Asked, Outcome, Visitor
from tests.processes import prepare_database, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.harness.programs import Fleet
    from tests.processes import Options

SEED = 20_261_121
CLIENTS = 32
RECENT = 40
"""Clients mostly amend and delete one of this many newest leases."""
WANTED_WITHIN = 120.0
PAUSE = 0.2
"""Seconds that a client waits after no answer or a 503, because an immediate retry would hardly do better."""
POOLS = {"reservation", "shared"}
HOMES = dict.fromkeys(mix.HOSTS, "reservation") | {spec.hypervisor_hostname: "shared" for spec in mix.SHARED}
"""The pool in which each host is at first."""
OFFERS = 0.12
"""The share of requests that are about offers."""
MOVES = 0.05
"""The share of requests that move a host between the pools."""


@dataclass
class Crowd:
    """The state that the clients share: the known leases, and whether to go on."""

    seed: int
    times: Times
    until: float
    left: int | None
    answers: list[Asked] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: list[Known] = field(default_factory=list)
    _offers: list[Asked] = field(default_factory=list)

    def another(self) -> bool:
        """Return whether one more request is wanted, and count it."""
        with self._lock:
            if self.left is not None:
                self.left -= 1
            return time.monotonic() < self.until and (self.left is None or self.left >= 0)

    def pick(self, rng: random.Random) -> Known | None:
        with self._lock:
            return rng.choice(self._known[-RECENT:] if rng.random() < 0.8 else self._known) if self._known else None

    def ask(self, visitor: Visitor, rng: random.Random) -> None:
        """Send one request of the mix and record its answer; rest if it got none or a 503."""
        if rng.random() < MOVES:
            self.move_a_host(visitor, rng)
            return
        if rng.random() < OFFERS:
            self.ask_about_offers(visitor, rng)
            return
        answer = self._asked(visitor, rng)
        with self._lock:
            self.answers.append(answer)
            if answer.status in (200, 201):
                new = Known.of(answer.body["lease"])
                self.done[f"{answer.kind}: kept"] += answer.body["lease"]["status"] == "IN_PROGRESS"
                self._known = [each for each in self._known if each.lease_id != new.lease_id] + [new]
            elif answer.status in (204, 404):
                self._known = [each for each in self._known if each.lease_id != answer.lease_id]
        if answer.status in (NO_ANSWER, 503):
            time.sleep(PAUSE)

    def ask_about_offers(self, visitor: Visitor, rng: random.Random) -> None:
        """Ask for an offer, or accept or delete one of another client's; some that nobody takes lapse."""
        with self._lock:
            offer = rng.choice(self._offers[-RECENT:]) if self._offers else None
        chance = rng.random()
        if offer is None or chance < 0.5:
            answer = visitor.offer(mix.offering(rng, self.times), "offer")
        elif chance < 0.85:
            answer = visitor.accept(offer, "accept offer")
        else:
            answer = visitor.ask("DELETE", f"/offers/{offer.lease_id}", None, "delete offer", offer.lease_id, NEWEST)
        with self._lock:
            self.answers.append(answer)
            if answer.status == 201 and answer.kind == "offer":
                self._offers.append(answer)
            elif answer.kind != "offer" and answer.outcome is not Outcome.UNKNOWN:
                # One of two that accept it at once finds the lease known already.
                self._offers = [each for each in self._offers if each.lease_id != answer.lease_id]
                if answer.status == 201:
                    new = Known.of(answer.body["lease"])
                    self._known = [each for each in self._known if each.lease_id != new.lease_id] + [new]
        if answer.status in (NO_ANSWER, 503):
            time.sleep(PAUSE)

    def move_a_host(self, visitor: Visitor, rng: random.Random) -> None:
        """Let a host go back to the pool in which it was at first; if all are there, sometimes draw a shared one."""
        listed = visitor.ask("GET", "/os-hosts")
        hosts = {host["hypervisor_hostname"]: host for host in (listed.body["hosts"] if listed.status == 200 else ())}
        away = [name for name, pool in HOMES.items() if name in hosts and hosts[name]["pool"] in POOLS - {pool}]
        name = rng.choice(away or sorted(HOMES))
        pool = HOMES[name] if away else "reservation"
        if name in hosts and (away or rng.random() < 0.2):
            answer = visitor.ask("PUT", f"/os-hosts/{hosts[name]['id']}", {"pool": pool})
            with self._lock:
                self.done[f"{'home' if away else 'drawn'} to {pool}: {answer.status}"] += 1

    def _asked(self, visitor: Visitor, rng: random.Random) -> Asked:
        known, chance = self.pick(rng), rng.random()
        if known is None or chance < 0.55:
            kind, body = mix.creation(rng, self.times)
            return visitor.create(body, kind)
        if chance < 0.8:
            kind, body = mix.amendment(known, rng, self.times)
            return visitor.amend(known.lease_id, body, kind)
        return visitor.delete(known.lease_id)


def _visit(number: int, crowd: Crowd, site: Fleet) -> None:
    rng = random.Random(crowd.seed * 1000 + number)  # noqa: S311 - a workload wants repeatable numbers
    with requests.Session() as session:
        while crowd.another():
            crowd.ask(Visitor(number, session, site.url(number)), rng)


def enrol(site: Fleet) -> None:
    """Enrol the hosts and addresses that the clients compete for."""
    things = [("os-hosts", {"name": name, "pool": pool}) for name, pool in HOMES.items()]
    network = {"floating_network_id": NETWORK_ID}
    things += [("floatingips", {**network, "floating_ip_address": address}) for address in mix.ADDRESSES]
    for noun, body in things:
        answer = requests.post(f"{site.url(0)}/{noun}", json=body, headers=VERSION, timeout=ANSWERED_WITHIN)
        assert answer.status_code == 201, answer.text


def prepare(url: str) -> None:
    """Prepare an empty database, and give its cloud the hosts that `enrol` enrols."""
    prepare_database(url)
    engine = open_engine(url)
    add_hosts(engine, mix.SHARED)
    engine.dispose()


def wait_until_idle(urls: Sequence[str], within: float) -> float:
    """Wait until the managers have no work left, asking any node that answers; return the seconds."""
    begun = time.monotonic()
    left: Sequence[str] = ["no node of the database answers"]
    while time.monotonic() < begun + within:
        for url in urls:
            with suppress(DBAPIError):
                left = open_work(read_tables(url))
                break
        if not left:
            return time.monotonic() - begun
        time.sleep(0.1)
    raise AssertionError(f"Not at rest after {within} s:\n" + "\n".join(left[:20]))


def storm(
    urls: Sequence[str],
    *,
    apis: int = 4,
    managers: int = 2,
    seconds: float = 10.0,
    requests_wanted: int | None = None,
    seed: int = SEED,
    clients: int = CLIENTS,
    times: Times | None = None,
    options: Options | None = None,
    visit: Callable[[int, Crowd, Fleet], None] = _visit,
    meanwhile: Callable[[Fleet], None] | None = None,
    wanted: Callable[[], object] | None = None,
    idle_within: float = 60.0,
) -> Report:
    """Run a storm on an empty database, which is prepared first; return the report once the managers are idle.

    The storm lasts `seconds`, or until the wanted number of requests was sent. The processes use `urls` in rotation.
    Each client runs `visit` in a thread. `meanwhile` runs in this thread during the requests; the storm lasts at least
    until it returns. The clients also go on until `wanted` returns true, because a busy machine gets little done in
    `seconds`. AssertionError is raised when that takes too long, or when the managers do not become idle in time.
    """
    prepare(urls[0])
    with fleet(urls, apis=apis, managers=managers, options=options) as site:
        enrol(site)
        begun = time.monotonic()
        until = begun + (seconds if requests_wanted is None else 24 * 3600)
        crowd = Crowd(seed, times or Times(), until if wanted is None else math.inf, requests_wanted)
        with ThreadPoolExecutor(clients) as threads:
            visits = [threads.submit(visit, number, crowd, site) for number in range(clients)]
            if meanwhile is not None:
                meanwhile(site)
            if wanted is not None:
                try:
                    wait_for(wanted, within=WANTED_WITHIN)
                finally:
                    crowd.until = until
            for each in visits:
                each.result()
        took = time.monotonic() - begun
        rest = wait_until_idle(urls, idle_within)
        work = [manager.work_done() for manager in site.managers]
        return Report(seed, crowd.answers, took, rest, work, crowd.done)
