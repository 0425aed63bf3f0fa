"""Only one manager at a time holds a periodic lock, on every database, however many ask for it at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from threading import Barrier
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from leasehold.db.engine import reading, writing
from leasehold.db.periodic_lock import add_periodic_lock, keep_periodic_lock, take_periodic_lock
from leasehold.db.tables import tasks
from leasehold.db.task import claim_tasks, next_due
from tests.factory import START

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import Engine

    from leasehold.db.store import Database

KIND = "audit"


def at(minutes: float) -> datetime:
    return START + timedelta(minutes=minutes)


def take(db: Database, minutes: float, until: float) -> bool:
    return db.transact(partial(take_periodic_lock, kind=KIND, now=at(minutes), until=at(until)))


def keep(db: Database, mine: float, until: float) -> bool:
    return db.transact(partial(keep_periodic_lock, kind=KIND, mine=at(mine), until=at(until)))


def test_a_turn_is_taken_by_one_until_the_next_is_open(db: Database) -> None:
    db.transact(partial(add_periodic_lock, kind=KIND))
    assert take(db, 0, until=10)
    assert not take(db, 9, until=19)
    assert take(db, 10, until=20)
    assert not keep(db, mine=10, until=21), "it is somebody else's by now"
    assert keep(db, mine=20, until=25)
    assert not take(db, 24, until=34)
    assert take(db, 25, until=35)


def test_the_row_is_made_once_and_is_no_work_for_workers(db: Database, engine: Engine) -> None:
    for _ in range(2):
        db.transact(partial(add_periodic_lock, kind=KIND))
    assert take(db, 0, until=10)
    later = START + timedelta(days=1)
    with reading(engine) as connection:
        assert connection.execute(select(func.count()).select_from(tasks)).scalar_one() == 1
        assert connection.execute(select(tasks.c.claimed_by)).scalar_one() is None
        assert next_due(connection, later) is None
    with writing(engine) as connection:
        assert claim_tasks(connection, "worker", later, timedelta(minutes=1), 5) == []


def test_of_many_that_ask_at_once_one_gets_it(db: Database) -> None:
    db.transact(partial(add_periodic_lock, kind=KIND))
    many = 6
    barrier = Barrier(many)

    def ask(number: int) -> bool:
        barrier.wait()
        return take(db, 0, until=10 + number / 1000)

    with ThreadPoolExecutor(many) as pool:
        assert sum(pool.map(ask, range(many))) == 1
