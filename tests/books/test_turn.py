"""A turn is one manager's at a time, on every database, however many ask for it at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from threading import Barrier
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from leasehold.books.engine import reading, writing
from leasehold.books.tables import tasks
from leasehold.books.task import claim_tasks, next_due
from leasehold.books.turn import add_turn, keep_turn, take_turn
from tests.factory import START

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from leasehold.books.store import Books

KIND = "audit"
LASTS = timedelta(minutes=10)


def take(books: Books, taker: str, minutes: float = 0) -> bool:
    now = START + timedelta(minutes=minutes)
    return books.transact(partial(take_turn, kind=KIND, taker=taker, now=now, until=now + LASTS))


def keep(books: Books, taker: str, minutes: float) -> bool:
    until = START + timedelta(minutes=minutes) + LASTS
    return books.transact(partial(keep_turn, kind=KIND, taker=taker, until=until))


def test_a_turn_is_taken_by_one_until_the_next_is_open(books: Books) -> None:
    books.transact(partial(add_turn, kind=KIND))
    assert take(books, "first")
    assert not take(books, "second", minutes=9)
    assert take(books, "second", minutes=10)
    assert not keep(books, "first", minutes=11)
    assert keep(books, "second", minutes=15)
    assert not take(books, "first", minutes=24)
    assert take(books, "first", minutes=25)


def test_the_row_is_made_once_and_is_no_work_for_workers(books: Books, engine: Engine) -> None:
    for _ in range(2):
        books.transact(partial(add_turn, kind=KIND))
    assert take(books, "first")
    later = START + timedelta(days=1)
    with reading(engine) as connection:
        assert connection.execute(select(func.count()).select_from(tasks)).scalar_one() == 1
        assert next_due(connection, later) is None
    with writing(engine) as connection:
        assert claim_tasks(connection, "worker", later, LASTS, 5) == []


def test_of_many_that_ask_at_once_one_gets_it(books: Books) -> None:
    books.transact(partial(add_turn, kind=KIND))
    many = 6
    barrier = Barrier(many)

    def ask(number: int) -> bool:
        barrier.wait()
        return take(books, f"manager {number}")

    with ThreadPoolExecutor(many) as pool:
        assert sum(pool.map(ask, range(many))) == 1
