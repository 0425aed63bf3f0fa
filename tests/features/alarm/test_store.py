"""Capacity alarms on each database: rows, compare-and-swap, and each crossing told once by many managers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import func, select

from leasehold.db.engine import writing
from leasehold.db.event_log import each_event, sequence
from leasehold.db.past.history import purge
from leasehold.db.pool import lock_pools
from leasehold.features.alarm.model import LONGEST_REASON, Alarm, AlarmDraft, Count, TooManyAlarmsError
from leasehold.features.alarm.options import AlarmSettings
from leasehold.features.alarm.store import (
    ALARMS,
    alarms,
    alarms_to_check,
    find_alarms,
    mark_checked,
    put_event,
    save_check,
)
from leasehold.features.alarm.use import AlarmWatch, make_alarm
from leasehold.model.event_log import AlarmNews, EventFilter
from leasehold.model.resource import HOST_POOL
from tests.db.examples import NOW, at_once, enrol, hour, ident
from tests.factory import DEMO, Clock, hosts, open_service

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from leasehold.db.store import Database
    from leasehold.model.event_log import LogEvent
    from tests.factory import World


def alarm(**changes: Any) -> Alarm:
    values: dict[str, Any] = {
        "id": ident(),
        "project_id": "demo",
        "user_id": "alice",
        "name": "größer €",
        "reservation": {"resource_type": "physical:host", "resource_properties": '["==", "$rack", "ü"]'},
        "request": {"min": 1, "max": 2},
        "below": 2**31 - 1,
        "duration": 3600,
        "created_at": NOW,
    }
    return Alarm(**{**values, **changes})


def add(db: Database, **changes: Any) -> Alarm:
    made = alarm(**changes)
    db.transact(lambda connection: ALARMS.add(connection, made))
    return made


def test_what_is_written_is_read(db: Database) -> None:
    first, second = add(db, created_at=hour(1)), add(db)
    theirs = add(db, project_id="alt", low=True, available=2**31, reason="r" * LONGEST_REASON, checked_at=hour(2))
    with db.reading() as connection:
        assert [ALARMS.find(connection, each.id) for each in (first, second, theirs)] == [first, second, theirs]
        assert list(ALARMS.page(connection, "demo")) == [second, first]
        assert {each.id for each in ALARMS.page(connection, None)} == {first.id, second.id, theirs.id}
        assert [each.id for each in find_alarms(connection, [first.id, "none"])] == [first.id]
        assert (ALARMS.count(connection, "demo"), ALARMS.count(connection, "none")) == (2, 0)
    assert db.transact(partial(ALARMS.remove, ident=first.id))
    assert not db.transact(partial(ALARMS.remove, ident=first.id))
    with db.reading() as connection:
        assert ALARMS.find(connection, first.id) is None


def test_a_check_is_written_if_nothing_was_written_since(db: Database) -> None:
    before = add(db)
    low, enough = (before.checked(Count(amount), hour(1)) for amount in (1, 2**31))
    assert db.transact(partial(save_check, before=before, after=low))
    assert not db.transact(partial(save_check, before=before, after=enough))
    with db.reading() as connection:
        found = ALARMS.find(connection, before.id)
    assert found == replace(low, generation=1)
    lost = found.checked(Count(None, "no plugin"), hour(2))
    assert db.transact(partial(save_check, before=found, after=lost))
    with db.reading() as connection:
        found = ALARMS.find(connection, before.id)
    assert found is not None
    assert (found.low, found.available, found.reason, found.changed_at) == (True, None, "no plugin", hour(1))
    db.transact(partial(ALARMS.remove, ident=before.id))
    assert not db.transact(partial(save_check, before=found, after=found))


def test_those_come_first_that_were_not_checked_for_the_longest_time(db: Database) -> None:
    late, new, old = add(db, checked_at=hour(3)), add(db, created_at=hour(2)), add(db, checked_at=hour(1))
    with db.reading() as connection:
        assert list(alarms_to_check(connection, 9)) == [old.id, new.id, late.id]
        assert list(alarms_to_check(connection, 1)) == [old.id]
    db.transact(partial(mark_checked, ids=[old.id, new.id, late.id], now=hour(2)))
    with db.reading() as connection:
        assert [each.checked_at for each in find_alarms(connection, [new.id])] == [hour(2)]
        assert list(alarms_to_check(connection, 9))[-1] == late.id


def events(db: Database) -> list[LogEvent]:
    with db.reading() as connection:
        return list(each_event(connection, 0, EventFilter("demo"), 100))


def test_old_events_of_alarms_are_purged_by_their_age(db: Database) -> None:
    made = alarm()
    for moment in (0, 1, 2):
        db.transact(partial(put_event, event_type=AlarmNews.LOW, alarm=made, now=hour(moment)))
    db.transact(partial(sequence, most=10))
    assert purge(db.engine, hour(2), timedelta(hours=1), dry_run=True)["outbox"] == 1
    assert purge(db.engine, hour(2), timedelta(hours=1), dry_run=False)["outbox"] == 1
    assert [(each.alarm_id, each.lease_id, each.time) for each in events(db)] == [
        (made.id, None, hour(1)),
        (made.id, None, hour(2)),
    ]


# ---------------------------------------------------------------- many at a time


def opened_on(engine: Engine) -> World:
    return open_service(engine.url.render_as_string(hide_password=False), clock=Clock())


@pytest.mark.slow
def test_many_managers_tell_each_crossing_once(engine: Engine, db: Database) -> None:
    """Each of four managers checks three times, all at the same moment; there are two hosts."""
    made = [add(db, below=number, request={**hosts()}, reservation=hosts()) for number in (1, 2, 3)]
    world = opened_on(engine)
    with writing(engine) as connection:
        for number in range(2):
            enrol(connection, f"cmp-{number}")

    def work(own: Database, _: int) -> int:
        watch = AlarmWatch(replace(world.service, db=own))
        return sum(watch.check() for _ in range(3))

    assert sum(at_once(engine, 4, work)) == 1
    db.transact(partial(sequence, most=10))
    assert [(each.type, each.alarm_id) for each in events(db)] == [(AlarmNews.LOW, made[2].id)]
    world.engine.dispose()


@pytest.mark.slow
def test_nobody_makes_more_than_a_project_may_have(engine: Engine, db: Database) -> None:
    with writing(engine) as connection:
        enrol(connection)
    world = opened_on(engine)
    few = world.service.settings.having(AlarmSettings(alarms=3))

    def work(own: Database, _: int) -> int:
        service, made = replace(world.service, db=own, settings=few), 0
        for _ in range(3):
            try:
                make_alarm(service, DEMO, AlarmDraft(hosts(), 1, 60))
            except TooManyAlarmsError:
                break
            made += 1
        return made

    assert sum(at_once(engine, 4, work)) == 3
    with db.reading() as connection:
        assert connection.execute(select(func.count()).select_from(alarms)).scalar_one() == 3
    world.engine.dispose()


@pytest.mark.slow
def test_alarms_are_made_and_checked_while_a_decision_holds_the_pool(server: Database) -> None:
    with writing(server.engine) as connection:
        enrol(connection)
    world = opened_on(server.engine)
    with writing(server.engine) as connection:
        lock_pools(connection, {HOST_POOL})
        make_alarm(world.service, DEMO, AlarmDraft(hosts(), 9, 60))
        assert AlarmWatch(world.service).check() == 1
    world.engine.dispose()
