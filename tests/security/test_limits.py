"""A project's limit holds for many concurrent clients of several processes."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
import requests

from leasehold.cloud.sandbox import seed
from tests.factory import floating_ips, instances
from tests.processes import prepare_database, running

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

pytestmark = pytest.mark.slow

PROCESSES, CLIENTS, LIMIT = 2, 24, 5
OPTIONS = {"enforcement": {"max_open_leases": LIMIT, "max_open_leases_by_project": "unlimited:-1"}}
INSTANCE, ADDRESS = instances(memory_mb=64), floating_ips()
KINDS: Sequence[list[dict[str, Any]]] = ([], [INSTANCE], [ADDRESS], [INSTANCE, ADDRESS])
"""Leases that lock no pool, one pool, the other pool, and both: only the project's lock serialises them."""


@pytest.fixture
def urls(database_url: str) -> Iterator[list[str]]:
    """Yield the endpoints of several processes on one database, with room for every client's lease."""
    prepare_database(database_url)
    with contextlib.ExitStack() as stack:
        programs = [
            stack.enter_context(running("leasehold-api", database_url=database_url, options=OPTIONS))
            for _ in range(PROCESSES)
        ]
        for name, _ in seed.SUGGESTED_HOSTS:
            created = requests.post(f"{programs[0].url}/os-hosts", json={"name": name}, timeout=60)
            assert created.status_code == 201, created.text
        for address in seed.SUGGESTED_FLOATING_IPS:
            body = {"floating_network_id": seed.NETWORK_ID, "floating_ip_address": address}
            assert requests.post(f"{programs[0].url}/floatingips", json=body, timeout=60).status_code == 201
        yield [program.url for program in programs]


def create(url: str, project: str, reservations: list[dict[str, Any]], day: int) -> requests.Response:
    """Request a lease on its own day, so that only the limit can refuse it."""
    window = {"start_date": f"2040-01-{day:02} 10:00", "end_date": f"2040-01-{day:02} 11:00"}
    body = {"name": uuid4().hex, "reservations": reservations, **window}
    headers = {"X-Project-Id": project, "X-Roles": "member,reader"}
    return requests.post(f"{url}/leases", json=body, headers=headers, timeout=90)


def test_a_crowd_gets_exactly_as_many_leases_as_the_limit_says(urls: list[str]) -> None:
    """Runs two rounds, because the first requests of a project create the row that later ones lock."""
    barrier = threading.Barrier(CLIENTS)

    def visit(number: int) -> tuple[str, int, str]:
        project = ("small", "unlimited")[number % 2]
        barrier.wait(60)
        answer = create(urls[number % PROCESSES], project, KINDS[number // 2 % len(KINDS)], 1 + number)
        return project, answer.status_code, answer.json().get("code", "")

    with ThreadPoolExecutor(CLIENTS) as threads:
        first = Counter(threads.map(visit, range(CLIENTS)))
    half = CLIENTS // 2
    assert first == {
        ("small", 201, ""): LIMIT,
        ("small", 403, "leasehold.enforcement.open_leases"): half - LIMIT,
        ("unlimited", 201, ""): half,
    }
    mine = {"X-Project-Id": "small", "X-Roles": "member,reader"}
    leases = requests.get(f"{urls[0]}/leases", headers=mine, timeout=60).json()["leases"]
    assert len(leases) == LIMIT
    for lease in leases[:2]:
        assert requests.delete(f"{urls[1]}/leases/{lease['id']}", headers=mine, timeout=60).status_code == 204
    with ThreadPoolExecutor(CLIENTS) as threads:
        second = Counter(threads.map(visit, range(CLIENTS)))
    assert second["small", 201, ""] == 2, second
