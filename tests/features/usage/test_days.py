"""Sums of whole days: with them a report says what it says without them, whatever happens later (decision 0156)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError

from leasehold.cloud.sandbox.tables import floating_ips as addresses
from leasehold.db import schema
from leasehold.db.outbox import put_event
from leasehold.db.past.history import purge
from leasehold.db.store import Database
from leasehold.features.registry import all_tables
from leasehold.features.usage import store, summing
from leasehold.features.usage.days import summed_days, tally
from leasehold.features.usage.follow import follow
from leasehold.features.usage.model import Loss
from leasehold.features.usage.options import UsageSettings
from leasehold.features.usage.poll import poll
from leasehold.features.usage.report import Usage, read_usage
from leasehold.features.usage.summing import sum_days
from leasehold.features.usage.sums import DAY, Asked, Group
from leasehold.features.usage.tally import of_spans
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.model.errors import LeaseholdError
from leasehold.model.resource import HOST
from leasehold.model.windows import to_seconds
from tests.db.examples import NOW, at_once
from tests.factory import Killed, floating_ips, hosts, instances, make_service, run_for, run_manager
from tests.features.usage.records import END, Piece, Promise, Writer

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

    from leasehold.model.lease import Lease
    from tests.factory import World

HOUR = 3_600
FIRST = END // DAY * DAY - 3 * DAY
"""The first day of `PROMISES`; the present is in the fourth one."""
INTERVAL = 3 * HOUR
SEED, STEPS = 2, 16
ONE_BY_ONE = tuple(name for name in store.SUMS if name != "no_show")


def rows(db: Database) -> list[dict[str, Any]]:
    with db.reading() as connection:
        found = connection.execute(select(store.usage_days).order_by(store.usage_days.c.id))
        return [dict(row._mapping) for row in found]


def columns_of(sums: Any) -> dict[str, dict[Any, int]]:
    """Return the sums by column that are not nothing; lenders are not told apart by user."""
    return {name: {key: seconds for key, seconds in some.items() if seconds} for name, some in sums.items()}


def polling(world: World, seconds: float) -> World:
    """Return the same world, polled at this interval."""
    settings = world.service.settings.having(UsageSettings(10, seconds))
    return replace(world, service=replace(world.service, settings=settings))


def check(db: Database, asked: Asked) -> None:
    """Compare what days and spans say together with what spans alone say."""
    with db.reading() as connection:
        found, expected = columns_of(tally(connection, asked)), columns_of(of_spans(connection, asked))
    for name, some in expected.items():
        assert found[name] == some, name


def day_of(db: Database, day: int, now: int = END) -> Usage:
    """Return the usage of hosts of one day."""
    with db.reading() as connection:
        found = {
            part.resource_type: usage for part, usage in read_usage(connection, Asked(day, day + DAY, now, Group.KIND))
        }
    return found[HOST]


def promise(project: str, uses: list[Any], *pieces: tuple[int, int], told: Any = None) -> Promise:
    """Return a promise of one host, which was late for a minute; pieces are hours after the first day."""
    start = FIRST - (END - 3 * DAY)
    spans = [(start + begin * HOUR, (end - begin) * HOUR) for begin, end in pieces]
    held = [Piece(host, span, 1, 1.0, left=False) for host, span in enumerate(spans)]
    late = [(Loss.LATE, 1, (spans[0][0], 60))]
    return Promise(project, "other", HOST, 1, 0, True, told, held, late, uses)


def used(begin: int, end: int) -> tuple[int, int, tuple[int, int]]:
    return 0, 1, (FIRST - (END - 3 * DAY) + begin * HOUR, (end - begin) * HOUR)


PROMISES = [
    promise("demo", [], (1, 30)),
    promise("demo", [used(2, 20)], (1, 22), (30, 40)),
    promise("other", [], (20, 50), (4, 8)),
    promise("other", [], (60, 66)),
    promise("demo", [], (10, 71), told=(0, 4 * DAY)),
]


def fill(connection: Connection) -> None:
    Writer(connection).write(PROMISES, {HOST: FIRST + 3 * HOUR})


# ---------------------------------------------------------------- the same with and without


@pytest.mark.slow
def test_a_history_is_the_same_of_days_and_of_spans_at_each_step(database_url: str) -> None:
    with make_service(database_url, hosts=("cmp-01", "cmp-02", "cmp-06", "cmp-07"), addresses=range(200, 203)) as made:
        history = History(polling(made, INTERVAL), Random(SEED))  # noqa: S311  repeatable, not secret
        for _ in range(STEPS):
            history.step()
        assert len({row["day"] for row in rows(made.service.db)}) > 5
        assert any(row["no_show"] for row in rows(made.service.db))
        assert any(row["given_up"] for row in rows(made.service.db))
        assert any(row["used"] for row in rows(made.service.db))


class History:
    """Leases of some days, of which some are used late or never; at times nobody follows, polls or sums."""

    def __init__(self, world: World, dice: Random) -> None:
        self.world, self.dice, self.leases = world, dice, list[Any]()
        self.kept: dict[tuple[Any, ...], list[int]] = {}

    def step(self) -> None:
        dice, world = self.dice, self.world
        for do in dice.sample([self.begin, self.end, self.use, self.change, self.stop, self.lend], 3):
            with suppress(LeaseholdError):
                do()
        for _ in range(dice.randint(1, 4)):
            run_for(world, seconds=dice.choice([1, 1, 2]) * INTERVAL + dice.choice([0, 17]))
            if dice.random() < 0.85:
                poll(world.service)
        if dice.random() < 0.05:
            run_for(world, days=4)
        if dice.random() < 0.7:
            sequence_events(world.service)
            follow(world.service)
        if dice.random() < 0.7:
            sum_days(world.service.db, world.now())
        self.check()

    def check(self) -> None:
        db, now = self.world.service.db, to_seconds(self.world.now())
        for row in rows(db):
            key = row["day"], row["project_id"], row["user_id"], row["resource_type"]
            assert self.kept.setdefault(key, [row[name] for name in ONE_BY_ONE]) == [row[name] for name in ONE_BY_ONE]
        begin = to_seconds(self.world.hour(0)) - DAY
        start = self.dice.randrange(begin, now)
        group = self.dice.choice([Group.PROJECT, Group.KIND])
        check(db, Asked(start, self.dice.randrange(start + 1, now + 1), now, group))
        check(db, Asked(begin, now, now, self.dice.choice([Group.USER, Group.DAY])))

    def begin(self) -> None:
        start = (self.world.now() - self.world.hour(0)).total_seconds() / HOUR + self.dice.choice([0, 0, 5, 30])
        part = self.dice.choice([hosts(), hosts(2), instances(2), floating_ips()])
        self.leases.append(self.world.lease(part, start=start, end=start + self.dice.randint(2, 90)))
        run_manager(self.world)

    def some(self) -> Lease:
        return self.world.get(self.dice.choice(self.leases)) if self.leases else self.world.lease()

    def end(self) -> None:
        self.world.delete(self.some())

    def use(self) -> None:
        lease = self.some()
        if lease.reservations[0].resource_type == "virtual:floatingip":
            self.world.execute(update(addresses).values(port_id="port-1"))
        elif lease.status == "ACTIVE":
            with suppress(AssertionError):  # All that it has may be lent, or in use.
                self.world.boot(lease)

    def stop(self) -> None:
        for each in sorted(self.world.servers())[:1]:
            self.world.cloud.servers.delete(each)

    def change(self) -> None:
        lease = self.some()
        self.world.amend(
            lease, end=(lease.window.end - self.world.hour(0)).total_seconds() / HOUR + self.dice.choice([-9, 7])
        )

    def lend(self) -> None:
        self.world.lend(self.some(), amount=1)


# ---------------------------------------------------------------- what may change later


def test_what_is_used_for_the_first_time_is_no_no_show_of_the_days_before(world: World) -> None:
    db = world.service.db
    never, later = world.active(hosts(), end=40), world.active(hosts(), end=200)
    service = polling(world, INTERVAL).service
    assert sum_days(db, world.now()) == 0

    def pass_by(intervals: int) -> None:
        for _ in range(intervals):
            poll(service)
            run_for(world, seconds=INTERVAL)
        sequence_events(service)
        follow(service)
        sum_days(db, world.now())

    day = to_seconds(world.hour(0)) // DAY * DAY + DAY
    pass_by(14)
    first = day_of(db, day, to_seconds(world.now()))
    assert (first.no_show, first.idle, first.used) == (2 * DAY, 2 * DAY, 0)
    assert [(row["day"] - day, row["held"], row["no_show"]) for row in rows(db)] == [
        (-DAY, 2 * 15 * HOUR, 0),
        (0, 2 * DAY, 0),
    ]
    pass_by(8)
    states = dict(
        world.service.db.transact(
            lambda connection: connection.execute(
                select(store.usage_terms.c.lease_id, store.usage_terms.c.unused)
            ).all()
        )
    )
    assert states == {never.id: store.SUMMED, later.id: store.PENDING}
    assert day_of(db, day, to_seconds(world.now())).no_show == 2 * DAY
    assert [row["no_show"] for row in rows(db)] == [15 * HOUR, DAY, HOUR][: len(rows(db))]
    world.boot(later)
    pass_by(1)
    again = day_of(db, day, to_seconds(world.now()))
    assert (again.no_show, again.idle, again.used) == (DAY, 2 * DAY, 0)


def test_an_event_that_comes_late_counts_from_the_first_day_that_is_not_summed(world: World) -> None:
    made = world.active(hosts(), end=100)
    sequence_events(world.service)
    follow(world.service)
    run_for(world, days=2)
    assert sum_days(world.service.db, world.now()) == 0  # There is no segment yet: days before today stay spans.
    run_for(world, days=2)
    assert sum_days(world.service.db, world.now()) == 2
    before = rows(world.service.db)
    gone = replace(world.get(made), deleted_at=world.hour(20))
    world.service.db.transact(lambda connection: put_event(connection, "lease.delete", gone, world.hour(20)))
    sequence_events(world.service)
    follow(world.service)
    closed = before[-1]["day"] + DAY
    with world.service.db.reading() as connection:
        (lost,) = connection.execute(select(store.usage_losses)).all()
    assert (lost.state, lost.starts_at) == ("given_up", closed)
    assert rows(world.service.db) == before
    check(world.service.db, Asked(closed - 3 * DAY, closed + DAY, to_seconds(world.now()), Group.PROJECT))


def test_a_poll_after_a_silence_does_not_reach_into_days_that_are_summed(world: World) -> None:
    made = world.active(hosts(), end=300)
    world.boot(made)
    service = polling(world, 2 * DAY).service
    poll(service)
    sequence_events(service)
    follow(service)
    assert sum_days(service.db, world.now()) == 0
    begin = to_seconds(world.now()) // DAY * DAY
    run_for(world, days=2, hours=23)
    assert sum_days(service.db, world.now()) == 0
    run_for(world, hours=1)
    assert sum_days(service.db, world.now()) == 3
    poll(service)
    with service.db.reading() as connection:
        uses = connection.execute(select(store.usage_uses).order_by(store.usage_uses.c.id)).all()
    now = to_seconds(world.now())
    assert [(row.starts_at, row.ends_at, row.seen_at) for row in uses] == [
        (begin + 9 * HOUR, begin + 9 * HOUR, None),
        (now, now, now),
    ]


def test_a_day_is_summed_once_all_of_it_is_known(world: World) -> None:
    service = world.service
    world.active(hosts(), end=1)
    run_for(world, hours=14.5)
    sequence_events(service)
    follow(service)
    poll(service)
    world.lease(hosts(), start=20, end=21)
    run_for(world, hours=1)
    assert to_seconds(world.now()) % DAY == HOUR // 2
    summed = [sum_days(service.db, world.now())]
    run_for(world, hours=1)
    # What comes next is read, put in order, followed and polled, one after the other.
    for step in (lambda: 0, lambda: sequence_events(service), lambda: follow(service), lambda: poll(service)):
        step()
        summed.append(sum_days(service.db, world.now()))
    assert summed == [0, 0, 0, 0, 1]
    assert [row["held"] for row in rows(service.db)] == [HOUR]


# ---------------------------------------------------------------- once


def test_two_managers_at_once_sum_each_day_and_each_no_show_once(engine: Engine, db: Database) -> None:
    db.transact(fill)
    sum_days(db, NOW)
    expected = rows(db)
    assert {row["day"] for row in expected} == {FIRST, FIRST + DAY, FIRST + 2 * DAY}
    assert sum(row["no_show"] for row in expected) == (27 + 30 + 4 + 6) * HOUR - 2 * 60
    db.transact(fill)

    def work(own: Database, _number: int) -> int:
        with suppress(IntegrityError):
            return sum_days(own, NOW)
        return sum_days(own, NOW)

    assert sum(at_once(engine, 2, work)) == 3
    assert without_ids(rows(db)) == without_ids(expected)
    for group in (Group.PROJECT, Group.USER, Group.DAY, Group.KIND):
        check(db, Asked(FIRST - DAY, END, END, group))


def without_ids(some: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in row if name != "id"} for row in some]


def test_a_manager_that_dies_at_each_step_sums_each_day_and_each_no_show_once(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.transact(fill)
    sum_days(db, NOW)
    expected = without_ids(rows(db))
    for step in ("_next_day", "_write", "_write_settled"):
        db.transact(fill)
        survives, dies = getattr(summing, step), list[bool]()

        def work(*args: Any, survives: Any = survives, dies: list[bool] = dies) -> Any:
            found = survives(*args)
            dies.append(not (dies and dies[-1]))
            if dies[-1]:
                raise Killed
            return found

        with monkeypatch.context() as patched:
            patched.setattr(summing, step, work)
            left = True
            while left:
                with suppress(Killed):
                    sum_days(db, NOW)
                    left = False
        assert without_ids(rows(db)) == expected


# ---------------------------------------------------------------- what is purged


def test_days_go_with_the_record_and_what_is_left_is_read_from_spans(engine: Engine, db: Database) -> None:
    db.transact(fill)
    sum_days(db, NOW)
    before = FIRST + DAY + 6 * HOUR
    age = timedelta(seconds=END - before)
    assert purge(engine, NOW, age, dry_run=False, tables=all_tables())["usage_days"] == 0
    counted = purge(engine, NOW, age, dry_run=True, record=True, tables=all_tables())
    removed = purge(engine, NOW, age, dry_run=False, record=True, tables=all_tables())
    assert counted["usage_days"] == removed["usage_days"] > 0
    asked = Asked(FIRST - DAY, END, END, Group.PROJECT)
    with db.reading() as connection:
        assert summed_days(connection, asked) == (FIRST + 2 * DAY, FIRST + 3 * DAY)
    for group in (Group.PROJECT, Group.USER, Group.DAY, Group.KIND):
        check(db, replace(asked, group=group))


def test_what_was_used_once_is_no_no_show_after_that_use_was_purged(engine: Engine, db: Database) -> None:
    began = promise("demo", [used(2, 5)], (1, 71), told=(0, 4 * DAY))
    db.transact(lambda connection: Writer(connection).write([began], {HOST: FIRST}))
    removed = purge(engine, NOW, timedelta(days=1), dry_run=False, record=True, tables=all_tables())
    assert (removed["usage_uses"], removed["usage_terms"]) == (1, 0)
    for summed in (False, True):
        if summed:
            sum_days(db, NOW)
        found = day_of(db, FIRST + 2 * DAY)
        assert (found.idle, found.no_show) == (23 * HOUR, 0)


def test_an_upgrade_knows_of_an_old_record_what_was_used(migrated: Engine) -> None:
    db = Database(migrated)
    db.transact(fill)

    def unused() -> dict[str, int | None]:
        with db.reading() as connection:
            columns = (store.usage_terms.c.reservation_id, store.usage_terms.c.unused)
            return {row.reservation_id: row.unused for row in connection.execute(select(*columns))}

    before = unused()
    assert set(before.values()) == {store.PENDING, None}
    schema.downgrade(migrated, "0076")
    schema.upgrade(migrated)
    assert unused() == before
    assert sum_days(db, NOW) == 3
    check(db, Asked(FIRST - DAY, END, END, Group.PROJECT))
