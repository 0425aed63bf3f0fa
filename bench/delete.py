"""DELETE of a pending lease, with many others in the database."""

from __future__ import annotations

from itertools import islice
from typing import Final

from bench.client import Client
from bench.deployment import running
from bench.figures import percentile
from bench.fill import filled
from bench.row import Row
from tests.servers import new_database

HOSTS: Final = 200
LEASES: Final = 4_000
TIMES: Final = 100
UPSTREAM_MS: Final = 3_100.0


def run(*, quick: bool = False) -> list[Row]:
    """Measure on MariaDB, one client, an API and a manager."""
    with new_database("mariadb") as url:
        filled(url, HOSTS, LEASES)
        with (
            running("leasehold-api", database_url=url) as api,
            running("leasehold-manager", database_url=url),
            Client(api.url) as client,
        ):
            leases = client.get("/leases")["leases"]
            chosen = islice(leases, 0, None, len(leases) // (TIMES // 5 if quick else TIMES))
            times = [client.ask("DELETE", f"/leases/{each['id']}").expect(204).seconds for each in chosen]
    name = f"DELETE a pending lease, {LEASES:,} present, MariaDB, p50"
    return [Row(name, 1000 * percentile(times, 50), "ms", None, UPSTREAM_MS, "upstream's")]
