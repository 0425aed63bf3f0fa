"""Listing leases: SQL statements, and milliseconds over HTTP for 100, 1,000 and 10,000 of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bench.client import Client
from bench.deployment import running
from bench.figures import percentile
from bench.fill import filled
from bench.inside import inside
from bench.row import Point, Row
from tests.servers import running_mariadb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.servers import Server

LEASES: Final = (100, 1_000, 10_000)
BUDGETED: Final = 1_000
HOSTS: Final = 100
STATEMENTS: Final = 3
MILLISECONDS: Final = 150.0
TIMES: Final = {100: 30, 1_000: 30, 10_000: 5}


def run(*, quick: bool = False) -> list[Row]:
    """Measure on MariaDB, one client; quick: 1,000 leases alone."""
    with running_mariadb() as server:
        return [
            row
            for leases in ((BUDGETED,) if quick else LEASES)
            for row in _measure(server, leases, 5 if quick else TIMES[leases])
        ]


def _measure(server: Server, leases: int, times: int) -> Iterator[Row]:
    url = server.create_database()
    filled(url, HOSTS, leases)
    with inside(url) as api:
        api.ask("GET", "/leases")
        count = len(api.statements)
    with running("leasehold-api", database_url=url) as api_process, Client(api_process.url) as client:
        lists = [client.ask("GET", "/leases").expect(200).seconds for _ in range(times + 1)][1:]
        trivials = [client.ask("GET", "//versions").expect(300).seconds for _ in range(times + 1)][1:]
    server.drop_database(url)
    budgets = (STATEMENTS, MILLISECONDS) if leases == BUDGETED else (None, None)
    p50, trivial = (1000 * percentile(each, 50) for each in (lists, trivials))
    point = Point("list", "GET /leases, p50", leases)
    yield Row(f"list {leases:,} leases, SQL statements", count, "", budgets[0])
    yield Row(f"list {leases:,} leases, MariaDB, p50", p50, "ms", budgets[1], trivial, "trivial requests", point=point)
    yield Row(f"list {leases:,} leases, MariaDB, highest", 1000 * max(lists), "ms")
