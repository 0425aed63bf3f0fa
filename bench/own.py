"""POST of a lease with 10 and with 100,000 open leases in the caller's own project, in turn, on each database.

Ten of them hold a host at any moment: 100,000 leases are of an hour each, and ten of all that time. The limit of hosts
is one that the project's leases, all together, exceed: so each decision counts what is held in its window. The cache of
the server holds all tables, as an operator's does: what reads from the disk take is not what is compared here.
"""

from __future__ import annotations

from contextlib import ExitStack
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from bench.client import MINUTES, Client
from bench.deployment import host_lease, running
from bench.figures import percentile
from bench.fill import filled_in_turn, first_day
from bench.row import Row
from tests.servers import KINDS, new_database

if TYPE_CHECKING:
    from collections.abc import Iterator

HOSTS: Final = 100
AT_ONCE: Final = 10
FEW: Final = AT_ONCE
MANY: Final = 100_000
MOST: Final = {"enforcement": {"max_open_leases": 2 * MANY, "max_hosts_per_project": 50}}
WARM: Final = 20
TIMES: Final = 200
RATIO: Final = 1.2
CACHE_MB: Final = 1_024


def run(*, quick: bool = False) -> list[Row]:
    """Measure on SQLite, MariaDB and PostgreSQL; quick: a tenth of the leases, on SQLite alone."""
    return [row for kind in (KINDS[:1] if quick else KINDS) for row in _measure(kind, MANY // 10 if quick else MANY)]


def _measure(kind: str, many: int) -> Iterator[Row]:
    """Yield the rows of one kind of database."""
    with ExitStack() as stack:
        clients = [_client(stack, kind, count, many) for count in (FEW, many)]
        seconds: list[list[float]] = [[], []]
        for number in range(WARM + TIMES):
            # Spread over all the time in which there are leases.
            start = first_day() + timedelta(hours=number * (many // AT_ONCE // (WARM + TIMES)))
            body = host_lease(f"own-{number}", start.strftime(MINUTES), (start + timedelta(hours=1)).strftime(MINUTES))
            for client, each in zip(clients, seconds, strict=True):
                each.append(client.ask("POST", "/leases", body).expect(201).seconds)
    few, most = (1000 * percentile(each[WARM:], 50) for each in seconds)
    name = "POST a lease, {:,} open leases in its project, {}, p50"
    yield Row(name.format(FEW, kind), few, "ms")
    yield Row(
        name.format(many, kind),
        most,
        "ms",
        RATIO * few,
        few,
        f"{FEW} open leases'",
    )


def _client(stack: ExitStack, kind: str, count: int, many: int) -> Client:
    url = stack.enter_context(new_database(kind, cache_mb=CACHE_MB))
    filled_in_turn(url, HOSTS, count, at_once=AT_ONCE, length=timedelta(hours=many // count))
    api = stack.enter_context(running("leasehold-api", database_url=url, options=MOST))
    return stack.enter_context(Client(api.url))
