"""Shutdown of a manager: it finishes the tasks in progress, and another manager can claim the rest at once."""

from __future__ import annotations

import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.cloud.sandbox.faults import Fault
from leasehold.db.engine import open_engine, reading
from leasehold.db.tables import leases, tasks
from tests.load.conftest import WITHIN, ask, serving
from tests.processes import running, wait_for

if TYPE_CHECKING:
    from sqlalchemy import Engine

pytestmark = [pytest.mark.slow, pytest.mark.servers]

LEASES = 6
FOREVER = 3600
"""Seconds until a claim expires: longer than the test, so another manager gets only tasks that were released."""


def claimed(engine: Engine) -> int:
    with reading(engine) as connection:
        return len(connection.execute(select(tasks.c.id).where(tasks.c.claimed_by.is_not(None))).all())


def statuses(engine: Engine) -> list[str]:
    with reading(engine) as connection:
        return sorted(connection.execute(select(leases.c.status)).scalars())


def taken(pid: int) -> bool:
    """Return whether the process has no pending signal."""
    return "\nShdPnd:\t0000000000000000\n" in Path(f"/proc/{pid}/status").read_text()


@pytest.mark.parametrize(("latency", "allowed"), [(60_000, 0.5), (1_000, 60.0)])
def test_what_it_cannot_finish_is_taken_over_at_once(url: str, latency: int, allowed: float) -> None:
    options = {"manager": {"workers": 2, "claim_seconds": FOREVER, "shutdown_seconds": allowed}}
    engine = open_engine(url)
    cloud = sandbox(engine)
    with serving(url) as api:
        starts = datetime.now(UTC)
        assert [ask(api, number, starts=starts).status_code for number in range(LEASES)] == [201] * LEASES
    cloud.faults.set(Fault("aggregates.ensure", latency_ms=latency))
    with running("leasehold-manager", database_url=url, options=options) as first:
        # Both workers are busy, and two more tasks are claimed but not begun.
        wait_for(lambda: statuses(engine).count("STARTING") == 2 and claimed(engine) == 4, within=WITHIN)
        for _ in range(2):  # Wait between the signals, or the kernel merges them.
            first.process.send_signal(signal.SIGTERM)
            wait_for(lambda: taken(first.process.pid))
        assert first.process.wait(WITHIN) == 0
        unfinished = "Stopped before the work was done" in first.log.read_text()
    assert unfinished is (latency > 1000 * allowed)
    assert claimed(engine) == 0
    cloud.faults.clear()
    with running("leasehold-manager", database_url=url, options=options):
        wait_for(lambda: statuses(engine) == ["ACTIVE"] * LEASES, within=WITHIN)
    engine.dispose()
