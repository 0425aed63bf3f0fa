"""Many clients, several API processes and managers: creates, amendments and deletes of every kind, all at once.

    report = storm([url], apis=4, managers=2, seconds=10)
    report.check(url)

Where the database is a cluster, `urls` names its nodes: each process gets one of them in turn, and `check` may be asked
through any. What happens to the nodes meanwhile is the caller's business (`meanwhile`); the clients take note of every
answer, and of every answer that does not come.
"""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import requests
from sqlalchemy.exc import DBAPIError

from leasehold.cloud.sandbox.seed import NETWORK_ID
from tests.processes import prepare_database
from tests.race import wanted
from tests.race.fleet import fleet, work_done
from tests.race.ledger import read_ledger
from tests.race.report import StormReport
from tests.race.verdict import open_work
from tests.race.visitor import ANSWERED_WITHIN, NO_ANSWER, Asked, Visitor
from tests.race.wanted import Known, Times

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.race.fleet import Fleet, Options

SEED = 20_261_121
CLIENTS = 32
RECENT = 40
"""Clients mostly amend and delete one of so many leases, the youngest that anybody was granted."""
PAUSE = 0.2
"""In seconds, for a client that had no answer or a 503: the next one is not expected to be better at once."""


@dataclass
class Crowd:
    """The clients' common knowledge: which leases there are, and whether to go on."""

    seed: int
    times: Times
    until: float
    left: int | None
    answers: list[Asked] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _known: list[Known] = field(default_factory=list)

    def another(self) -> bool:
        """Say whether one more request is wanted, and count it."""
        with self._lock:
            if self.left is not None:
                self.left -= 1
            return time.monotonic() < self.until and (self.left is None or self.left >= 0)

    def pick(self, rng: random.Random) -> Known | None:
        with self._lock:
            return rng.choice(self._known[-RECENT:] if rng.random() < 0.8 else self._known) if self._known else None

    def note(self, answer: Asked) -> None:
        """Remember an answer, and what it says about which leases there are."""
        with self._lock:
            self.answers.append(answer)
            if answer.status in (200, 201):
                new = Known.of(answer.body["lease"])
                self._known = [each for each in self._known if each.lease_id != new.lease_id] + [new]
            elif answer.status in (204, 404):
                self._known = [each for each in self._known if each.lease_id != answer.lease_id]


def ask_once(visitor: Visitor, crowd: Crowd, rng: random.Random) -> Asked:
    """Send one request of the mix and return it with its answer."""
    known, chance = crowd.pick(rng), rng.random()
    if known is None or chance < 0.55:
        kind, body = wanted.creation(rng, crowd.times)
        return visitor.create(body, kind)
    if chance < 0.8:
        kind, body = wanted.amendment(known, rng, crowd.times)
        return visitor.amend(known.lease_id, body, kind)
    return visitor.delete(known.lease_id)


def _visit(number: int, crowd: Crowd, site: Fleet) -> None:
    rng = random.Random(crowd.seed * 1000 + number)  # noqa: S311 - a workload wants repeatable numbers
    with requests.Session() as session:
        while crowd.another():
            answer = ask_once(Visitor(number, session, site.url(number)), crowd, rng)
            crowd.note(answer)
            if answer.status in (NO_ANSWER, 503):
                time.sleep(PAUSE)


def enrol(site: Fleet) -> None:
    """Enrol the hosts and addresses that the clients fight for."""
    things = [("os-hosts", {"name": name}) for name in wanted.HOSTS]
    network = {"floating_network_id": NETWORK_ID}
    things += [("floatingips", {**network, "floating_ip_address": address}) for address in wanted.ADDRESSES]
    for noun, body in things:
        answer = requests.post(f"{site.url(0)}/{noun}", json=body, timeout=ANSWERED_WITHIN)
        assert answer.status_code == 201, answer.text


def wait_until_idle(urls: Sequence[str], within: float) -> float:
    """Wait until the managers have nothing left to do, asked through whichever node answers; return the seconds."""
    begun = time.monotonic()
    left: Sequence[str] = ["no node of the database answers"]
    while time.monotonic() < begun + within:
        for url in urls:
            with suppress(DBAPIError):
                left = open_work(read_ledger(url))
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
    meanwhile: Callable[[Fleet], None] | None = None,
    idle_within: float = 60.0,
) -> StormReport:
    """Make the database in an empty database and let a storm loose on it; return the report when all has come to rest.

    It lasts `seconds`, or until so many requests were sent. Each process is given one of `urls` in turn. `meanwhile` is
    called in this thread while the clients ask; the storm lasts at least until it returns. Raises AssertionError when
    the managers do not come to rest in time.
    """
    prepare_database(urls[0])
    with fleet(urls, apis=apis, managers=managers, options=options) as site:
        enrol(site)
        begun = time.monotonic()
        until = begun + (seconds if requests_wanted is None else 24 * 3600)
        crowd = Crowd(seed, times or Times(), until, requests_wanted)
        with ThreadPoolExecutor(clients) as threads:
            visits = [threads.submit(_visit, number, crowd, site) for number in range(clients)]
            if meanwhile is not None:
                meanwhile(site)
            for visit in visits:
                visit.result()
        took = time.monotonic() - begun
        rest = wait_until_idle(urls, idle_within)
        work = [work_done(manager) if manager.alive else {} for manager in site.managers]
    return StormReport(seed, crowd.answers, took, rest, work)
