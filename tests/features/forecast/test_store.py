"""What a forecast reads, on each database, against a count moment by moment (feature G10)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, update

from leasehold.db.allocation import write_demand
from leasehold.db.refusal import add_refusals
from leasehold.db.tables import allocations, leases, reservations, resources, segments, tasks
from leasehold.features.forecast import store as stored
from leasehold.features.forecast.store import TimeSteps
from leasehold.features.forecast.use import peaks
from leasehold.model.refused import Operation, Refused
from leasehold.model.resource import FLOATING_IP, HOST, HOST_POOL, MAINTENANCE
from leasehold.model.windows import Window, from_seconds, to_seconds
from tests.db.examples import NOW, enrol, hold, ident, lease, reservation, statements, write

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Engine

    from leasehold.db.store import Database

QUARTER = 900
"""All moments of the books here are multiples of a quarter of an hour."""
START = to_seconds(NOW)
INSTANCE = "virtual:instance"
TYPES = {HOST, INSTANCE, MAINTENANCE}
HOSTS = 4
GRIDS = [TimeSteps(START, 3600, 8), TimeSteps(START, 2 * 3600, 4), TimeSteps(START, 8 * 3600, 1)]


@dataclass(frozen=True)
class Entry:
    """Something held in quarters after `START`: in the record if `recorded`, and in the book otherwise.

    What is `begun` has its first quarters in the record; what was `left` is not promised any more.
    """

    type: str
    host: int
    start: int
    length: int
    recorded: bool
    left: bool = False
    begun: int = 0

    def has(self, quarter: int) -> bool:
        """Say whether it is held in a quarter."""
        # What an allocation had before it is recorded in segments, which these books leave out.
        begin = self.start + (0 if self.recorded else self.begun)
        return begin <= quarter < self.start + self.length and (self.recorded or not self.left)


ENTRIES = st.builds(
    Entry,
    type=st.sampled_from([HOST, HOST, INSTANCE, INSTANCE, MAINTENANCE, FLOATING_IP]),
    host=st.integers(0, HOSTS - 1),
    start=st.integers(-10, 34),
    length=st.integers(0, 20),
    recorded=st.booleans(),
    left=st.sampled_from([False, False, False, True]),
    begun=st.integers(0, 3),
)


def possible(entries: Sequence[Entry]) -> list[Entry]:
    """Return those of the entries that can be beside those before them: nobody has a whole resource beside others.

    Maintenance windows may overlap.
    """
    found: list[Entry] = []
    for entry in entries:
        # Maintenance is counted apart.
        closes = entry.type == MAINTENANCE
        beside = [each for each in found if each.host == entry.host and (each.type == MAINTENANCE) == closes]
        alone = closes or all(other.type == entry.type == INSTANCE for other in beside if overlap(entry, other))
        # Floating IPs have a pool and numbers of their own; here they are of the record alone.
        if alone and (entry.recorded or entry.type != FLOATING_IP):
            found.append(entry)
    return found


def overlap(one: Entry, other: Entry) -> bool:
    return one.start < other.start + other.length and other.start < one.start + one.length


def brute(entries: Sequence[Entry], grid: TimeSteps, types: set[str], hosts: Sequence[int] = range(HOSTS)) -> list[int]:
    """Count the hosts in use in each quarter, and return the largest number of each step."""
    each = grid.seconds // QUARTER
    used = [
        len({entry.host for entry in entries if entry.type in types and entry.host in hosts and entry.has(quarter)})
        for quarter in range(each * grid.steps)
    ]
    return [max(used[first : first + each]) for first in range(0, len(used), each)]


def keep(connection: Connection, numbers: Sequence[int], entry: Entry) -> None:
    begin, end = (START + QUARTER * each for each in (entry.start, entry.start + entry.length))
    number, demand = numbers[entry.host], {"VCPU": 1} if entry.type == INSTANCE else None
    if entry.recorded:
        names = {"lease_id": "l", "reservation_id": "r", "project_id": "p", "user_id": "u", "resource": "h"}
        what = {
            "resource_type": entry.type,
            "resource_number": number,
            "slots": 1,
            "written_at": NOW,
            "demand": write_demand(demand),
        }
        connection.execute(insert(segments), {**names, **what, "starts_at": begin, "ends_at": end})
        return
    made = lease(parts=0, events=())
    owner = write(connection, id=made.id, reservations=(reservation(made.id, resource_type=entry.type),), events=())
    (held,) = hold(connection, owner, number, window=Window.of_seconds(begin, end), demand=demand)
    since = START + QUARTER * (entry.start + entry.begun)
    changes = {"recorded_until": since if entry.begun else None, "left_at": NOW if entry.left else None}
    connection.execute(update(allocations).where(allocations.c.id == held).values(changes))


def emptied(connection: Connection) -> None:
    for table in (allocations, segments, reservations, tasks, leases, resources):
        connection.execute(delete(table))


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.lists(ENTRIES, max_size=12), grid=st.sampled_from(GRIDS), disabled=st.integers(0, HOSTS - 1))
def test_what_is_in_use_is_counted_as_by_hand(
    db: Database, entries: list[Entry], grid: TimeSteps, disabled: int
) -> None:
    there = possible(entries)

    def books(connection: Connection) -> None:
        emptied(connection)
        numbers = [enrol(connection, f"cmp-{each}", disabled=each == disabled or None) for each in range(HOSTS)]
        for entry in there:
            keep(connection, numbers, entry)

    db.transact(books)
    with db.reading() as connection:
        used = stored.changes_in_use(connection, HOST_POOL, TYPES, grid)
        closed = stored.changes_in_maintenance(connection, HOST_POOL, grid)
        assert stored.count_usable(connection, HOST_POOL) == HOSTS - 1
    assert peaks(used, grid).tolist() == brute(there, grid, {HOST, INSTANCE})
    usable = [host for host in range(HOSTS) if host != disabled]
    promised = [entry for entry in there if not entry.recorded]
    assert peaks(closed, grid).tolist() == brute(promised, grid, {MAINTENANCE}, usable)


def test_of_each_project_the_request_counts_that_missed_most(db: Database) -> None:
    def refused(project: str, missing: int, type_: str = HOST, operation: Operation = Operation.CREATE) -> Refused:
        return Refused(project, operation, "leasehold.resources.not_enough", type_, missing)

    first, later = NOW, NOW + timedelta(hours=3)
    counts = {
        (first, refused("demo", 3)): 40,
        (first, refused("demo", 5)): 1,
        (first, refused("other", 2, operation=Operation.AMEND)): 7,
        (first, refused("third", 9, INSTANCE)): 1,
        (first, refused("fourth", 8, operation=Operation.MAINTENANCE)): 1,
        (first, refused("fifth", 8, FLOATING_IP)): 1,
        (first, refused("sixth", 0)): 1,
        (later, refused("demo", 4)): 2,
        (NOW - timedelta(hours=1), refused("demo", 90)): 1,
        (NOW + timedelta(hours=8), refused("demo", 90)): 1,
    }
    db.transact(lambda connection: add_refusals(connection, counts))
    with db.reading() as connection:
        found = stored.missing_by_hour(connection, HOST, TYPES, TimeSteps(START, 3600, 8))
    assert sorted(found) == [(START, 5 + 2 + 1), (START + 3 * 3600, 4)]


@pytest.mark.slow
def test_however_many_rows_there_are_few_are_returned(engine: Engine, db: Database) -> None:
    """The database aggregates: a statement for each question, and a row for each step at most."""

    def books(connection: Connection) -> None:
        names = {"lease_id": ident(), "reservation_id": "r", "project_id": "p", "user_id": "u", "resource": "h"}
        same = {**names, "resource_type": HOST, "slots": 1, "written_at": NOW}
        begins = [(each % 50, START + 60 * each) for each in range(2_000)]
        rows = [{**same, "resource_number": host, "starts_at": at, "ends_at": at + 600} for host, at in begins]
        connection.execute(insert(segments), rows)

    db.transact(books)
    grid = TimeSteps(START, 3600, 40)
    with db.reading() as connection, statements(engine) as asked:
        found = stored.changes_in_use(connection, HOST_POOL, TYPES, grid)
    assert (len(asked), len(found)) == (1, 34)
    assert set(peaks(found, grid).tolist()[:33]) == {10}
    assert from_seconds(grid.end) == NOW + timedelta(hours=40)
    with db.reading() as connection, statements(engine) as asked:
        counts = [stored.count_in_use(connection, HOST_POOL, TYPES, grid, most) for most in (50, 5_000)]
    assert (len(asked), counts) == (2, [50, 2_000])
