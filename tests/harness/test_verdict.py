"""The verdict on a storm detects every kind of error: the test forges a copy of the database with one statement."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
import sqlalchemy as sa

from leasehold.cloud.ports import Server
from tests.harness.cloud_checks import misplaced_servers
from tests.harness.report import OVERLOADED, Report
from tests.harness.storm import SEED, storm
from tests.harness.tables import Row, Tables
from tests.harness.verdict import open_work, problems
from tests.harness.visitor import Asked, Outcome

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

PENDING = "SELECT id FROM leases WHERE deleted_at IS NULL AND status = 'PENDING' AND start_at < end_at"
PART = "SELECT reservation_id FROM allocations JOIN sandbox_flavors ON sandbox_flavors.id = reservation_id"
FORGERIES = {
    "left leases": "UPDATE leases SET status_reason = :refused WHERE deleted_at IS NOT NULL",
    "end_date is": "UPDATE leases SET end_at = '2040-01-01 00:00:00' WHERE id = :lease",
    "was promised": "UPDATE leases SET name = 'another' WHERE id = :lease",
    "holds 0": "UPDATE allocations SET ends_at = starts_at WHERE lease_id = :lease",
    "is ERROR": "UPDATE leases SET status = 'ERROR' WHERE id = :lease",
    "is promised whole and otherwise": "UPDATE allocations SET demand = NULL, starts_at = 0 WHERE lease_id = :lease",
    "leases without a task": "UPDATE tasks SET subject = 'another' WHERE subject = :lease",
    "leasehold-manage audit left with 1": "UPDATE events SET status = 'DONE' WHERE lease_id = :lease",
    "the free pool has": "DELETE FROM sandbox_aggregate_hosts",
    "was deleted and is still there": "UPDATE leases SET deleted_at = NULL WHERE deleted_at IS NOT NULL",
    "and it is gone": "UPDATE leases SET deleted_at = created_at WHERE id = :lease",
    "and has promised": "UPDATE allocations SET slots = 1000 WHERE demand IS NOT NULL AND ends_at > starts_at",
    "are ahead of the generations": "UPDATE allocations SET generation = 1000000 WHERE lease_id = :lease",
    "rows of the unknown leases": "UPDATE outbox SET lease_id = 'another' WHERE lease_id = :lease",
    "have no row in outbox": "DELETE FROM outbox WHERE lease_id = :lease",
    "and has the places": "DELETE FROM outbox WHERE position = 3",
    "are out of order": "UPDATE outbox SET generation = 1000000 WHERE event_type = 'lease.create'",
    "were never promised anything": "DELETE FROM allocations WHERE lease_id = :lease",
    "start_lease": "UPDATE events SET time = '2040-01-01 00:00:00' WHERE type = 'start_lease' AND lease_id = :lease",
    "and holds 0": "UPDATE allocations SET released_at = '2020-01-01 00:00:00' WHERE lease_id = :lease",
    "ended leases still hold": "UPDATE allocations SET released_at = NULL WHERE released_at IS NOT NULL",
    "due_at=None": "UPDATE tasks SET due_at = NULL WHERE subject = :lease",
    "is due at": "UPDATE tasks SET due_at = '2020-01-01 00:00:00' WHERE subject = :lease",
    "begin before their lease was created": "UPDATE segments SET starts_at = 0",
    "last longer than their lease": "UPDATE segments SET ends_at = ends_at + 1000000",
    "was held twice": "UPDATE segments SET demand = NULL, resource_number = 1, starts_at = 0",
    "is in no segment": "DELETE FROM segments",
    "is not closed": "UPDATE allocations SET recorded_until = NULL WHERE released_at IS NOT NULL",
    "aggregates are wrong": "DELETE FROM sandbox_aggregates WHERE name = :part",
    "flavors are wrong": "DELETE FROM sandbox_flavors WHERE id = :part",
    "is open to": "INSERT INTO sandbox_flavor_access VALUES (:part, 'another')",
    "resource classes are wrong": "INSERT INTO sandbox_resource_classes VALUES ('CUSTOM_RESERVATION_LEFT')",
    "held for a lease that does not wait": "UPDATE resources SET held_for = 'another' WHERE type = 'physical:host'",
    "nobody works on them": "UPDATE resources SET membership = 'drawing' WHERE type = 'physical:host'",
    "not in the reservation pool are promised": "UPDATE resources SET membership = 'shared' WHERE number IN "
    "(SELECT resource_number FROM allocations WHERE lease_id = :lease)",
    "hosts are still closed": "UPDATE sandbox_hypervisors SET enabled = 0",
    "addresses are": "INSERT INTO sandbox_floating_ips SELECT 'x', network_id, id, '203.0.113.9', 'demo', NULL "
    "FROM sandbox_subnets LIMIT 1",
}
"""A text that the verdict must contain, and the statement that causes it."""


@pytest.mark.timeout(600)
def test_a_forgery_of_any_kind_is_found(tmp_path: Path) -> None:
    report = storm([f"sqlite:///{tmp_path}/true.db"], apis=1, managers=1, clients=8, requests_wanted=150)
    report.check(f"sqlite:///{tmp_path}/true.db")

    def found(number: int, said: str) -> bool:
        url = f"sqlite:///{shutil.copy(tmp_path / 'true.db', tmp_path / f'{number}.db')}"
        _forge(url, FORGERIES[said], report)
        return any(said in problem for problem in problems(url, report.answers))

    with ThreadPoolExecutor(2) as threads:
        noticed = list(threads.map(found, range(len(FORGERIES)), FORGERIES))
    unnoticed = [said for said, seen in zip(FORGERIES, noticed, strict=True) if not seen]
    assert not unnoticed, f"seed {SEED}"


def _forge(url: str, statement: str, report: Report) -> None:
    refused = next(each.name for each in report.answers if each.method == "POST" and each.outcome is Outcome.REFUSED)
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        lease, part = (connection.execute(sa.text(query)).scalars().first() for query in (PENDING, PART))
        known = {"refused": refused, "lease": lease, "part": part}
        values = {name: value for name, value in known.items() if f":{name}" in statement}
        assert connection.execute(sa.text(statement), values).rowcount, statement
    engine.dispose()


def test_looking_for_servers_on_a_failed_host_is_no_unfinished_work() -> None:
    due = {"id": 1, "kind": "lease", "subject": "a", "due_at": datetime.now(UTC), "attempts": 18, "last_error": None}
    left = Row(lease_id="a", left_at=datetime.now(UTC), released_at=None)
    gone = Row(lease_id="a", left_at=datetime.now(UTC), released_at=datetime.now(UTC))
    idle, busy = Row(**due, claimed_by=None), Row(**due, claimed_by="manager")
    refused = Row(**{**due, "last_error": "The cloud refused: no"}, claimed_by=None)
    cases = [(idle, left), (idle, gone), (busy, left), (refused, left)]
    found = [open_work(Tables({"tasks": [task], "allocations": [held], "leases": []})) for task, held in cases]
    assert list(map(bool, found)) == [False, True, True, True]


def _misplaced(pool: str, on_end: str, service_host: str | None = "cmp-01") -> list[str]:
    """Return what is said of a lease that has ended, with a server booted in it; None means that it is gone."""
    attributes = {"service_name": "cmp-01"}
    lease = Row(id="a", status="TERMINATED", deleted_at=None)
    part = Row(id="p", lease_id="a", resource_type="physical:host", ending={"on_end": on_end})
    host = Row(type="physical:host", deleted_at=None, membership=pool, attributes=attributes, health="healthy")
    ended = Row(lease_id="a", event_type="lease.event.end_lease")
    tables = Tables({"leases": [lease], "reservations": [part], "resources": [host], "outbox": [ended]})
    booted = datetime.now(UTC)
    server = Server("s", "p", "demo", "m1.small", service_host, "ACTIVE", preemptible=False, created_at=booted)
    return list(misplaced_servers(tables, [server] if service_host else [], {"s": "p"}))


def test_servers_outlive_their_lease_only_on_a_host_that_is_given_back() -> None:
    assert _misplaced("shared", "give_back") == []
    assert _misplaced("reservation", "delete", service_host=None) == []
    (late,) = _misplaced("reservation", "delete")
    assert "is ACTIVE, and lease a is TERMINATED" in late
    (pooled,) = _misplaced("reservation", "give_back")
    assert "in the reservation pool again" in pooled
    (lost,) = _misplaced("shared", "give_back", service_host=None)
    assert "server s is gone" in lost


def test_a_busy_machine_may_shed_some_requests_and_not_most_of_them() -> None:
    shed = Asked("DELETE", "delete", "", 503, {"code": OVERLOADED})
    failed = Asked("DELETE", "delete", "", 503, {"code": "leasehold.database_unavailable"})
    gone = [Asked("DELETE", "delete", "", 204, None)] * 9

    def strange(*answers: Asked) -> list[Asked]:
        return Report(0, answers, 1.0, 0.0, ()).strange()

    assert strange(shed, *gone) == []
    assert strange(shed, failed, *gone) == [failed]
    assert strange(shed, shed, shed, *gone) == [shed] * 3
