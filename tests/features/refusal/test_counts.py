"""Counts of refused requests in a process: bounded, written after a pause, and kept while the database is away."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from prometheus_client import REGISTRY
from sqlalchemy import text

from leasehold.db.store import Database
from leasehold.features.refusal.store import read_refusals
from leasehold.leasing import tally
from leasehold.leasing.refusals import RefusalCounts
from leasehold.model.refused import Operation, Refused
from tests.processes import wait_for

if TYPE_CHECKING:
    from tests.factory import World

pytestmark = pytest.mark.slow

NOW = datetime(2031, 5, 1, 9, 30, 40, tzinfo=UTC)
HOUR = NOW.replace(minute=0, second=0)
LIMIT = Refused("demo", Operation.CREATE, "leasehold.enforcement.open_leases", "", 0)


def refused(counts: RefusalCounts) -> int:
    return sum(each.refused for each in read_refusals(counts, HOUR, HOUR + timedelta(hours=1)))


def test_they_are_written_after_the_pause_by_a_thread(world: World) -> None:
    writing = RefusalCounts(world.service.db, pause=0.05)
    writing.note(NOW, LIMIT)
    writing.note(NOW, LIMIT)
    reading = RefusalCounts(world.service.db)
    wait_for(lambda: refused(reading) == 2)
    writing.note(NOW, LIMIT)
    wait_for(lambda: refused(reading) == 3)


def test_a_process_keeps_no_more_reasons_than_it_may(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tally, "MOST_KEYS", 3)
    before = REGISTRY.get_sample_value("leasehold_refusals_uncounted_total") or 0.0
    counts = RefusalCounts(world.service.db)
    for project in "abcde":
        counts.note(NOW, replace(LIMIT, project_id=project))
    counts.note(NOW, replace(LIMIT, project_id="a"))
    assert refused(counts) == 4
    assert (REGISTRY.get_sample_value("leasehold_refusals_uncounted_total") or 0.0) == before + 2


def test_what_the_database_does_not_take_is_written_later(world: World) -> None:
    db = Database(world.engine, retry_seconds=0.1)
    counts = RefusalCounts(db)
    counts.note(NOW, LIMIT)
    with world.engine.begin() as connection:
        connection.execute(text("ALTER TABLE refusals RENAME TO away"))
    counts.write()
    with world.engine.begin() as connection:
        connection.execute(text("ALTER TABLE away RENAME TO refusals"))
    counts.note(NOW, LIMIT)
    assert refused(counts) == 2
