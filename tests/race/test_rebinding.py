"""Late binding among processes: leases move for others while managers start them, and no host is promised twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from leasehold.db.engine import open_engine
from tests.harness.database_checks import database_problems
from tests.harness.mix import Span, Times
from tests.harness.storm import storm
from tests.harness.tables import read_tables
from tests.harness.verdict import audit_findings

if TYPE_CHECKING:
    import random

    from tests.processes import Options

pytestmark = pytest.mark.slow

LATE: Options = {
    "manager": {"rebind_before_start_seconds": 1},
    "enforcement": {"max_rebinding_seconds": 5, "max_decision_seconds": 30},
}
"""Leases may move until a second before their start, also on a machine that is busy with other tests."""
SECONDS = 5.0


class Soon(Times):
    """Windows that begin within seconds, of different lengths, so that the gaps between them seldom fit."""

    def draw(self, rng: random.Random) -> Span:
        start = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=rng.randint(2, 20))
        return Span(start, start + timedelta(seconds=rng.randint(2, 10)))


def test_leases_move_while_they_become_due_and_nothing_is_promised_twice(database_url: str) -> None:
    engine = open_engine(database_url)

    def a_lease_moved() -> bool:
        return any(row.start_cause == "moved" for row in read_tables(engine, ["allocations"])["allocations"])

    report = storm(
        [database_url],
        apis=3,
        managers=2,
        seconds=SECONDS,
        clients=12,
        times=Soon(),
        options=LATE,
        wanted=a_lease_moved,
    )
    engine.dispose()
    report.check(database_url)
    assert database_problems(read_tables(database_url), datetime.now(UTC)) == []
    assert audit_findings(database_url) == []
