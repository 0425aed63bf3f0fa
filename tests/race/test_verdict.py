"""The verdict on a storm detects every kind of error: the test forges the database, one statement at a time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from tests.race.ledger import Ledger
from tests.race.storm import SEED, storm
from tests.race.verdict import open_work, problems
from tests.race.visitor import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from tests.race.report import StormReport

pytestmark = pytest.mark.slow

PENDING = "SELECT id FROM leases WHERE deleted_at IS NULL AND status = 'PENDING' AND start_at < end_at ORDER BY id"
FORGERIES = {
    "left leases": "UPDATE leases SET status_reason = :refused WHERE deleted_at IS NOT NULL",
    "end_date is": "UPDATE leases SET end_at = '2040-01-01 00:00:00' WHERE id = :lease",
    "was promised": "UPDATE leases SET name = 'another' WHERE id = :lease",
    "holds 0": "UPDATE allocations SET ends_at = starts_at WHERE lease_id = :lease",
    "is ERROR": "UPDATE leases SET status = 'ERROR' WHERE id = :lease",
    "is promised whole and otherwise": "UPDATE allocations SET demand = NULL, starts_at = 0 WHERE lease_id = :lease",
    "no row in tasks": "UPDATE tasks SET subject = 'another' WHERE subject = :lease",
    "leasehold-manage audit left with 1": "UPDATE events SET status = 'DONE' WHERE lease_id = :lease",
    "audit_cloud": "DELETE FROM sandbox_aggregate_hosts",
    "was deleted and is still there": "UPDATE leases SET deleted_at = NULL WHERE deleted_at IS NOT NULL",
    "and it is gone": "UPDATE leases SET deleted_at = created_at WHERE id = :lease",
}
"""The text that the verdict must contain, and the statement that causes it; each forges its own lease."""


def test_a_forgery_of_any_kind_is_found(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/leasehold.db"
    report = storm([url], apis=1, managers=1, clients=8, requests_wanted=150)
    report.check(url)
    _forge(url, report)
    found = problems(url, report.answers)
    unnoticed = [said for said in FORGERIES if not any(said in problem for problem in found)]
    assert not unnoticed, f"seed {SEED}: {unnoticed} of {found}"


def test_looking_for_servers_on_a_failed_host_is_no_unfinished_work() -> None:
    due = {"id": 1, "kind": "lease", "subject": "a", "due_at": datetime.now(UTC), "attempts": 18, "last_error": None}
    left = {"lease_id": "a", "left_at": datetime.now(UTC), "released_at": None}
    gone = {**left, "released_at": datetime.now(UTC)}
    idle, busy = {**due, "claimed_by": None}, {**due, "claimed_by": "manager"}
    refused = {**idle, "last_error": "The cloud refused: no"}
    cases = [(idle, left), (idle, gone), (busy, left), (refused, left)]
    found = [open_work(Ledger({"tasks": [task], "allocations": [held], "leases": []})) for task, held in cases]
    assert list(map(bool, found)) == [False, True, True, True]


def _forge(url: str, report: StormReport) -> None:
    refused = next(each.name for each in report.answers if each.method == "POST" and each.outcome is Outcome.REFUSED)
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        leases = connection.execute(sa.text(PENDING)).scalars().all()
        for lease, statement in zip(leases, FORGERIES.values(), strict=False):
            known = {"refused": refused, "lease": lease}
            values = {name: value for name, value in known.items() if f":{name}" in statement}
            assert connection.execute(sa.text(statement), values).rowcount, statement
    engine.dispose()
