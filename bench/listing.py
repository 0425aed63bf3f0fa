"""Listing 1,000 leases: SQL statements, and milliseconds over HTTP."""

from __future__ import annotations

from typing import Final

from bench.client import Client
from bench.figures import percentile
from bench.fill import filled
from bench.inside import inside
from bench.row import Row
from tests.processes import running
from tests.servers import new_database

LEASES: Final = 1_000
HOSTS: Final = 100
STATEMENTS: Final = 3
MILLISECONDS: Final = 150.0


def run(*, quick: bool = False) -> list[Row]:
    """Measure on MariaDB, one client."""
    with new_database("mariadb") as url:
        filled(url, HOSTS, LEASES)
        with inside(url) as api:
            api.ask("GET", "/leases")
            count = len(api.statements)
        with running("leasehold-api", database_url=url) as api_process, Client(api_process.url) as client:
            times = [client.ask("GET", "/leases").expect(200).seconds for _ in range(6 if quick else 31)][1:]
    return [
        Row(f"list {LEASES:,} leases, SQL statements", count, "", STATEMENTS),
        Row(f"list {LEASES:,} leases, MariaDB, p50", 1000 * percentile(times, 50), "ms", MILLISECONDS),
        Row(f"list {LEASES:,} leases, MariaDB, highest", 1000 * max(times), "ms"),
    ]
