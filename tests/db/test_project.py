"""Projects: decisions of one project are serialized, and its use is counted; one answer for each of its keys."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import String, cast, func, insert, select, text, true, update
from sqlalchemy.exc import IntegrityError

from leasehold.db import schema
from leasehold.db.columns.holding import NOTHING
from leasehold.db.engine import reading, writing
from leasehold.db.idempotency import find_key, keep_key
from leasehold.db.leases.holding import wrongly_noted
from leasehold.db.leases.lease import insert_lease, save_lease
from leasehold.db.project import COUNTED_FOR, Allocated, CountedUse, enter, peak, take_use, take_uses, use_bounds
from leasehold.db.tables import leases
from leasehold.model.resource import HOST_POOL
from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.terms.ending import DELETED_AT_ONCE, LATEST, Ending, Lent, OnEnd
from leasehold.model.use import Use
from leasehold.model.windows import Window, from_seconds
from tests.databases import opened
from tests.db.examples import NOW, at_once, enrol, hold, hour, hours, ident, lease, write

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection

    from leasehold.db.store import Database
    from leasehold.model.lease import Lease

THREADS, LIMIT = 8, 3
MOST = Use(*(10**6,) * 5)


def test_of_many_at_once_as_many_go_on_as_the_limit_says(db: Database) -> None:
    """Each transaction sees the previous writes, including the first ones, which create the project's row."""

    def decide(connection: Connection) -> bool:
        enter(connection, "p")
        if CountedUse(connection, {}).open_leases("p") >= LIMIT:
            return False
        write(connection, project_id="p")
        return True

    assert sum(at_once(db.engine, THREADS, lambda own, _: own.transact(decide))) == LIMIT


def test_of_many_that_take_at_once_as_many_get_something_as_the_limit_says(db: Database) -> None:
    def begin(connection: Connection) -> None:
        enter(connection, "p")
        CountedUse(connection, {}).keep("p", Use(), Use(), NOW)

    def take(connection: Connection) -> bool:
        return take_use(connection, "p", Use(leases=1), Use(leases=LIMIT), NOW)

    db.transact(begin)
    assert sum(at_once(db.engine, THREADS, lambda own, _: own.transact(take))) == LIMIT


def test_what_was_counted_is_believed_for_a_while_and_what_was_not_never(db: Database) -> None:
    def take(more: Use, later: timedelta = timedelta(0), project: str = "p") -> bool:
        return db.transact(lambda connection: take_use(connection, project, more, MOST, NOW + later))

    assert not take(Use(leases=1))
    db.transact(lambda connection: enter(connection, "p"))
    assert not take(Use(leases=1))
    db.transact(lambda connection: CountedUse(connection, {}).keep("p", Use(1, 2, 3, 4, 5), Use(), NOW))
    assert take(Use(1, 1, 1, 1, 1))
    assert not take(Use(), COUNTED_FOR)
    assert not take(Use(), project="q")
    for number in range(5):
        rest = [0] * 5
        rest[number] = 10**6 - number - 2
        assert take(Use(*rest))
        assert not take(Use(*(int(place == number) for place in range(5))))


@pytest.mark.parametrize("rooms", [(2, 2, 2), (2, 1, 2), (1, 1, 1), (0, 2, 0)])
def test_what_is_too_much_for_one_project_is_taken_for_the_others(db: Database, rooms: tuple[int, ...]) -> None:
    most = {f"p{number}": Use(room, 9, 9, 9, 9) for number, room in enumerate(rooms)}

    def take(connection: Connection) -> frozenset[str]:
        for each in most:
            enter(connection, each)
            CountedUse(connection, {}).keep(each, Use(), Use(), NOW)
        return take_uses(connection, {each: (Use(leases=2, hosts=1), limit) for each, limit in most.items()}, NOW)

    full = db.transact(take)
    assert full == {each for each, limit in most.items() if limit.leases < 2}
    for each in most:
        taken = Use() if each in full else Use(leases=2, hosts=1)
        assert db.transact(lambda connection, each=each: use_bounds(connection, each, NOW)) == taken  # type: ignore[misc]


@pytest.mark.parametrize("status", LeaseStatus)
def test_what_is_over_is_not_counted(db: Database, status: LeaseStatus) -> None:
    db.transact(lambda connection: write(connection, project_id="p", status=status))
    db.transact(lambda connection: write(connection, project_id="q"))
    over = status in (LeaseStatus.TERMINATED, LeaseStatus.DELETING, LeaseStatus.TIMEDOUT)
    assert db.transact(lambda connection: CountedUse(connection, {}).open_leases("p")) == (0 if over else 1)
    assert db.transact(lambda connection: CountedUse(connection, {}).allocated("p")) == []


