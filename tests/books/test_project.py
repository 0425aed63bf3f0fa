"""Projects: one decision of a project at a time, and what it counts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TYPE_CHECKING

import pytest

from leasehold.books.project import count_open_leases, take_turn
from leasehold.books.store import Books
from leasehold.model.states import LeaseStatus
from tests.books.examples import another, write

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

THREADS, LIMIT = 8, 3


def test_of_many_at_once_as_many_go_on_as_the_limit_says(engine: Engine) -> None:
    """Each sees what those before it wrote, also the first ones, which make the project's row."""
    together = Barrier(THREADS)

    def decide(connection: Connection) -> bool:
        take_turn(connection, "p")
        if count_open_leases(connection, "p") >= LIMIT:
            return False
        write(connection, project_id="p")
        return True

    def visit(_number: int) -> bool:
        with another(engine) as own:
            together.wait(60)
            return Books(own).transact(decide)

    with ThreadPoolExecutor(THREADS) as threads:
        assert sum(threads.map(visit, range(THREADS))) == LIMIT


@pytest.mark.parametrize("status", LeaseStatus)
def test_what_is_over_is_not_counted(books: Books, status: LeaseStatus) -> None:
    books.transact(lambda connection: write(connection, project_id="p", status=status))
    books.transact(lambda connection: write(connection, project_id="q"))
    over = status in (LeaseStatus.TERMINATED, LeaseStatus.DELETING)
    assert books.transact(lambda connection: count_open_leases(connection, "p")) == (0 if over else 1)
