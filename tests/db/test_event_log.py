"""The event log: every reader sees each committed event once, in one order, and in order within a lease.

The oracle is the order of the commits, which the test itself decides.
"""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from threading import Event as Flag
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.event import listens_for

from leasehold.db.engine import reading, writing
from leasehold.db.event_log import each_event, last_by_project, log_state, mark_purged, nonce_at, sequence
from leasehold.db.lease_state import lease_of
from leasehold.db.outbox import put_event, put_resource_events
from leasehold.db.past.history import purge
from leasehold.db.resources.resource import resources_by_number
from leasehold.db.store import Database
from leasehold.db.tables import event_log, outbox
from leasehold.model.event_log import EventFilter, ResourceNews
from leasehold.model.states import LeaseStatus
from tests.db.examples import NOW, at_once, enrol, hour, lease

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection, Engine

    from leasehold.model.event_log import LogEvent
    from leasehold.model.lease import Lease

ALL = EventFilter(None)
MANY = 10**6


def put(connection: Connection, name: str, of: Lease) -> None:
    put_event(connection, name, of, NOW)


def run_sequencer(db: Database, most: int = 500) -> int:
    """Run the sequencer until nothing is left, and return how many events it put in order."""
    total = 0
    while found := db.transact(partial(sequence, most=most)):
        total += len(found)
    return total


def read(db: Database, after: int = 0, wanted: EventFilter = ALL, limit: int = MANY) -> list[LogEvent]:
    with db.reading() as connection:
        return list(each_event(connection, after, wanted, limit))


def names(db: Database, wanted: EventFilter = ALL) -> list[str]:
    return [event.type for event in read(db, wanted=wanted)]


# ---------------------------------------------------------------- interleavings


@dataclass
class Reader:
    """A reader with a limit and a filter of its own, which reads a page now and then."""

    wanted: EventFilter
    limit: int
    seen: list[LogEvent] = field(default_factory=list)
    after: int = 0

    def read_on(self, db: Database) -> bool:
        page = read(db, self.after, self.wanted, self.limit)
        self.seen += page
        self.after = page[-1].cursor.position if page else self.after
        return bool(page)


@dataclass
class Play:
    """Transactions that begin, write and end in an order of their own, and a sequencer and readers between them."""

    db: Database
    chance: Random
    most_open: int
    leases: list[Lease] = field(default_factory=lambda: [lease(project_id=f"p{number % 3}") for number in range(6)])
    open: list[tuple[ExitStack, Connection, list[tuple[int, str]]]] = field(default_factory=list)
    committed: list[tuple[str, str]] = field(default_factory=list)
    """Lease and name of each committed event, in the order of the commits."""
    written: int = 0

    def begin(self) -> None:
        if len(self.open) < self.most_open:
            stack = ExitStack()
            self.open.append((stack, stack.enter_context(writing(self.db.engine)), []))

    def write(self) -> None:
        """Write an event of a lease that no other open transaction changes: the lock of its row would make it wait."""
        if not self.open:
            return
        _, connection, mine = chosen = self.chance.choice(self.open)
        held = {number for other in self.open if other is not chosen for number, _ in other[2]}
        free = [each for each in range(len(self.leases)) if each not in held]
        if not free:
            return
        number = self.chance.choice(free)
        self.written += 1
        if self.chance.random() < 0.7:
            owner = self.leases[number]
            self.leases[number] = replace(owner, generation=owner.generation + 1)
        put(connection, f"event.{self.written}", self.leases[number])
        mine.append((number, f"event.{self.written}"))

    def end(self, *, commit: bool | None = None) -> None:
        if not self.open:
            return
        stack, connection, mine = self.open.pop(self.chance.randrange(len(self.open)))
        if commit is None:
            commit = self.chance.random() < 0.8
        if commit:
            connection.commit()
            self.committed += [(self.leases[number].id, name) for number, name in mine]
        else:
            connection.rollback()
        stack.close()

    def sequence(self) -> None:
        if self.most_open > 1 or not self.open:
            self.db.transact(partial(sequence, most=self.chance.randint(1, 4)))


