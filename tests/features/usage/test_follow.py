"""The follower on real leases: what it writes adds up with the segments, and each event counts once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError

from leasehold.db.event_log import mark_purged, sequence
from leasehold.db.outbox import put_event
from leasehold.db.past.history import purge
from leasehold.db.past.record import SegmentFilter, each_segment
from leasehold.db.store import GenerationRaceError
from leasehold.db.tables import outbox
from leasehold.features.registry import all_tables
from leasehold.features.usage import follow as following
from leasehold.features.usage import store
from leasehold.features.usage.follow import follow, follow_page
from leasehold.leasing.reading.event_log import sequence_events
from leasehold.model.event_log import LeaseNews
from leasehold.model.states import EventType, LeaseStatus
from leasehold.model.windows import to_seconds
from tests.db.examples import active, at_once, hour, lease, reservation
from tests.factory import TYPES, Killed, floating_ips, hosts, instances, run_for, run_until

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Engine, Table

    from leasehold.db.store import Database
    from leasehold.model.lease import Lease
    from tests.factory import World

HOUR = 3600


def followed(world: World) -> int:
    sequence_events(world.service)
    return follow(world.service)


def rows(engine: Engine, table: Table) -> list[dict[str, Any]]:
    with engine.connect() as connection:
        return [dict(row._mapping) for row in connection.execute(select(table))]


def losses(world: World, about: Lease | None = None) -> list[tuple[str, int, float, float]]:
    """Return state, amount, and start and end in hours after the start of the world, of what is closed."""
    start = to_seconds(world.hour(0))
    found = [row for row in rows(world.engine, store.usage_losses) if about is None or row["lease_id"] == about.id]
    spans = [(each, (each["starts_at"] - start) / HOUR, (each["ends_at"] - start) / HOUR) for each in found]
    return sorted((each["state"], each["amount"], begin, end) for each, begin, end in spans)


def lost(world: World) -> dict[str, int]:
    """Return the unit-seconds of each state up to now, closed or not."""
    now = to_seconds(world.now())
    found: dict[str, int] = {}
    with world.engine.connect() as connection:
        for row in connection.execute(store.losses_until(now)):
            length = max(0, min(now, row.ends_at) - row.starts_at)
            found[row.state] = found.get(row.state, 0) + row.amount * length
    return found


def held(world: World) -> int:
    with world.service.db.reading() as connection:
        segments = list(each_segment(connection, SegmentFilter(), world.now()))
    return sum(each.slots * int(each.window.duration.total_seconds()) for each in segments)


def test_what_is_delivered_in_time_loses_nothing(world: World) -> None:
    made = world.active(hosts(2), end=3)
    run_until(world, world.hour(5))
    followed(world)
    assert losses(world) == []
    (terms,) = rows(world.engine, store.usage_terms)
    assert (terms["lease_id"], terms["amount"], terms["missing"]) == (made.id, 2, 0)
    assert terms["over_at"] == terms["ends_at"] == to_seconds(world.hour(3))
    assert terms["delivered_at"] == to_seconds(world.hour(0))
    assert followed(world) == 0


def test_what_its_owner_does_not_keep_is_given_up_from_then_on(world: World) -> None:
    early = world.active(hosts(2), end=10)
    ahead, whole = world.lease(instances(3), start=5, end=8), world.lease(floating_ips(2), start=6, end=7)
    run_until(world, world.hour(1))
    world.amend(early, end=4)
    world.amend(ahead, {"amount": 1})
    world.delete(whole)
    run_until(world, world.hour(3))
    world.delete(early)
    run_for(world, hours=7)
    followed(world)
    assert losses(world, early) == [("given_up", 2, 3, 4), ("given_up", 2, 4, 10)]
    assert losses(world, ahead) == [("given_up", 2, 5, 8)]
    assert losses(world, whole) == [("given_up", 2, 6, 7)]
    # Promised were 2 hosts for 10 hours, 3 instances for 3, and 2 addresses for one.
    assert held(world) + lost(world)["given_up"] == (20 + 9 + 2) * HOUR


def test_a_start_that_is_late_and_one_that_never_comes(world: World) -> None:
    world.refuse("aggregates.ensure")
    late, never = world.lease(hosts(), end=4), world.lease(hosts(), start=0, end=1)
    run_until(world, world.hour(0.5))
    followed(world)
    assert lost(world) == {"late": HOUR}
    run_until(world, world.hour(2))
    world.cloud.faults.clear()
    run_until(world, world.hour(3))
    delivered = next(each.updated_at for each in world.get(late).events if each.type == EventType.START)
    assert delivered is not None
    run_until(world, world.hour(5))
    followed(world)
    after = (to_seconds(delivered) - to_seconds(world.hour(0))) / HOUR
    assert after > 2
    assert losses(world, late) == [("late", 1, 0, after)]
    assert losses(world, never) == [("late", 1, 0, 1)]


def test_what_is_missing_counts_until_it_is_there_again(world: World) -> None:
    made = world.active(hosts(3, resource_properties='["==", "$rack", "r2"]'), end=10)
    run_until(world, world.hour(2))
    world.fail("cmp-06")
    run_until(world, world.hour(5))
    followed(world)
    assert lost(world) == {"missing": 3 * HOUR}
    world.recover("cmp-06")
    run_until(world, world.hour(12))
    followed(world)
    assert losses(world, made) == [("missing", 1, 2, 5)]
    assert held(world) + 3 * HOUR == 30 * HOUR


def test_a_range_is_promised_what_it_got(world: World) -> None:
    world.lease(hosts(2), end=5, start=1)
    made = world.lease(hosts(1, 5), start=1, end=5)
    run_until(world, world.hour(3))
    world.delete(made)
    followed(world)
    assert losses(world, made) == [("given_up", 3, 3, 5)]


def test_a_sub_lease_names_the_project_of_its_lender(world: World) -> None:
    lender = world.active(hosts(2), end=10)
    sub = world.lend(lender, amount=1, end=8)
    run_until(world, world.hour(1))
    followed(world)
    found = {row["lease_id"]: row for row in rows(world.engine, store.usage_terms)}
    assert found[sub.id]["lender_project_id"] == lender.project_id
    assert found[lender.id]["lender_project_id"] is None


# ---------------------------------------------------------------- exactly once


def histories(number: int) -> list[tuple[str, Lease, float]]:
    """Return events of leases, each with its hour: some are late, all miss something, and are deleted early or late."""
    told: list[tuple[str, Lease, float]] = []
    for each in range(number):
        made = lease()
        request = {"min": 3, "max": 3, "hypervisor_properties": "", "resource_properties": ""}
        made = replace(made, reservations=(reservation(made.id, request=request),))
        running = replace(made, **active(made))
        lacking = running.with_reservations(None, missing_resources=True, missing=1 + each % 2)
        told += [
            ("lease.create", made, 0),
            ("lease.event.start_lease", running, 1 + each % 3 / 4),
            (LeaseNews.DEGRADED, lacking, 1.8),
            ("lease.delete", replace(lacking, status=LeaseStatus.DELETING), 1.9 + each % 2),
        ]
    return sorted(told, key=itemgetter(2))


def tell(db: Database, told: Sequence[tuple[str, Lease, float]]) -> None:
    def write(connection: Connection) -> None:
        for event, about, when in told:
            put_event(connection, event, about, hour(when))
        sequence(connection, 10_000)

    db.transact(write)


Record = dict[str, list[tuple[Any, ...]]]


def record(db: Database) -> Record:
    """Return all rows of the follower, without their keys."""
    found = {}
    for table in (store.usage_terms, store.usage_losses, store.usage_cursor):
        columns = [each for each in table.c if each.name != "id"]
        with db.reading() as connection:
            found[table.name] = sorted(map(tuple, connection.execute(select(*columns))), key=repr)
    return found


def forget(connection: Connection) -> None:
    for table in (store.usage_terms, store.usage_losses, store.usage_cursor):
        connection.execute(delete(table))


def read_all(db: Database) -> None:
    while db.transact(partial(follow_page, TYPES)):
        pass


@pytest.fixture
def expected(db: Database) -> Record:
    """Return what is written of a log by one follower that nothing disturbs; it is forgotten then."""
    tell(db, histories(8))
    read_all(db)
    found = record(db)
    states = [row[5] for row in found["usage_losses"]]
    assert {each: states.count(each) for each in states} == {"late": 5, "missing": 8, "given_up": 4}
    db.transact(forget)
    return found


def test_a_follower_that_is_killed_at_each_step_of_each_page_counts_each_event_once(
    db: Database, expected: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "PAGE", 3)
    for step in ("save_terms", "add_losses", "save_progress"):
        db.transact(forget)
        survives = getattr(store, step)
        dies: list[bool] = []

        def work(*args: Any, survives: Any = survives, dies: list[bool] = dies) -> None:
            survives(*args)
            dies.append(not (dies and dies[-1]))
            if dies[-1]:
                raise Killed

        with monkeypatch.context() as patched:
            patched.setattr(store, step, work)
            left = 1
            while left:
                with suppress(Killed):
                    left = db.transact(partial(follow_page, TYPES))
        assert dies.count(True) > 5
        assert record(db) == expected


def test_two_followers_at_once_count_each_event_once(
    engine: Engine, db: Database, expected: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "PAGE", 1)

    def work(own: Database, _number: int) -> int:
        count, read = 0, 1
        while read:
            with suppress(IntegrityError, GenerationRaceError):
                read = own.transact(partial(follow_page, TYPES))
                count += read
        return count

    assert sum(at_once(engine, 2, work)) == 32
    assert record(db) == expected


def test_events_that_were_purged_before_are_left_out_and_the_log_says_so(
    db: Database, expected: Record, caplog: pytest.LogCaptureFixture
) -> None:
    assert expected
    db.transact(lambda connection: mark_purged(connection, outbox.c.position <= 4))
    db.transact(lambda connection: connection.execute(delete(outbox).where(outbox.c.position <= 4)))
    read_all(db)
    assert "Events up to position 4 were purged, and those after 0 not read" in caplog.text
    assert len(caplog.records) == 1


def test_its_rows_outlive_their_leases_and_go_with_the_record(engine: Engine, db: Database, expected: Record) -> None:
    read_all(db)
    assert record(db) == expected
    month = timedelta(days=30)
    for when, all_gone in ((hour(1.95) + month, False), (hour(4) + month, True)):
        removed = purge(engine, when, month, dry_run=False, tables=all_tables())
        assert removed["usage_losses"] == removed["usage_terms"] == 0
        counted = purge(engine, when, month, dry_run=True, record=True, tables=all_tables())
        removed = purge(engine, when, month, dry_run=False, record=True, tables=all_tables())
        assert counted["usage_losses"] == removed["usage_losses"] > 0
        assert counted["usage_terms"] == removed["usage_terms"] > 0
        assert (record(db)["usage_losses"] == record(db)["usage_terms"] == []) is all_gone
    tell(db, [("lease.delete", replace(histories(1)[-1][1], deleted_at=hour(9)), 9)])
    read_all(db)
    assert record(db)["usage_losses"] == record(db)["usage_terms"] == []
