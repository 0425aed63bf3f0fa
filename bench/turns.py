"""How late one project's leases start while thousands of another project's are due, compared with idle.

All are due at the same second. The bystander's leases were created last, so without fair sharing they start last.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import update

from bench.deployment import running_managers
from bench.figures import percentile
from bench.fill import fill_to_start, filled
from bench.row import Row
from bench.watch import seconds_until_active
from leasehold.db.engine import open_engine, writing
from leasehold.db.tables import leases, tasks
from tests.servers import new_database

BURST: Final = 5_000
BYSTANDERS: Final = 20
AHEAD_SECONDS: Final = 5.0
FILL_SECONDS_PER_LEASE: Final = 0.002
LOOK_EVERY: Final = 0.1
PATIENCE_SECONDS: Final = 600.0


def run(*, quick: bool = False) -> list[Row]:
    """Measure one manager on MariaDB; quick: a tenth of the other project's leases."""
    burst = BURST // 10 if quick else BURST
    (idle, _), (beside, total) = _lags(0), _lags(burst)
    what = f"{BYSTANDERS} starts of one project, {{}}, MariaDB: p99 of their lag"
    alone = percentile(idle, 99)
    return [
        Row(what.format("nothing else due"), alone, "s"),
        Row(what.format(f"{burst:,} of another due before"), percentile(beside, 99), "s", None, alone, "when idle"),
        Row(f"{burst:,} starts of the other project, MariaDB: until the last is active", total, "s"),
    ]


def _lags(burst: int) -> tuple[list[float], float]:
    """Return how late the bystander's leases start when `burst` leases of another project are due at the same second.

    The second figure is how late the last of those starts.
    """
    count = burst + BYSTANDERS
    with new_database("mariadb") as url:
        filled(url, count)
        with running_managers(url, 1):
            due = datetime.now(UTC).replace(microsecond=0)
            due += timedelta(seconds=AHEAD_SECONDS + FILL_SECONDS_PER_LEASE * count)
            every = fill_to_start(url, [due] * count)
            ids, others = every[burst:], every[:burst]
            _give_to_another_project(url, ids)
            time.sleep(max(0.0, (due - datetime.now(UTC)).total_seconds()))
            lags = list(seconds_until_active(url, dict.fromkeys(ids, due), look_every=LOOK_EVERY).values())
            # Only afterwards, because polling thousands of leases is slow.
            last = (
                seconds_until_active(url, dict.fromkeys(others, due), look_every=1.0, patience=600.0) if others else {}
            )
            return lags, max(last.values(), default=0.0)


def _give_to_another_project(url: str, ids: list[str]) -> None:
    engine = open_engine(url)
    with writing(engine) as connection:
        connection.execute(update(leases).where(leases.c.id.in_(ids)).values(project_id="bystander"))
        connection.execute(update(tasks).where(tasks.c.subject.in_(ids)).values(project_id="bystander"))
    engine.dispose()
