"""Real processes under more load than they can serve, on a database that a test can block."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
import requests

from leasehold.cloud.sandbox import seed
from leasehold.db.engine import open_engine, writing
from leasehold.db.pool import lock_pools
from leasehold.model.resource import HOST_POOL
from tests.processes import prepare_database, running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from concurrent.futures import Future
    from pathlib import Path

    from tests.processes import Program

WITHIN = 60.0
SIZE = 24
"""The number of concurrent clients of a crowd."""
VERSION = {"OpenStack-API-Version": "reservation 1.1"}
HOST = {
    "resource_type": "physical:host",
    "min": 1,
    "max": 1,
    "hypervisor_properties": "",
    "resource_properties": "",
}


@pytest.fixture
def url(mariadb_url: str) -> str:
    """Return the URL of a MariaDB database with a sandbox. A test that uses it needs the marker `servers`."""
    prepare_database(mariadb_url)
    return mariadb_url


@pytest.fixture
def file_url(tmp_path: Path) -> str:
    """Return the URL of a SQLite database with a sandbox, for tests that do not depend on the database server."""
    url = f"sqlite:///{tmp_path}/leasehold.db"
    prepare_database(url)
    return url


def enrol(api: Program) -> None:
    """Enrol the sandbox's hosts."""
    for hostname, _ in seed.SUGGESTED_HOSTS:
        requests.post(f"{api.url}/os-hosts", json={"name": hostname}, timeout=WITHIN).raise_for_status()


@contextlib.contextmanager
def serving(database_url: str, **options: object) -> Iterator[Program]:
    """Run an API with these options of `[api]`, and hosts to lease."""
    with running("leasehold-api", database_url=database_url, options={"api": options}) as api:
        enrol(api)
        yield api


@contextlib.contextmanager
def no_decisions(database_url: str) -> Iterator[None]:
    """Hold the lock that every decision needs, so that all requests for a lease wait until the block ends."""
    engine = open_engine(database_url)
    with writing(engine) as connection:
        lock_pools(connection, {HOST_POOL})
        yield
    engine.dispose()


def wanted(number: int, *, starts: datetime | None = None) -> dict[str, Any]:
    """Return a lease body: one host for one hour, a different hour per number unless `starts` is given."""
    start = starts or datetime.now(UTC) + timedelta(days=1, hours=number)
    shown = [f"{moment:%Y-%m-%dT%H:%M:%SZ}" for moment in (start, start + timedelta(hours=1))]
    return {"name": f"lease-{number}", "start_date": shown[0], "end_date": shown[1], "reservations": [HOST]}


def ask(api: Program, number: int, *, starts: datetime | None = None) -> requests.Response:
    """Request a lease on a separate connection."""
    body = wanted(number, starts=starts)
    return requests.post(f"{api.url}/leases", json=body, headers=VERSION, timeout=WITHIN)


class Crowd:
    """Clients that send requests at the same time, each on a separate connection."""

    def __init__(self, api: Program, threads: ThreadPoolExecutor) -> None:
        """Send all requests to this process."""
        self._api = api
        self._threads = threads
        self._asked: list[Future[requests.Response]] = []

    def ask(self, size: int) -> None:
        """Let `size` clients request a lease, each for a different hour."""
        first = len(self._asked)
        self._asked += [self._threads.submit(ask, self._api, first + number) for number in range(size)]

    def delete(self, lease: str, size: int, **headers: str) -> None:
        """Let `size` clients delete a lease."""
        url = f"{self._api.url}/leases/{lease}"
        more = (self._threads.submit(requests.delete, url, headers=headers, timeout=WITHIN) for _ in range(size))
        self._asked += more

    def answered(self) -> list[requests.Response]:
        """Return the answers received so far; raises the exception of a client that failed."""
        return [each.result() for each in self._asked if each.done()]

    def waiting(self) -> int:
        """Return how many clients have no answer yet."""
        return sum(not each.done() for each in self._asked)

    def statuses(self) -> list[int]:
        """Wait for all answers, and return their statuses, sorted."""
        return sorted(each.result(WITHIN).status_code for each in self._asked)


@contextlib.contextmanager
def crowd(api: Program, size: int = SIZE) -> Iterator[Crowd]:
    with ThreadPoolExecutor(size) as threads:
        yield Crowd(api, threads)