def test_what_is_reserved_for_good_counts_to_the_end_of_its_lease(db: Database) -> None:
    """As a host that may be given back with its servers; what servers of another lease keep for an hour counts."""

    def make(connection: Connection) -> None:
        number, lease = enrol(connection), write(connection, project_id="p")
        hold(connection, lease, number, window=Window(lease.window.start, LATEST))
        hold(connection, lease, number, window=Window(lease.window.start, lease.window.end + timedelta(hours=1)))

    db.transact(make)
    found = db.transact(lambda connection: CountedUse(connection, {HOST_POOL: "hosts"}).allocated("p"))
    ends = sorted((from_seconds(each.end), each.use.hosts) for each in found)
    assert ends == [(hour(2), 1), (hour(3), 1)]


def test_the_peak_is_that_of_one_moment_within_the_window() -> None:
    promised = [
        Allocated(0, 10, Use(hosts=1)),
        Allocated(10, 20, Use(hosts=2, vcpus=5)),
        Allocated(15, 30, Use(hosts=4)),
        Allocated(40, 50, Use(hosts=100)),
    ]

    def at(start: int, end: int) -> Use:
        return peak(promised, Window(from_seconds(start), from_seconds(end)))

    assert at(0, 40) == Use(hosts=6, vcpus=5)
    assert at(0, 15) == Use(hosts=2, vcpus=5)
    assert at(20, 45) == Use(hosts=100)
    assert at(30, 40) == Use()


LONG = (0.2, 1, 3, 30, 500, 9_000)
BEFORE = timedelta(hours=1)


def make_many(connection: Connection, dice: Random, count: int) -> None:
    """Write leases of one project of very different lengths, with every way in which what they hold may differ."""
    numbers = [enrol(connection, f"cmp-{number}") for number in range(5)]
    mine: list[Lease] = []
    for _ in range(count):
        start = dice.randrange(0, 20_000) / 10
        window = hours(start, start + dice.choice(LONG))
        ending = dice.choice((DELETED_AT_ONCE, Ending(OnEnd.RECYCLE, timedelta(hours=2), timedelta(days=7))))
        if mine and dice.random() < 0.1:
            lender = dice.choice(mine)
            window = Window(lender.window.start + lender.window.duration / 2, lender.window.end)
            ending = Ending(lent=Lent(lender.id, "r", lender.window.end))
        new = lease(window=window, project_id=dice.choice(("p", "p", "q")), status=dice.choice(list(LeaseStatus)))
        new = new.with_reservations(None, ending=ending)
        begin = next(each for each in new.events if each.type == EventType.START)
        lead = replace(begin, time=window.start - dice.choice((timedelta(0), BEFORE)))
        new = replace(new, events=tuple(lead if each is begin else each for each in new.events))
        insert_lease(connection, new)
        mine.append(new)
        ends = LATEST if ending is DELETED_AT_ONCE and dice.random() < 0.5 else ending.held(window).end
        hold(
            connection,
            new,
            dice.choice(numbers),
            window=Window(new.window.start if new.lent else new.begins, ends),
            slots=dice.choice((1, 3)),
        )
        if new.lent is not None:
            continue
        if dice.random() < 0.3:
            later = new.window.end + timedelta(hours=dice.choice(LONG))
            amended = save_lease(connection, new, replace(new, window=Window(window.start, later)), NOW)
            hold(connection, amended, dice.choice(numbers), window=amended.window)
        elif dice.random() < 0.2:
            save_lease(connection, new, replace(new, deleted_at=NOW), NOW)
        elif dice.random() < 0.1:
            # Deleted by code that left the note as it was.
            connection.execute(update(leases).where(leases.c.id == new.id).values(deleted_at=NOW))
        elif dice.random() < 0.3:
            # A process of the version before has made it longer.
            longer = {"generation": leases.c.generation + 1, "end_at": window.end + timedelta(hours=1_000)}
            connection.execute(update(leases).where(leases.c.id == new.id).values(longer))
            hold(connection, new, dice.choice(numbers), window=Window(window.start, window.end + timedelta(hours=999)))


