"""How many leases a second are granted with 1, 2 and 4 API processes, all from one pool of hosts.

One pool is the hardest case: its decisions run one after the other, across all processes. For comparison, the bare
driver commits the same rows, one after the other on one connection.
"""

from __future__ import annotations

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from bench.client import ISO, VERSION_1_1, Client
from bench.commit import committer
from bench.deployment import host_lease, running
from bench.fill import filled, first_day
from bench.row import Point, Row
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

KINDS: Final = {"mariadb": "MariaDB", "postgresql": "PostgreSQL"}
PROCESSES: Final = (1, 2, 4)
CLIENTS: Final = 8
HOSTS: Final = 100
WARM_SECONDS: Final = 2.0
SECONDS: Final = 8.0
COMMITS: Final = 200


def run(*, quick: bool = False) -> list[Row]:
    """Measure on MariaDB and on PostgreSQL, both with durable commits; quick: MariaDB with 1 and 2 processes."""
    rows: list[Row] = []
    for kind in ("mariadb",) if quick else KINDS:
        with new_database(kind) as url:
            filled(url, HOSTS)
            rows += _measure(KINDS[kind], url, PROCESSES[:2] if quick else PROCESSES)
    return rows


def _measure(database: str, url: str, processes: Sequence[int]) -> Iterator[Row]:
    numbers = itertools.count()
    rates = {}
    for count in processes:
        rates[count] = _rate(url, count, numbers)
    commits = bare_commits(url, numbers)
    yield Row(f"durable commits of a lease's rows by the bare driver, {database}, one after the other", commits, "/s")
    for count, rate in rates.items():
        name = f"leases granted, {count} API process{'es' if count > 1 else ''}, {CLIENTS} clients, {database}"
        yield Row(name, rate, "/s", None, commits, "commits", point=Point("admission", database, count))
    name = f"leases granted, {processes[-1]} API processes beside 1, {database}"
    yield Row(name, rates[processes[-1]], "/s", None, rates[1], "one process's")


def _rate(url: str, processes: int, numbers: Iterator[int]) -> float:
    """Return how many leases a second the clients are granted, after a warm-up."""
    with ExitStack() as stack:
        apis = [stack.enter_context(running("leasehold-api", database_url=url)).url for _ in range(processes)]
        begun = time.monotonic() + WARM_SECONDS
        lock = threading.Lock()

        def work(client_number: int) -> int:
            granted = 0
            with Client(apis[client_number % processes], VERSION_1_1) as client:
                while (now := time.monotonic()) < begun + SECONDS:
                    with lock:
                        number = next(numbers)
                    _create(client, number)
                    granted += now >= begun
            return granted

        with ThreadPoolExecutor(CLIENTS) as threads:
            return sum(threads.map(work, range(CLIENTS))) / SECONDS


def _create(client: Client, number: int) -> str:
    """Create a lease on one of the hosts, all of which are free in its hour."""
    start = first_day() + timedelta(hours=number)
    body = host_lease(f"t-{number}", start.strftime(ISO), (start + timedelta(hours=1)).strftime(ISO))
    return str(client.ask("POST", "/leases", body).expect(201).body["lease"]["id"])


def bare_commits(url: str, numbers: Iterator[int]) -> float:
    """Return how many commits a second of a lease's rows the bare driver does, one after the other."""
    with running("leasehold-api", database_url=url) as api, Client(api.url, VERSION_1_1) as client:
        lease_id = _create(client, next(numbers))
    with committer(url) as bare:
        return COMMITS / sum(bare.again(lease_id) for _ in range(COMMITS))
