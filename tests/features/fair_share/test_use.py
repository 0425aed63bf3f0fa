"""Idea 9: what projects and users have used, on each database, against a sum second by second."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, select, update

from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.conf.settings import Settings
from leasehold.db.tables import allocations, leases, reservations, resources, segments, tasks
from leasehold.features.fair_share.model import WHOLE, Held, decayed
from leasehold.features.fair_share.options import FairShareSettings
from leasehold.features.fair_share.store import all_uses, counted, uses, uses_of
from leasehold.features.fair_share.use import FORGOTTEN, SETTLED, count_use
from leasehold.leasing.deciding.calendars import Calendars
from leasehold.leasing.service import Service
from leasehold.model.resource import FLOATING_IP, HOST, MAINTENANCE
from leasehold.model.windows import Window, to_seconds
from tests.db.examples import NOW, at_once, enrol, hold, lease, reservation, statements, write
from tests.factory import TYPES, Clock

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from leasehold.db.store import Database

START = to_seconds(NOW)
MINUTE = 60
HALF_LIFE = timedelta(hours=2)
FAIR = FairShareSettings(half_life=HALF_LIFE, weights={FLOATING_IP: 0.0, "virtual:instance": 0.25})


@dataclass(frozen=True)
class Entry:
    """Something held in minutes after `START`: in the record if `recorded`, and in the book otherwise.

    What is `begun` has its first minutes in the record already; what was `left` is not held any more.
    """

    project: str
    user: str
    type: str
    slots: int
    start: int
    length: int
    recorded: bool
    begun: int = 0
    left: bool = False

    @property
    def held(self) -> Held | None:
        """What is counted of it, whatever the moment; None for nothing."""
        begin = self.start + (0 if self.recorded else self.begun)
        if self.type == MAINTENANCE or begin >= self.start + self.length or (self.left and not self.recorded):
            return None
        bounds = START + MINUTE * begin, START + MINUTE * (self.start + self.length)
        return Held(self.project, self.user, self.slots * FAIR.weight(self.type), *bounds)


ENTRIES = st.builds(
    Entry,
    project=st.sampled_from("pq"),
    user=st.sampled_from("ab"),
    type=st.sampled_from([HOST, HOST, "virtual:instance", FLOATING_IP, MAINTENANCE]),
    slots=st.integers(1, 4),
    start=st.integers(0, 400),
    length=st.integers(0, 200),
    recorded=st.booleans(),
    begun=st.integers(0, 30),
    left=st.sampled_from([False, False, False, True]),
)


def keep(connection: Connection, entry: Entry, number: int) -> None:
    begin, end = (START + MINUTE * each for each in (entry.start, entry.start + entry.length))
    if entry.recorded:
        names = {"lease_id": "l", "reservation_id": "r", "project_id": entry.project, "user_id": entry.user}
        what = {"resource": "h", "resource_type": entry.type, "resource_number": number, "slots": entry.slots}
        connection.execute(
            insert(segments), {**names, **what, "starts_at": begin, "ends_at": end, "written_at": NOW, "demand": None}
        )
        return
    made = lease(parts=0, events=())
    owner = write(
        connection,
        id=made.id,
        project_id=entry.project,
        user_id=entry.user,
        reservations=(reservation(made.id, resource_type=entry.type),),
        events=(),
    )
    (held,) = hold(connection, owner, number, window=Window.of_seconds(begin, end))
    since = begin + MINUTE * entry.begun
    changes = {
        "slots": entry.slots,
        "recorded_until": since if entry.begun else None,
        "left_at": NOW if entry.left else None,
    }
    connection.execute(update(allocations).where(allocations.c.id == held).values(changes))


def emptied(connection: Connection) -> None:
    for table in (allocations, segments, reservations, tasks, leases, resources, uses, counted):
        connection.execute(delete(table))


def service(db: Database, clock: Clock, fair: FairShareSettings = FAIR) -> Service:
    """Return a service whose clock is a test's, a minute later: what is younger than that is not counted."""
    settings_ = Settings().having(fair)
    cloud = sandbox(db.engine, clock=clock.now)
    return Service(db, Calendars(), TYPES, cloud, settings_, now=lambda: clock.now() + timedelta(seconds=SETTLED))


def wanted(entries: list[Entry], moment: int, half_life: timedelta = HALF_LIFE) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], float] = {}
    for held in (each.held for each in entries):
        if held is None or held.start >= moment:
            continue
        past = replace(held, end=min(held.end, moment))
        for user in (held.user_id, WHOLE):
            key = held.project_id, user
            found[key] = found.get(key, 0.0) + decayed(past, moment, half_life.total_seconds())
    return {key: used for key, used in found.items() if used}


