"""Counts of refused requests on each database: summed by hour and reason, by many processes, and purged."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from leasehold.db import refusal as rows
from leasehold.db.past.history import purge
from leasehold.features.refusal.store import RefusedCount, read_refusals
from leasehold.leasing.refusals import RefusalCounts
from leasehold.model.refused import Operation, Refused
from tests.db.examples import NOW

if TYPE_CHECKING:
    from datetime import datetime

    from leasehold.db.store import Database

HOUR = NOW.replace(minute=0, second=0, microsecond=0)
DAY = timedelta(days=1)
SHORT = Refused("demo", Operation.CREATE, "leasehold.resources.not_enough", "physical:host", 3)
LIMIT = Refused("demo", Operation.AMEND, "leasehold.enforcement.open_leases", "", 0)


def add(db: Database, counts: dict[tuple[datetime, Refused], int]) -> None:
    db.transact(partial(rows.add_refusals, counts=counts))


def found(db: Database, start: datetime, end: datetime) -> list[RefusedCount]:
    return read_refusals(RefusalCounts(db), start, end)


def test_counts_are_summed_by_hour_and_reason(db: Database) -> None:
    other = replace(SHORT, project_id="other")
    add(db, {(HOUR, SHORT): 2, (HOUR, LIMIT): 1, (HOUR - DAY, SHORT): 5})
    add(db, {(HOUR, SHORT): 1, (HOUR, other): 4})
    short = RefusedCount(HOUR, Operation.CREATE, SHORT.code, "physical:host", 3, refused=7, projects=2)
    limit = RefusedCount(HOUR, Operation.AMEND, LIMIT.code, "", 0, refused=1, projects=1)
    assert found(db, HOUR, HOUR + DAY) == [limit, short]
    assert found(db, HOUR - DAY, HOUR) == [replace(short, hour=HOUR - DAY, refused=5, projects=1)]
    assert found(db, HOUR + DAY, HOUR + 2 * DAY) == []


@pytest.mark.slow
def test_processes_that_count_at_the_same_time_lose_nothing(db: Database) -> None:
    def process(number: int) -> None:
        counts = RefusalCounts(db)
        for each in range(20):
            counts.note(NOW, replace(SHORT, missing=(each + number) % 3))
            if each % 5 == 4:
                counts.write()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(process, range(4)))
    sums: Counter[int] = Counter()
    for count in found(db, HOUR, HOUR + DAY):
        sums[count.missing] += count.refused
    expected = Counter((each + number) % 3 for each in range(20) for number in range(4))
    assert sums == expected


def test_old_hours_are_purged(db: Database) -> None:
    add(db, {(HOUR, SHORT): 1, (HOUR - 2 * DAY, SHORT): 2, (HOUR - 3 * DAY, SHORT): 3, (HOUR - 3 * DAY, LIMIT): 1})
    assert purge(db.engine, NOW, DAY, dry_run=True)["refusals"] == 3
    assert purge(db.engine, NOW, DAY, dry_run=False)["refusals"] == 3
    assert [count.hour for count in found(db, HOUR - 9 * DAY, HOUR + DAY)] == [HOUR]
