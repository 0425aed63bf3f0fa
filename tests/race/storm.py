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
from tests.race.verdict import problems, unsettled
from tests.race.visitor import ANSWERED_WITHIN, NO_ANSWER, Asked, Visitor
from tests.race.wanted import Known, Times

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from tests.race.fleet import Fleet, Options

SEED = 20_261_121
CLIENTS = 32
RECENT = 40
"""Clients amend and delete one of so many leases, the youngest that anybody was granted."""
PAUSE = 0.2
"""In seconds, for a client that had no answer or a 503: the next one is not expected to be better at once."""
EXPECTED = frozenset(
    {("POST", 201), ("POST", 400), ("POST", 409)}
    | {("PUT", 200), ("PUT", 400), ("PUT", 404), ("PUT", 409)}
    | {("DELETE", 204), ("DELETE", 404)}
)
"""What a client has to expect while everything works. 400 is for a window that is over when its turn comes."""
OUTAGE = frozenset((method, status) for method in ("POST", "PUT", "DELETE") for status in (NO_ANSWER, 503))
"""What it has to expect beside that while a database or a process is away."""


@dataclass(frozen=True)
class StormReport:
    """What was asked and answered, how long that took, and what each manager has done."""

    seed: int
    answers: Sequence[Asked]
    seconds: float
    settled_after: float
    work: Sequence[Mapping[str, int]]

    @property
    def granted(self) -> int:
        """How many leases were granted."""
        return sum(answer.status == 201 for answer in self.answers)

    def statuses(self) -> dict[tuple[str, int], int]:
        """Return how often each kind of request got each status, by kind and status."""
        found: dict[tuple[str, int], int] = {}
        for answer in self.answers:
            found[answer.kind, answer.status] = found.get((answer.kind, answer.status), 0) + 1
        return dict(sorted(found.items()))

    def check(self, url: str, *, tolerated: Collection[tuple[str, int]] = (), shared: bool = True) -> None:
        """Raise AssertionError, with the seed, for an answer nobody has to expect and for all that the books belie.

        `tolerated` are the answers, by method and status, that are fine beside `EXPECTED`; see `OUTAGE`. With `shared`
        every manager has to have done some of the work.
        """
        strange = [answer for answer in self.answers if (answer.method, answer.status) not in {*EXPECTED, *tolerated}]
        found = [f"{answer.kind} was answered {answer.status}: {answer.body}" for answer in strange[:5]]
        found += problems(url, self.answers)
        if shared and not all(sum(done.values()) for done in self.work):
            found.append(f"not every manager has done some of the work: {self.work}")
        assert not found, f"seed {self.seed}: {self.statuses()}\n" + "\n".join(found[:40])

    def table(self) -> str:
        """Return the requests by kind and status, and the rates, as text."""
        kinds = sorted({answer.kind for answer in self.answers})
        columns = sorted({answer.status for answer in self.answers})
        counts = self.statuses()
        lines = [("request", *(str(status or "none") for status in columns), "all", "mean s")]
        for kind in kinds:
            row = [counts.get((kind, status), 0) for status in columns]
            took = sum(answer.seconds for answer in self.answers if answer.kind == kind) / sum(row)
            lines.append((kind, *map(str, row), str(sum(row)), f"{took:.2f}"))
        total = [sum(counts.get((kind, status), 0) for kind in kinds) for status in columns]
        took = sum(answer.seconds for answer in self.answers) / max(1, len(self.answers))
        lines.append(("all", *map(str, total), str(len(self.answers)), f"{took:.2f}"))
        widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
        text = "\n".join("  ".join(map(_padded, line, widths)) for line in lines)
        rates = f"{len(self.answers) / self.seconds:.0f} requests/s, {self.granted / self.seconds:.1f} leases/s"
        work = "\n".join(f"manager {number}: {dict(done)}" for number, done in enumerate(self.work, 1))
        return f"{text}\n{self.seconds:.1f} s, {rates}, settled after {self.settled_after:.1f} s\n{work}"


def _padded(cell: str, width: int) -> str:
    """Return a cell of the table: words stand left, numbers right."""
    return cell.rjust(width) if cell[:1].isdigit() else cell.ljust(width)


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
            return rng.choice(self._known[-RECENT:]) if self._known else None

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


def settle(urls: Sequence[str], within: float) -> float:
    """Wait until the managers have nothing left to do, asked through whichever node answers; return the seconds."""
    begun = time.monotonic()
    left: Sequence[str] = ["no node of the database answers"]
    while time.monotonic() < begun + within:
        for url in urls:
            with suppress(DBAPIError):
                left = unsettled(read_ledger(url))
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
    settle_within: float = 60.0,
) -> StormReport:
    """Make the books in an empty database and let a storm loose on it; return the report when all has come to rest.

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
        rest = settle(urls, settle_within)
        work = [work_done(manager) if manager.alive else {} for manager in site.managers]
    return StormReport(seed, crowd.answers, took, rest, work)
