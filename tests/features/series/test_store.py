"""Series of leases on each database: rows, and requests about one series at the same moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from threading import Event
from typing import TYPE_CHECKING

import pytest

from leasehold.db import schema
from leasehold.db.engine import writing
from leasehold.db.idempotency import keep_key
from leasehold.features.series import store as rows
from leasehold.features.series.model import Occurrence, OccurrenceRefusal, Series, SeriesChanges, SeriesDraft
from leasehold.features.series.use import SERIES, amend_series, delete_series, make_series
from leasehold.leasing.delete import delete_lease
from leasehold.leasing.reading import queries
from leasehold.model.errors import LeaseholdError
from leasehold.model.windows import Window
from tests.db.examples import NOW, at_once, enrol, ident
from tests.factory import DEMO, Clock, hosts, open_service
from tests.processes import wait_for

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from leasehold.db.store import Database
    from tests.factory import World

HOUR = timedelta(hours=1)
ONE = Occurrence(Window(NOW, NOW + HOUR), ident())
OTHER = Occurrence(
    Window(NOW + 24 * HOUR, NOW + 25 * HOUR), refusal=OccurrenceRefusal("a.b", "größer €", {"largest": 1})
)


def example() -> Series:
    draft = {"reservations": [{"resource_type": "physical:host"}], "heal_policy": None, "reminders": [60]}
    return Series(
        ident(), "demo", "alice", "Kürs", "FREQ=DAILY;COUNT=2", "Europe/Berlin", draft, "0" * 64, (ONE, OTHER), NOW
    )


def test_a_series_is_read_as_it_was_written(db: Database) -> None:
    first, other = example(), replace(example(), project_id="other", created_at=NOW + HOUR)
    for each in (other, first):
        db.transact(partial(rows.SERIES.add, new=each))
    with db.reading() as connection:
        assert rows.find_series(connection, first.id) == first
        assert rows.find_series(connection, ident()) is None
        assert rows.SERIES.page(connection, "demo") == [first]
        assert rows.SERIES.page(connection, None) == [first, other]
        assert rows.SERIES.count(connection, "demo") == 1


def test_a_series_that_was_deleted_is_there_for_its_key_alone(db: Database) -> None:
    first = example()
    db.transact(partial(rows.SERIES.add, new=first))
    after = replace(first, name="other", occurrences=(OTHER, ONE), updated_at=NOW)
    assert db.transact(partial(rows.save_series, after=after)) == replace(after, generation=2)
    gone = db.transact(partial(rows.save_series, after=replace(after, generation=2, deleted_at=NOW)))
    with db.reading() as connection:
        assert rows.find_series(connection, first.id) is None
        assert rows.find_series(connection, first.id, gone=True) == gone
        assert rows.SERIES.page(connection, None) == []
        assert rows.SERIES.count(connection, "demo") == 0


@pytest.mark.slow
def test_the_upgrade_finds_the_leases_that_a_series_has_lost(empty_engine: Engine) -> None:
    """As older versions left them: each occurrence had a key, and its lease's id was written at the end."""
    schema.upgrade(empty_engine)
    world = open_service(empty_engine.url.render_as_string(hide_password=False), clock=Clock())
    world.service.db.transact(partial(enrol, name="cmp-1"))
    draft = SeriesDraft("course", Window(world.hour(1), world.hour(2)), "FREQ=DAILY;COUNT=4", "UTC", (hosts(1),))
    made = make_series(world.service, DEMO, draft)
    last = made.occurrences[3]
    unwritten = (*(replace(each, lease_id=None) for each in made.occurrences[:3]), last)
    with writing(empty_engine) as connection:
        for place, lease_id in enumerate(made.lease_ids):
            keep_key(connection, "demo", f"series/{made.id}/{place}", "0" * 64, lease_id, NOW)
        rows.save_series(connection, replace(made, occurrences=unwritten))
    delete_lease(world.service, made.lease_ids[0])
    schema.downgrade(empty_engine, "0054")
    schema.upgrade(empty_engine)
    (found,) = SERIES.page(world.service, "demo")
    assert [each.lease_id for each in found.occurrences] == [None, *made.lease_ids[1:]]
    world.engine.dispose()


@pytest.mark.slow
def test_the_same_request_at_the_same_moment_makes_one_series(engine: Engine) -> None:
    world = open_service(engine.url.render_as_string(hide_password=False), clock=Clock())
    world.service.db.transact(partial(enrol, name="cmp-1"))
    window = Window(world.hour(1), world.hour(2))
    draft = SeriesDraft("course", window, "FREQ=DAILY;COUNT=3", "UTC", (hosts(1),), fingerprint="a")

    def work(own: Database, _: int) -> str:
        return make_series(replace(world.service, db=own), DEMO, draft, "key").id

    answers = at_once(engine, 4, work)
    assert len(set(answers)) == 1
    (series,) = SERIES.page(world.service, "demo")
    made = list(queries.each_lease(world.service, "demo"))
    assert {lease.id for lease in made} == set(series.lease_ids)
    assert len(made) == 3
    world.engine.dispose()


@pytest.mark.slow
def test_a_series_that_is_made_moved_and_deleted_at_once_names_all_its_leases(engine: Engine) -> None:
    world = open_service(engine.url.render_as_string(hide_password=False), clock=Clock())
    world.service.db.transact(partial(enrol, name="cmp-1"))
    for key in ("a", "b", "c"):
        made, moved, deleted = at_once(engine, 3, partial(_make_move_or_delete, world, key, Event()))
        assert deleted == "done", (made, moved, deleted)
        assert list(queries.each_lease(world.service, "demo")) == []
        assert list(SERIES.page(world.service, "demo")) == []
    world.engine.dispose()


def _make_move_or_delete(world: World, key: str, deleted: Event, own: Database, number: int) -> str:
    """Make a series, or move it until another one has deleted it, or delete it; return what became of that."""
    service = replace(world.service, db=own)
    try:
        if number == 0:
            first = Window(world.hour(1), world.hour(2))
            draft = SeriesDraft("course", first, "FREQ=DAILY;COUNT=6", "UTC", (hosts(1),), fingerprint="a")
            make_series(service, DEMO, draft, key)
        while number == 1 and not deleted.is_set():
            for each in SERIES.page(service, "demo"):
                amend_series(service, DEMO, each.id, SeriesChanges(start=world.hour(3), end=world.hour(4)))
        if number == 2:
            wait_for(lambda: SERIES.page(service, "demo"), within=60)
            delete_series(service, SERIES.page(service, "demo")[0].id)
            deleted.set()
    except LeaseholdError as error:
        return error.code
    return "done"
