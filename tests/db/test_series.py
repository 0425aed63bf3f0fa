"""Series of leases on each database: rows, compare-and-swap, and the same request twice at the same moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pytest

from leasehold.db import series as rows
from leasehold.leasing import queries
from leasehold.leasing.series import list_series, make_series
from leasehold.model.series import Occurrence, Refusal, Series, SeriesDraft
from leasehold.model.windows import Window
from tests.db.examples import NOW, at_once, enrol, ident
from tests.factory import DEMO, Clock, hosts, open_service

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from leasehold.db.store import Database

HOUR = timedelta(hours=1)
ONE = Occurrence(Window(NOW, NOW + HOUR), ident())
OTHER = Occurrence(Window(NOW + 24 * HOUR, NOW + 25 * HOUR), refusal=Refusal("a.b", "größer €", {"largest": 1}))


def example() -> Series:
    draft = {"reservations": [{"resource_type": "physical:host"}], "heal_policy": None, "reminders": [60]}
    return Series(
        ident(), "demo", "alice", "Kürs", "FREQ=DAILY;COUNT=2", "Europe/Berlin", draft, "0" * 64, (ONE, OTHER), NOW
    )


def test_a_series_is_read_as_it_was_written(db: Database) -> None:
    first, other = example(), replace(example(), project_id="other", created_at=NOW + HOUR)
    for each in (other, first):
        db.transact(partial(rows.add_series, new=each))
    with db.reading() as connection:
        assert rows.find_series(connection, first.id) == first
        assert rows.find_series(connection, ident()) is None
        assert rows.list_series(connection, "demo") == [first]
        assert rows.list_series(connection, None) == [first, other]
        assert rows.count_series(connection, "demo") == 1


def test_only_who_has_seen_the_last_change_may_write(db: Database) -> None:
    first = example()
    db.transact(partial(rows.add_series, new=first))
    after = replace(first, name="other", occurrences=(OTHER, ONE), updated_at=NOW, generation=2)
    assert db.transact(partial(rows.save_series, before=first, after=after))
    assert not db.transact(partial(rows.save_series, before=first, after=replace(after, name="late")))
    with db.reading() as connection:
        assert rows.find_series(connection, first.id) == after
    assert db.transact(partial(rows.delete_series, ident=first.id))
    assert not db.transact(partial(rows.delete_series, ident=first.id))


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
    (series,) = list_series(world.service, "demo")
    made = queries.list_leases(world.service, "demo")
    assert {lease.id for lease in made} == set(series.lease_ids)
    assert len(made) == 3
    world.engine.dispose()
