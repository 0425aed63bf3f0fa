"""Reminders of ends on each database: which leases are looked up, and that each is told once by many managers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.db.leases.lease import insert_lease
from leasehold.db.leases.reminder import leases_to_remind
from leasehold.db.tables import outbox
from leasehold.leasing.reminder import remind
from leasehold.model.event_log import LeaseNews
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import Window
from tests.db.examples import NOW, at_once, lease
from tests.factory import Clock, open_service

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from sqlalchemy import Engine

    from leasehold.db.store import Database

RUNGS = (86_400, 600)


def add(db: Database, left: float, **changes: Any) -> str:
    """Write an active lease that ends in so many seconds, and return its id."""
    window = Window(NOW - timedelta(days=9), NOW + timedelta(seconds=left))
    made = replace(lease(window=window), **{"status": LeaseStatus.ACTIVE, **changes})
    db.transact(lambda connection: insert_lease(connection, made))
    return made.id


def found(db: Database, most: int = 10) -> Sequence[str]:
    with db.reading() as connection:
        return leases_to_remind(connection, NOW, RUNGS, most)


def test_those_are_found_that_have_passed_a_rung_they_were_not_told_of(db: Database) -> None:
    wanted = [add(db, 86_400), add(db, 600), add(db, 601), add(db, 1, reminded=601), add(db, 599, reminded=86_400)]
    for left, changes in (
        (86_401, {}),
        (0, {}),
        (-1, {}),
        (601, {"reminded": 86_400}),
        (5, {"reminded": 600}),
        (5, {"reminded": 2}),
        (5, {"status": LeaseStatus.PENDING}),
        (5, {"status": LeaseStatus.TERMINATED}),
    ):
        add(db, left, **changes)
    assert list(found(db)) == [wanted[number] for number in (3, 4, 1, 2, 0)]
    assert list(found(db, most=2)) == [wanted[3], wanted[4]]


def test_rungs_of_their_own_take_the_place_of_the_operators(db: Database) -> None:
    wanted = [add(db, 3600, reminders=(3600,)), add(db, 50, reminders=(60, 7200), reminded=7200)]
    for left, changes in (
        (3601, {"reminders": (3600,)}),
        (5, {"reminders": ()}),
        (50, {"reminders": (60,), "reminded": 60}),
        (5, {"reminders": (60,), "status": LeaseStatus.TERMINATED}),
        (-5, {"reminders": (60,)}),
    ):
        add(db, left, **changes)
    assert list(found(db)) == [wanted[1], wanted[0]]
    both = add(db, 500)
    assert list(found(db)) == [wanted[1], both, wanted[0]]
    assert list(found(db, most=1)) == [wanted[1]]


@pytest.mark.slow
def test_many_managers_tell_each_lease_once(engine: Engine, db: Database) -> None:
    ids = {add(db, 500 + number) for number in range(12)}
    world = open_service(engine.url.render_as_string(hide_password=False), clock=Clock())
    clock = replace(world.service, now=lambda: NOW)

    def work(own: Database, _: int) -> int:
        return remind(replace(clock, db=own))

    assert sum(at_once(engine, 4, work)) == len(ids)
    query = select(outbox.c.lease_id).where(outbox.c.event_type == LeaseNews.ENDS_SOON)
    with db.reading() as connection:
        assert sorted(connection.execute(query).scalars()) == sorted(ids)
    world.engine.dispose()
