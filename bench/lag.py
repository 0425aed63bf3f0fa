"""How long after its due time a lease starts when nothing else is going on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from bench.client import VERSION_1_1, Client
from bench.deployment import running
from bench.due import create
from bench.figures import percentile
from bench.fill import filled
from bench.row import Row
from bench.watch import seconds_until_active
from tests.servers import new_database

LEASES: Final = 30
SECONDS: Final = 1.5


def run(*, quick: bool = False) -> list[Row]:
    """Measure leases that are due one second after the other, with API and manager in separate processes."""
    count = LEASES // 5 if quick else LEASES
    with new_database("sqlite") as url:
        filled(url, count)
        with (
            running("leasehold-api", database_url=url) as api,
            running("leasehold-manager", database_url=url),
            Client(api.url, VERSION_1_1) as client,
        ):
            begin = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=8)
            moments = [begin + timedelta(seconds=number) for number in range(count)]
            leases = create(client, moments)
            lags = list(seconds_until_active(url, dict(zip(leases, moments, strict=True))).values())
    return [
        Row("start lag when idle, p50", percentile(lags, 50), "s"),
        Row("start lag when idle, p99", percentile(lags, 99), "s", SECONDS),
    ]
