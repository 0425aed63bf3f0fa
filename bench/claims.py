"""How many leases a second are started with 1, 2 and 4 managers.

All are due at the same second, each on its own host. First the sandbox answers at once, so that the database is the
limit; then each call to it takes 50 ms, as with a real cloud, so that the work is mostly waiting.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from bench.deployment import running_managers
from bench.fill import fill_to_start, filled
from bench.row import Point, Row
from bench.watch import seconds_until_active
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.engine import open_engine
from tests.servers import running_mariadb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.servers import Server

MANAGERS: Final = (1, 2, 4)
LATENCIES_MS: Final = {0: "calls answer at once", 50: "calls take 50 ms"}
LEASES: Final = 400
AHEAD_SECONDS: Final = 3.0
"""Enough time to insert the leases."""


def run(*, quick: bool = False) -> list[Row]:
    """Measure on MariaDB with durable commits; quick: fewer leases, 1 and 2 managers."""
    rows: list[Row] = []
    managers = MANAGERS[:2] if quick else MANAGERS
    with running_mariadb() as server:
        for latency, what in LATENCIES_MS.items():
            rates = {count: _rate(server, count, latency, LEASES // 4 if quick else LEASES) for count in managers}
            for count, rate in rates.items():
                name = f"leases started, {count} manager{'s' if count > 1 else ''}, {what}, MariaDB"
                rows.append(Row(name, rate, "/s", None, rates[1], "one manager's", point=Point("claims", what, count)))
    return rows


def _rate(server: Server, managers: int, latency_ms: int, leases: int) -> float:
    """Return how many leases a second become active between the first tenth of them and the last."""
    url = server.create_database()
    filled(url, leases)
    if latency_ms:
        engine = open_engine(url)
        sandbox(engine).faults.set(Fault("*", latency_ms=latency_ms))
        engine.dispose()
    with running_managers(url, managers):
        due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=AHEAD_SECONDS)
        ids = fill_to_start(url, [due] * leases)
        time.sleep(max(0.0, (due - datetime.now(UTC)).total_seconds()))
        lags = sorted(seconds_until_active(url, dict.fromkeys(ids, due)).values())
    server.drop_database(url)
    return rate_of(lags)


def rate_of(lags: Sequence[float]) -> float:
    """Return how many leases a second became active between the first tenth of them and the last."""
    first, last = len(lags) // 10, len(lags) - len(lags) // 10
    return (last - first) / (lags[last - 1] - lags[first - 1])