def compare_windows(connection: Connection, dice: Random, user: str | None) -> int:
    """Compare what is read for windows with everything that the project has; return for how many it is less."""
    use, fewer = CountedUse(connection, {HOST_POOL: "hosts"}), 0
    everything = use.allocated("p", user_id=user)
    assert bool(everything) == (user != "bob")
    for _ in range(60):
        start = dice.randrange(0, 25_000) / 10
        window = hours(start, start + dice.choice(LONG))
        some = use.allocated("p", user_id=user, window=window)
        assert peak(some, window) == peak(everything, window)
        fewer += len(some) < len(everything) / 2
    return fewer


def test_what_is_read_for_a_window_is_what_is_counted_in_it(db: Database) -> None:
    """Also after an upgrade from a version that does not note when leases hold."""
    dice = Random(4)  # noqa: S311 - the same leases in each run
    db.transact(lambda connection: make_many(connection, dice, 250))
    with db.reading() as connection:
        assert wrongly_noted(connection, hour(-9_000)) == []
        assert sum(compare_windows(connection, dice, user) for user in (None, "alice", "bob")) > 60
    schema.downgrade(db.engine, "0056")
    schema.upgrade(db.engine)
    with db.reading() as connection:
        assert wrongly_noted(connection, hour(-9_000)) == []
        noted = select(leases.c.holds_for).where(leases.c.deleted_at.is_not(None)).distinct()
        assert connection.scalars(noted).all() == [NOTHING]
        assert compare_windows(connection, dice, None) > 20


@pytest.mark.servers
def test_postgresql_reads_no_more_than_the_window_before_it_knows_its_tables(postgresql_url: str) -> None:
    """A plan for any window took the index of what is not deleted, and read the project's leases nine times."""
    with opened(postgresql_url) as engine:
        schema.upgrade(engine)
        with writing(engine) as connection:
            write(connection, project_id="p")
            copied: dict[str, ColumnElement[Any]] = {each.name: each for each in leases.c if each.computed is None}
            numbers = func.generate_series(1, 20_000).table_valued("number").render_derived()
            copied |= {
                "id": cast(numbers.c.number, String),
                "holds_from": leases.c.holds_from + 36_000 * numbers.c.number,
            }
            connection.execute(
                insert(leases).from_select(
                    list(copied), select(*copied.values()).select_from(leases).join(numbers, true())
                )
            )
        with reading(engine) as connection:
            connection.execute(text("SET plan_cache_mode = force_generic_plan"))
            read = text("SELECT idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'leases'")
            before = connection.scalar(read)
            # The driver prepares a statement that has run several times.
            for _ in range(10):
                CountedUse(connection, {}).allocated("p", window=hours(3_000, 3_001))
            assert connection.scalar(read) - before < 100


def test_what_is_noted_wrongly_is_found(db: Database) -> None:
    def make(connection: Connection) -> set[str]:
        number = enrol(connection)
        right, early, late, over = (write(connection, project_id="p") for _ in range(4))
        hold(connection, right, number)
        hold(connection, early, number, window=Window(hour(0.5), early.window.end))
        hold(connection, late, number, window=Window(late.window.start, hour(9)))
        hold(connection, over, number, window=Window(hour(-3), hour(-2)))
        return {early.id, late.id}

    wrong = db.transact(make)
    with db.reading() as connection:
        assert wrongly_noted(connection, NOW) == sorted(wrong)


# ---------------------------------------------------------------- idempotency keys

DIGEST = "0" * 64


def keep(db: Database, project: str, key: str) -> str:
    lease_id = ident()
    db.transact(lambda connection: keep_key(connection, project, key, DIGEST, lease_id, NOW))
    return lease_id


def found(db: Database, project: str, key: str) -> tuple[str, str] | None:
    with db.reading() as connection:
        return find_key(connection, project, key)


def test_a_key_can_be_used_once_in_a_project_and_again_in_another(db: Database) -> None:
    assert found(db, "demo", "k") is None
    ids = {project: keep(db, project, "k") for project in ("demo", "alt")}
    assert {project: found(db, project, "k") for project in ids} == {name: (DIGEST, each) for name, each in ids.items()}
    with pytest.raises(IntegrityError):
        keep(db, "demo", "k")


def test_a_key_may_be_as_long_as_a_header_of_four_byte_characters(db: Database) -> None:
    key = "\U0001f511" * 255
    lease_id = keep(db, "p" * 255, key)
    assert found(db, "p" * 255, key) == (DIGEST, lease_id)