@pytest.mark.parametrize(
    "seed", [1, 2, pytest.param(3, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
)
def test_every_reader_sees_every_committed_event_once_and_in_one_order(db: Database, seed: int) -> None:
    """Transactions of several connections commit in another order than they insert, and some roll back."""
    chance = Random(seed)  # noqa: S311 - repeatable choices.
    # SQLite has one writer at a time.
    play = Play(db, chance, most_open=1 if db.engine.dialect.name == "sqlite" else 4)
    projects = [None, None, "p0", "p1", "p2"]
    readers = [Reader(EventFilter(project), chance.randint(1, 5)) for project in projects]
    readers += [Reader(EventFilter(play.leases[0].project_id, play.leases[0].id), 2)]
    steps: list[Callable[[], object]] = [play.begin, play.write, play.write, play.write, play.end, play.sequence]
    for _ in range(150):
        chance.choice(steps)()
        chance.choice(readers).read_on(db)
    while play.open:
        play.end(commit=True)
    run_sequencer(db, most=3)
    for each in readers:
        while each.read_on(db):
            pass

    log = read(db)
    assert [event.cursor.position for event in log] == list(range(1, len(log) + 1))
    assert Counter((event.lease_id, event.type) for event in log) == Counter(play.committed)
    assert len(play.committed) > 20
    for owner in play.leases:
        told = [event.type for event in log if event.lease_id == owner.id]
        assert told == [name for lease_id, name in play.committed if lease_id == owner.id]
    for each in readers:
        wanted = each.wanted
        assert each.seen == [
            event
            for event in log
            if wanted.project_id in (None, event.project_id) and wanted.lease_id in (None, event.lease_id)
        ]


@pytest.mark.slow
def test_sequencers_and_writers_at_the_same_time_leave_no_gap(engine: Engine) -> None:
    """Two sequencers run while two writers commit; the readers' order has every event of every writer once."""
    writing_ended = Flag()
    owners = [lease() for _ in range(2)]

    def work(db: Database, number: int) -> None:
        if number < 2:
            for step in range(40):
                owner = replace(owners[number], generation=step + 1)
                db.transact(partial(put, name=f"event.{step}", of=owner))
            if number == 0:
                writing_ended.set()
            return
        while not writing_ended.is_set():
            db.transact(partial(sequence, most=3))

    at_once(engine, 4, work)
    db = Database(engine)
    run_sequencer(db)
    log = read(db)
    assert [event.cursor.position for event in log] == list(range(1, 81))
    for owner in owners:
        assert names(db, EventFilter("demo", owner.id)) == [f"event.{step}" for step in range(40)]
    assert len(log) == 80


def test_an_event_that_commits_between_two_looks_of_a_sequencing_keeps_its_place(server: Database) -> None:
    """Its key is smaller than that of another lease's event which was seen already, and one of its lease follows."""
    slow, quick = lease(), lease()
    for generation in (1, 2):
        server.transact(partial(put, name=f"slow.{generation}", of=replace(slow, generation=generation)))
    late = ExitStack()
    put(late.enter_context(writing(server.engine)), "slow.3", replace(slow, generation=3))
    server.transact(partial(put, name="quick.1", of=replace(quick, generation=1)))
    looks: list[str] = []

    @listens_for(server.engine, "before_cursor_execute")
    def look(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if statement.startswith("SELECT outbox.id, outbox.lease_id"):
            looks.append(statement)
            if len(looks) == 2:
                late.close()
                server.transact(partial(put, name="slow.4", of=replace(slow, generation=4)))

    server.transact(partial(sequence, most=3))
    assert len(looks) == 2
    run_sequencer(server)
    assert names(server, EventFilter("demo", slow.id)) == [f"slow.{generation}" for generation in (1, 2, 3, 4)]


# ---------------------------------------------------------------- one sequencing


def test_what_the_bus_is_told_is_the_whole_lease_after_the_event(db: Database) -> None:
    made = lease(status=LeaseStatus.ACTIVE, created_at=NOW, updated_at=hour(1), degraded=True)
    part = replace(
        made.reservations[0],
        request={"min": 1, "note": "ü"},
        cloud={"aggregate_id": 7},
        created_at=NOW,
        updated_at=hour(2),
        missing_resources=True,
        allocations=(),
    )
    moments = tuple(replace(each, created_at=hour(3)) for each in made.events)
    whole = replace(made, reservations=(part,), events=moments)
    db.transact(partial(put, name="lease.update", of=whole))
    db.transact(partial(put, name="lease.renamed", of=whole))
    run_sequencer(db)
    told, other = read(db)
    for each in (told, other):
        assert lease_of(each.payload, each.lease_state) == replace(whole, generation=1)
        assert "request" not in str(each.payload)


def test_an_event_has_no_place_before_it_is_sequenced_and_keeps_it_then(db: Database) -> None:
    owner = lease()
    db.transact(partial(put, name="lease.create", of=owner))
    assert read(db) == []
    assert run_sequencer(db) == 1
    (event,) = read(db)
    assert (event.cursor.position, event.type, event.time, event.project_id) == (1, "lease.create", NOW, "demo")
    assert (event.lease_id, event.payload["status"], event.resource_id) == (owner.id, "PENDING", None)
    assert run_sequencer(db) == 0
    db.transact(partial(put, name="lease.update", of=owner))
    run_sequencer(db)
    assert read(db)[0] == event
    with db.reading() as connection:
        assert log_state(connection).end == read(db)[1].cursor
        assert nonce_at(connection, 1) == event.cursor.nonce
        assert nonce_at(connection, 3) is None
        assert last_by_project(connection, 0) == {"demo": 2}
        assert last_by_project(connection, 2) == {}


def test_a_sequencer_that_dies_leaves_the_log_as_it_was(db: Database) -> None:
    for number in range(5):
        db.transact(partial(put, name=f"event.{number}", of=lease()))
    db.transact(partial(sequence, most=2))

    def die(connection: Connection) -> None:
        sequence(connection, 10)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        db.transact(die)
    assert names(db) == ["event.0", "event.1"]
    assert run_sequencer(db) == 3
    assert names(db) == [f"event.{number}" for number in range(5)]


def test_a_later_event_with_a_smaller_key_stays_later(db: Database) -> None:
    """As on Galera, where every node gives keys of its own; the batch ends between the two."""
    owner, other = lease(), lease()
    rows = [(5, owner, 2), (6, other, 1), (7, owner, 1), (8, owner, 3)]
    for key, of, generation in rows:
        db.transact(partial(put, name=f"{of.id[:8]}.{generation}", of=replace(of, generation=generation)))
        newest = select(func.max(outbox.c.id))
        with db.reading() as connection:
            made = connection.execute(newest).scalar_one()
        moved = update(outbox).where(outbox.c.id == made).values(id=10**6 + key)
        db.transact(lambda connection: connection.execute(moved))  # noqa: B023 - runs at once.
    run_sequencer(db, most=1)
    assert [name for name in names(db) if name.startswith(owner.id[:8])] == [f"{owner.id[:8]}.{n}" for n in (1, 2, 3)]
    assert len(names(db)) == 4


def test_rows_of_an_older_version_are_sequenced_by_their_keys(db: Database) -> None:
    owner = lease()
    for number in range(3):
        values = {"lease_id": owner.id, "project_id": "demo", "event_type": f"old.{number}", "payload": {}}
        db.transact(lambda connection: connection.execute(insert(outbox), {**values, "created_at": NOW}))  # noqa: B023 - runs at once.
        db.transact(partial(put, name=f"new.{number}", of=replace(owner, generation=9 - number)))
    run_sequencer(db)
    assert names(db) == ["old.0", "new.0", "old.1", "new.1", "old.2", "new.2"]


def test_events_of_resources_are_not_of_any_project(db: Database) -> None:
    def change(connection: Connection) -> None:
        number = enrol(connection)
        found = resources_by_number(connection, [number])
        put_resource_events(connection, ResourceNews.ENROLLED, list(found.values()), NOW)
        put_resource_events(connection, ResourceNews.HEALTH, [], NOW)
        put(connection, "lease.create", lease())

    db.transact(change)
    run_sequencer(db)
    assert names(db) == ["resource.enrolled", "lease.create"]
    for project in ("demo", "", "another"):
        assert names(db, EventFilter(project)) == (["lease.create"] if project == "demo" else [])
    event = read(db)[0]
    assert (event.resource_type, event.resource_id, event.lease_id, event.project_id) == (
        "physical:host",
        "cmp-1",
        None,
        None,
    )
    assert event.payload["name"] == "cmp-1.example"
    assert event.payload["health"] == "healthy"


def test_a_user_is_told_apart_to_the_letter(db: Database) -> None:
    for user in ("alice", "Alice", "alice ", "bob", "al\u00efce", "5"):
        db.transact(partial(put, name=f"of {user}", of=lease(user_id=user)))
    run_sequencer(db)
    for user in ("alice", "al\u00efce", "5"):
        for project in ("demo", None):
            assert names(db, EventFilter(project, user_id=user)) == [f"of {user}"]
    assert names(db, EventFilter("demo", types=("of bob",), user_id="alice")) == []


# ---------------------------------------------------------------- purging


def test_what_is_purged_is_marked_and_leaves_the_others_their_places(db: Database) -> None:
    first, second = lease(), lease()
    for owner in (first, second, first, second):
        db.transact(partial(put, name="event", of=owner))
    db.transact(partial(sequence, most=10))

    def remove(connection: Connection) -> None:
        mine = outbox.c.lease_id == first.id
        mark_purged(connection, mine)
        connection.execute(delete(outbox).where(mine))

    db.transact(remove)
    with db.reading() as connection:
        state = log_state(connection)
    assert (state.purged, state.end.position) == (3, 4)
    assert [event.cursor.position for event in read(db)] == [2, 4]
    db.transact(partial(mark_purged, which=outbox.c.lease_id == "none-such"))
    with db.reading() as connection:
        assert log_state(connection) == state


def test_old_events_of_resources_are_purged_by_their_age(db: Database) -> None:
    def change(connection: Connection, moment: float) -> None:
        number = enrol(connection, name=f"cmp-{moment:g}")
        put_resource_events(
            connection, ResourceNews.ENROLLED, list(resources_by_number(connection, [number]).values()), hour(moment)
        )

    for moment in (0, 1, 2):
        db.transact(partial(change, moment=moment))
    run_sequencer(db)
    assert purge(db.engine, hour(2), hour(2) - hour(1), dry_run=True)["outbox"] == 1
    assert len(read(db)) == 3
    assert purge(db.engine, hour(2), hour(2) - hour(1), dry_run=False)["outbox"] == 1
    assert [event.resource_id for event in read(db)] == ["cmp-1", "cmp-2"]
    with reading(db.engine) as connection:
        assert connection.execute(select(event_log.c.purged)).scalar_one() == 1
