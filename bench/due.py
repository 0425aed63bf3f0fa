"""1,000 leases that are due at the same second: how long until the last one is active.

This is harder than the budget, under which they are due in the same minute. One process runs API and manager, as
`leasehold-standalone` does; each lease is one host of the sandbox. The budget is a multiple of the least possible cost
of as many requests, measured in the same run (decision 0117).
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from bench.client import ISO, VERSION_1_1, Client
from bench.deployment import host_lease, running
from bench.fill import filled
from bench.post import least
from bench.row import Row
from bench.watch import seconds_until_active
from tests.servers import KINDS, new_database

if TYPE_CHECKING:
    from collections.abc import Sequence

LEASES: Final = 1_000
RATIO: Final = 5.0
TIMES: Final = 60
"""How often the least cost is measured."""
AHEAD_PER_LEASE: Final = 0.05
"""Seconds of preparation for each lease before they are due: enough to create it and its aggregate."""


def run(*, quick: bool = False) -> list[Row]:
    """Measure on each database; quick: a tenth of the leases, SQLite alone."""
    count = LEASES // 10 if quick else LEASES
    rows, cost = [], least(TIMES) * count / 1000
    for kind in KINDS[:1] if quick else KINDS:
        with new_database(kind) as url:
            filled(url, count)
            with running("leasehold-standalone", database_url=url) as program:
                name = f"{count:,} leases due at one second, {kind}: the last one active after"
                seconds = _measure(url, program.url, count)
                rows.append(Row(name, seconds, "s", RATIO * cost, cost, f"{count:,} times request + commit"))
    return rows


def _measure(database_url: str, url: str, count: int) -> float:
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=10 + AHEAD_PER_LEASE * count)
    with Client(url, VERSION_1_1) as client:
        leases = create(client, [due] * count)
    left = (due - datetime.now(UTC)).total_seconds()
    if left < 0:
        raise TimeoutError(f"Creating {count} leases took {-left:.1f} s longer than planned.")
    time.sleep(left)  # Polling before they are due would only slow the service down.
    return max(seconds_until_active(database_url, dict.fromkeys(leases, due)).values())


def create(client: Client, moments: Sequence[datetime]) -> list[str]:
    """Create a lease of two hours on one host for each start, and return the ids."""
    return [
        client.ask(
            "POST",
            "/leases",
            host_lease(f"due-{number}", start.strftime(ISO), (start + timedelta(hours=2)).strftime(ISO)),
        )
        .expect(201)
        .body["lease"]["id"]
        for number, start in enumerate(moments)
    ]