def used_at(db: Database, moment: int, half_life: timedelta = HALF_LIFE) -> dict[tuple[str, str], float]:
    with db.reading() as connection:
        found = all_uses(connection)
    return {key: use.then(moment, half_life.total_seconds()) for key, use in found.items()}


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(entries=st.lists(ENTRIES, max_size=10), steps=st.lists(st.integers(1, 300), min_size=1, max_size=4))
def test_use_is_counted_step_by_step_as_at_once(db: Database, entries: list[Entry], steps: list[int]) -> None:
    def books(connection: Connection) -> None:
        emptied(connection)
        for number, entry in enumerate(entries):
            keep(connection, entry, enrol(connection, f"cmp-{number}"))

    db.transact(books)
    clock = Clock(NOW)
    counting = service(db, clock)
    for minutes in steps:
        clock.advance(minutes=minutes)
        count_use(counting)
    moment = to_seconds(clock.now())
    # What was held for no time at all may be there, with nothing.
    counted = {who: used for who, used in used_at(db, moment).items() if used}
    assert counted == pytest.approx({who: used for who, used in wanted(entries, moment).items() if used}, rel=1e-9)


def host(db: Database, *entries: Entry) -> None:
    def books(connection: Connection) -> None:
        for number, entry in enumerate(entries):
            keep(connection, entry, enrol(connection, f"cmp-{number}"))

    db.transact(books)


def entry(start: int, length: int, *, recorded: bool = True, **more: Any) -> Entry:
    return Entry("p", "a", HOST, 1, start, length, recorded, **more)


@pytest.mark.slow
def test_many_processes_count_once(engine: Engine, db: Database) -> None:
    """Each step moves the moment by a compare-and-swap: of many that count at the same time one has counted it."""
    entries = [entry(0, 30), entry(10, 5_000, recorded=False), entry(60 * 24, 100)]
    host(db, *entries)
    clock = Clock(NOW)
    count_use(service(db, clock))
    clock.advance(days=4)
    at_once(engine, 4, lambda own, _: count_use(service(own, clock)))
    moment = to_seconds(clock.now())
    assert used_at(db, moment) == pytest.approx(wanted(entries, moment), rel=1e-9)


def test_another_half_life_counts_anew_from_the_record(db: Database) -> None:
    entries = [entry(-3 * 24 * 60, 24 * 60), entry(0, 60)]
    host(db, *entries)
    clock = Clock(NOW + timedelta(hours=1))
    moment = to_seconds(clock.now())
    count_use(service(db, clock))
    assert used_at(db, moment) == pytest.approx(wanted(entries, moment), rel=1e-6)
    longer = timedelta(days=3)
    count_use(service(db, clock, replace(FAIR, half_life=longer)))
    assert used_at(db, moment, longer) == pytest.approx(wanted(entries, moment, longer), rel=1e-9)


def test_what_is_forgotten_is_removed_and_not_read(engine: Engine, db: Database) -> None:
    clock = Clock(NOW)
    host(db, entry(-60 * 24 * 30, 60), entry(0, 60, recorded=False))
    counting = service(db, clock)
    with statements(engine) as asked:
        count_use(counting)
    assert len([each for each in asked if "UNION" in each]) == 2, "a step for each day that still counts"
    clock.advance(hours=1)
    count_use(counting)
    assert used_at(db, to_seconds(clock.now())).keys() == {("p", "a"), ("p", WHOLE)}
    clock.advance(hours=1 + HALF_LIFE.total_seconds() * FORGOTTEN / 3600)
    count_use(counting)
    with db.reading() as connection:
        assert connection.execute(select(uses)).all() == []


def test_an_order_reads_the_projects_and_users_that_wait(db: Database) -> None:
    host(db, entry(0, 60), replace(entry(0, 60), user="b"), replace(entry(0, 60), project="q"))
    count_use(service(db, Clock(NOW + timedelta(hours=2))))
    with db.reading() as connection:
        assert uses_of(connection, {("p", "a")}).keys() == {("p", "a"), ("p", WHOLE)}
        assert uses_of(connection, {("p", "c"), ("r", "a")}).keys() == {("p", "a"), ("p", WHOLE)}


@pytest.mark.slow
def test_however_much_is_held_few_sums_are_read(engine: Engine, db: Database) -> None:
    def books(connection: Connection) -> None:
        names = {"lease_id": "l", "reservation_id": "r", "project_id": "p", "user_id": "u", "resource": "h"}
        same = {**names, "resource_type": HOST, "slots": 1, "written_at": NOW, "demand": None}
        rows = [{**same, "resource_number": n, "starts_at": START - 10, "ends_at": START + 900} for n in range(3_000)]
        connection.execute(insert(segments), rows)

    clock = Clock(NOW)
    count_use(service(db, clock))
    db.transact(books)
    clock.advance(minutes=5)
    with statements(engine) as asked:
        count_use(service(db, clock))
    assert len(asked) < 10
    moment = to_seconds(clock.now())
    held = Held("p", "u", 3_000.0, START, moment)
    assert used_at(db, moment)["p", "u"] == pytest.approx(decayed(held, moment, HALF_LIFE.total_seconds()))
