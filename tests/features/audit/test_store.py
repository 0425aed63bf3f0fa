"""The last round of the audit on each database."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.features.audit import store as rows
from leasehold.features.audit.model import AuditRound, Reported
from leasehold.model.finding import Finding, FindingKind, Mend
from tests.db.examples import NOW

if TYPE_CHECKING:
    from leasehold.db.store import Database

HOUR = timedelta(hours=1)
DRIFT = Finding(FindingKind.DRIFT, "l1", "Größe €: it differs", "repair it", Mend.LEASE)
PLACE = Finding(FindingKind.PLACE, "7", "cmp-07 is elsewhere", "move it", None, "physical:host")


def last(db: Database) -> AuditRound | None:
    with db.reading() as connection:
        return rows.last_round(connection)


def test_a_round_is_read_as_it_was_written(db: Database) -> None:
    assert last(db) is None
    db.transact(partial(rows.begin_round, now=NOW))
    assert last(db) == AuditRound(NOW, None, None)
    found = [(PLACE, None), (DRIFT, "A manager repairs it.")]
    db.transact(partial(rows.end_round, now=NOW + HOUR, found=found))
    first = (Reported(PLACE, NOW + HOUR, None), Reported(DRIFT, NOW + HOUR, "A manager repairs it."))
    assert last(db) == AuditRound(NOW, NOW + HOUR, None, first)


def test_a_finding_keeps_when_it_was_found_first(db: Database) -> None:
    for hours, found in ((0, [PLACE]), (1, [PLACE, DRIFT]), (2, [DRIFT, PLACE])):
        db.transact(partial(rows.begin_round, now=NOW + hours * HOUR))
        db.transact(partial(rows.end_round, now=NOW + hours * HOUR, found=[(each, None) for each in found]))
    report = last(db)
    assert report
    assert report.findings == (Reported(DRIFT, NOW + HOUR, None), Reported(PLACE, NOW, None))


def test_a_round_that_fails_keeps_the_findings_of_the_one_before(db: Database) -> None:
    db.transact(partial(rows.begin_round, now=NOW))
    db.transact(partial(rows.end_round, now=NOW, found=[(PLACE, None)]))
    db.transact(partial(rows.begin_round, now=NOW + HOUR))
    report = last(db)
    assert report
    assert report.under_way
    db.transact(partial(rows.fail_round, now=NOW + 2 * HOUR, failure="no answer"))
    report = AuditRound(NOW + HOUR, NOW + 2 * HOUR, "no answer", (Reported(PLACE, NOW, None),))
    assert last(db) == report
    assert not report.under_way
