"""Four API processes on one database, and a crowd of clients that send at the same moment."""

from __future__ import annotations

import contextlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import requests

from leasehold.cloud.sandbox import seed
from leasehold.db.engine import open_engine
from tests.processes import prepare_database, running
from tests.servers import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

PROCESSES = 4
HOSTS = {"last": 1, "mixed": 3, "slots": 2, "retry": 8, "busy": 3, "fifteen": 5}
"""The number of hosts of each test; a test selects its own hosts by the property `for`."""
VCPUS = 32
ANYTHING = {"hypervisor_properties": "", "resource_properties": ""}


@dataclass(frozen=True)
class Site:
    """One database and several API processes; the client's number selects the process that answers."""

    database_url: str
    urls: Sequence[str]

    def url(self, client: int) -> str:
        return self.urls[client % len(self.urls)]


@contextlib.contextmanager
def database(kind: str, databases: Any, folder: Path) -> Iterator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder}/leasehold.db"
        return
    url: str = databases.create(kind)
    try:
        yield url
    finally:
        databases.drop(kind, url)


def build(url: str) -> None:
    """Create the database, and a cloud with the hosts of all tests."""
    prepare_database(url)
    names = [f"{group}-{number}" for group, count in HOSTS.items() for number in range(count)]
    engine = open_engine(url)
    specs = (seed.HostSpec(100 + n, name, name, VCPUS, 65536, 1000) for n, name in enumerate(names))
    seed.add_hosts(engine, specs)
    engine.dispose()


@pytest.fixture(
    scope="module",
    params=[kind if kind == "sqlite" else pytest.param(kind, marks=pytest.mark.servers) for kind in KINDS],
)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, databases: Any) -> Iterator[Site]:
    """Yield a site on each database. The tests share it, because starting its processes takes longer than a race."""
    with contextlib.ExitStack() as stack:
        url = stack.enter_context(database(request.param, databases, tmp_path_factory.mktemp("race")))
        build(url)
        # These threads live until the end: the kernel stops a process when the thread that started it ends.
        starters = stack.enter_context(ThreadPoolExecutor(PROCESSES))
        programs = [stack.enter_context(running("leasehold-api", database_url=url))]
        others = [running("leasehold-api", database_url=url) for _ in range(PROCESSES - 1)]
        for other, program in zip(others, starters.map(lambda each: each.__enter__(), others), strict=True):
            stack.push(other)
            programs.append(program)
        for group, count in HOSTS.items():
            for number in range(count):
                answer = requests.post(
                    f"{programs[0].url}/os-hosts", json={"name": f"{group}-{number}", "for": group}, timeout=60
                )
                assert answer.status_code == 201, answer.text
        yield Site(url, [program.url for program in programs])
