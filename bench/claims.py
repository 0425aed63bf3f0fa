"""How many leases a second are started with 1, 2 and 4 managers.

All are due at one second, on hosts of their own. Once the sandbox answers at once, so that the work is the database's;
once every call to it takes 50 ms, as a real cloud's do, so that it is mostly waiting.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from bench.fill import filled_to_start
from bench.row import Point, Row
from bench.watch import seconds_until_active
from leasehold.books.engine import open_engine
from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.faults import Fault
from tests.processes import running
from tests.servers import running_mariadb

if TYPE_CHECKING:
    from tests.servers import Server

MANAGERS: Final = (1, 2, 4)
LATENCIES_MS: Final = {0: "calls answer at once", 50: "calls take 50 ms"}
LEASES: Final = 400
AHEAD_SECONDS: Final = 6.0
AHEAD_PER_MANAGER: Final = 1.0
"""Enough to fill the books and to start the managers."""


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
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=AHEAD_SECONDS + AHEAD_PER_MANAGER * managers)
    ids = filled_to_start(url, [due] * leases)
    if latency_ms:
        engine = open_engine(url)
        sandbox(engine).faults.set(Fault("*", latency_ms=latency_ms))
        engine.dispose()
    with ExitStack() as stack:
        for _ in range(managers):
            stack.enter_context(running("leasehold-manager", database_url=url))
        time.sleep(max(0.0, (due - datetime.now(UTC)).total_seconds()))
        lags = sorted(seconds_until_active(url, dict.fromkeys(ids, due)).values())
    server.drop_database(url)
    first, last = leases // 10, leases - leases // 10
    return (last - first) / (lags[last - 1] - lags[first - 1])
