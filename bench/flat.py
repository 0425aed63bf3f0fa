"""What requests cost with 10, 10,000 and 1,000,000 allocations of 10,000 hosts, and as many leases of the caller's own.

Three API processes, each on a MariaDB of its own, get the same requests in turn. A lease has ten hosts, so there are 1,
1,000 and 100,000 leases, all of one project. The cache of each server holds all tables, as an operator's does.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from bench.client import ISO, Client
from bench.deployment import host_lease, running
from bench.figures import percentile
from bench.fill import BUSY, CELL, filled, first_day
from bench.row import Point, Row
from tests.servers import new_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.client import Answer

VERSION: Final = {"OpenStack-API-Version": "reservation 1.3"}
HOSTS: Final = 10_000
PER_LEASE: Final = 10
SIZES: Final = (10, 10_000, 1_000_000)
MANY_LEASES: Final = {"enforcement": {"max_open_leases": -1, "max_hosts_per_project": -1}}
WARM: Final = 10
TIMES: Final = 60
RATIO: Final = 1.2
PAGE: Final = 1_000
PAGE_MS: Final = 40.0
CACHE_MB: Final = 2_048
KINDS: Final = ("POST", "GET", "PUT", "DELETE", "availability", "timeline", "events", "page")


def run(*, quick: bool = False) -> list[Row]:
    """Measure in turns; quick: the two smaller sizes."""
    sizes = SIZES[:-1] if quick else SIZES
    with ExitStack() as stack:
        clients = [_client(stack, size) for size in sizes]
        seconds: dict[tuple[str, int], list[float]] = {(kind, size): [] for kind in KINDS for size in sizes}
        for number in range(WARM + TIMES):
            for size, client in zip(sizes, clients, strict=True):
                for kind, answer in _ask(client, number):
                    seconds[kind, size].append(answer.seconds)
    return [row for kind in KINDS for row in _rows(kind, {size: seconds[kind, size][WARM:] for size in sizes})]


def _client(stack: ExitStack, size: int) -> Client:
    url = stack.enter_context(new_database("mariadb", cache_mb=CACHE_MB))
    filled(url, HOSTS, size // PER_LEASE, per_lease=PER_LEASE)
    api = stack.enter_context(running("leasehold-api", database_url=url, options=MANY_LEASES))
    return stack.enter_context(Client(api.url, VERSION))


def _ask(client: Client, number: int) -> Iterator[tuple[str, Answer]]:
    """Send one request of each kind: a lease is made in an hour in which all hosts are free, shown, cut and deleted."""
    begin = first_day() + number % 5 * CELL + BUSY
    start, middle, end = ((begin + timedelta(minutes=each)).strftime(ISO) for each in (0, 30, 60))
    made = client.ask("POST", "/leases", host_lease(uuid4().hex, start, end)).expect(201)
    path = f"/leases/{made.body['lease']['id']}"
    yield "POST", made
    yield "GET", client.ask("GET", path).expect(200)
    yield "PUT", client.ask("PUT", path, {"end_date": middle}).expect(200)
    yield "DELETE", client.ask("DELETE", path).expect(204)
    window = f"resource_type=physical:host&from={start}&to={end}"
    yield "availability", client.ask("GET", f"/availability?{window}").expect(200)
    yield "timeline", client.ask("GET", f"/timeline?from={start}&to={end}&limit=100").expect(200)
    yield "events", client.ask("GET", "/events?limit=100").expect(200)
    yield "page", client.ask("GET", f"/leases?limit={PAGE}").expect(200)


def _rows(kind: str, seconds: dict[int, list[float]]) -> Iterator[Row]:
    found = {size: 1000 * percentile(each, 50) for size, each in seconds.items()}
    few = found[SIZES[0]]
    for size, p50 in found.items():
        name = f"{kind}, {size:,} allocations, p50"
        point = Point("flat", kind, size)
        if kind == "page":
            # One with a single lease is no page of a thousand.
            yield Row(name, p50, "ms", PAGE_MS, point=point)
        elif size == SIZES[0]:
            yield Row(name, p50, "ms", point=point)
        else:
            yield Row(name, p50, "ms", RATIO * few, few, f"{SIZES[0]} allocations'", point=point)
