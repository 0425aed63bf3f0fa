"""Requests a second of 1, 8 and 64 clients that want the same pool of one API process.

Each client sends its requests one after the other, and all begin together: first all create, then all amend what they
got, then all ask for all hosts of the same hour and are refused, then all delete what they got. Every lease has an hour
of its own. The clients are of several projects. The process has the threads that it has by default, and lends them to
those that come (decision 0128).
"""

from __future__ import annotations

import itertools
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Final

from bench.client import ISO, VERSION_1_1, Client
from bench.deployment import host_lease, running
from bench.figures import percentile
from bench.fill import filled, first_day
from bench.peers.measure import at_once, processor_seconds
from bench.row import Point, Row
from bench.throughput import KINDS, bare_commits
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from bench.client import Answer
    from tests.processes import Program

CLIENTS: Final = 64
PROJECTS: Final = 8
HOSTS: Final = 100
EACH: Final = 16
"""Leases of one client."""
COUNTS: Final = (1, 8, CLIENTS)
LEAST_LEASES: Final = 256
"""In all: fewer clients have more each."""
PROCESSOR_MS: Final = 1.5
"""For any request of the crowd; a lone one has nobody to share with."""
HOUR: Final = timedelta(hours=1)


@dataclass(slots=True)
class Wanted:
    """What one lease is asked for: the hour with this number; `id` is set when it is created."""

    hour: int
    id: str = ""

    def create(self, client: Client) -> Answer:
        """Create it for the first half of its hour."""
        start = first_day() + self.hour * HOUR
        body = host_lease(f"crowd-{self.hour}", start.strftime(ISO), (start + HOUR / 2).strftime(ISO))
        answer = client.ask("POST", "/leases", body).expect(201)
        self.id = answer.body["lease"]["id"]
        return answer

    def amend(self, client: Client) -> Answer:
        """Extend it to the end of its hour."""
        end = first_day() + (self.hour + 1) * HOUR
        return client.ask("PUT", f"/leases/{self.id}", {"end_date": end.strftime(ISO)}).expect(200)

    def refuse(self, client: Client) -> Answer:
        """Ask for all hosts in its hour, in which it has one."""
        start = first_day() + self.hour * HOUR
        body = host_lease("refused", start.strftime(ISO), (start + HOUR).strftime(ISO), HOSTS)
        return client.ask("POST", "/leases", body).expect(409)

    def delete(self, client: Client) -> Answer:
        """Delete it before it starts."""
        return client.ask("DELETE", f"/leases/{self.id}").expect(204)


VERBS: Final[dict[str, Callable[[Wanted, Client], Answer]]] = {
    "created": Wanted.create,
    "amended": Wanted.amend,
    "refused": Wanted.refuse,
    "deleted": Wanted.delete,
}
"""In this order: each needs what the one before it leaves."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What requests of one kind took: the seconds of each, of all together, and of the processor by the API."""

    each: Sequence[float]
    wall: float
    processor: float

    @property
    def rate(self) -> float:
        """How many were answered a second."""
        return len(self.each) / self.wall

    @property
    def processor_ms(self) -> float:
        """The processor time of the API for one."""
        return 1000 * self.processor / len(self.each)

    def ms(self, percent: float) -> float:
        """Return a percentile of the time that one takes."""
        return 1000 * percentile(self.each, percent)


@contextmanager
def crowd(apis: Sequence[Program], count: int) -> Iterator[list[Client]]:
    """Yield so many clients, of these APIs in turn."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                Client(apis[number % len(apis)].url, {**VERSION_1_1, "X-Project-Id": f"crowd-{number % PROJECTS}"})
            )
            for number in range(count)
        ]


def measured(apis: Sequence[Program], clients: Sequence[Client], each: int, numbers: Iterator[int]) -> dict[str, Spent]:
    """Create, amend and delete so many leases by each client, in hours with the next numbers; return what it took."""
    wanted = [Wanted(number) for number in itertools.islice(numbers, each * len(clients))]
    return {verb: _spent(apis, clients, [partial(act, one) for one in wanted]) for verb, act in VERBS.items()}


def _spent(apis: Sequence[Program], clients: Sequence[Client], acts: Sequence[Callable[[Client], Answer]]) -> Spent:
    processes = [api.process.pid for api in apis]
    processor, begun = processor_seconds(processes), time.perf_counter()
    answers = at_once(clients, acts)
    wall = time.perf_counter() - begun
    return Spent([answer.seconds for answer in answers], wall, processor_seconds(processes) - processor)


def run(*, quick: bool = False) -> list[Row]:
    """Measure on MariaDB and on PostgreSQL, both with durable commits; quick: MariaDB, with a quarter of the leases."""
    return [row for kind in (("mariadb",) if quick else KINDS) for row in _measure(kind, EACH // 4 if quick else EACH)]


def _measure(kind: str, each: int) -> Iterator[Row]:
    numbers = itertools.count()
    with new_database(kind) as url:
        filled(url, HOSTS)
        found = {}
        with running("leasehold-api", database_url=url) as api:
            for count in COUNTS:
                with crowd([api], count) as clients:
                    measured([api], clients, 1, numbers)
                    found[count] = measured([api], clients, max(each, LEAST_LEASES // count), numbers)
        commits = bare_commits(url, numbers)
    for verb in VERBS:
        for count, of_verb in found.items():
            yield from _rows(verb, count, KINDS[kind], of_verb[verb], commits)


def _rows(verb: str, count: int, database: str, spent: Spent, commits: float) -> Iterator[Row]:
    name = f"leases {verb}, 1 API process, {count} client{'s' if count > 1 else ''}, {database}"
    point = Point("crowd", verb, count) if database == KINDS["mariadb"] else None
    yield Row(name, spent.rate, "/s", None, commits, "commits", point=point)
    yield Row(f"{name}, p50", spent.ms(50), "ms")
    yield Row(f"{name}, p99", spent.ms(99), "ms")
    budget = PROCESSOR_MS if count == CLIENTS else None
    yield Row(f"{name}, processor time of the API for each", spent.processor_ms, "ms", budget)
