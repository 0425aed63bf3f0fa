"""The unit of work: it commits completely or not at all, and is repeated as a whole after a lost race."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import insert, select, text, update
from sqlalchemy.exc import IntegrityError

from leasehold.db.engine import reading
from leasehold.db.store import Database, GenerationRaceError, UnknownOutcomeError
from leasehold.db.tables import leases, pools, tasks
from tests.db.examples import count, write

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

KILL = {"mysql": "KILL {}", "postgresql": "SELECT pg_terminate_backend({})"}
OWN_ID = {"mysql": "SELECT CONNECTION_ID()", "postgresql": "SELECT pg_backend_pid()"}


def test_the_whole_work_is_done_again_after_a_lost_race(db: Database) -> None:
    calls = []

    def work(connection: Connection) -> str:
        calls.append(write(connection).id)
        if len(calls) < 3:
            raise GenerationRaceError("hosts")
        return calls[-1]

    assert db.transact(work) == calls[2]
    with db.reading() as connection:
        assert list(connection.scalars(select(leases.c.id))) == [calls[2]]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_whatever_is_raised_leaves_nothing_and_is_not_tried_again(
    db: Database, engine: Engine, error: type[BaseException]
) -> None:
    calls = []

    def work(connection: Connection) -> None:
        calls.append(write(connection))
        raise error

    with pytest.raises(error):
        db.transact(work)
    assert (len(calls), count(engine, leases)) == (1, 0)


def test_a_row_that_is_there_already_is_not_tried_again(db: Database, engine: Engine) -> None:
    calls = []

    def work(connection: Connection) -> None:
        calls.append(write(connection))
        connection.execute(insert(pools), {"name": "hosts", "generation": 1})

    with pytest.raises(IntegrityError):
        db.transact(work)
    assert (len(calls), count(engine, leases)) == (1, 0)


def test_two_that_wait_for_each_other_both_get_through(server: Database) -> None:
    met, guard, tries = Barrier(2), Lock(), {"hosts": 0, "floatingips": 0}

    def work(connection: Connection, first: str, second: str) -> None:
        with guard:
            tries[first] += 1
        connection.execute(update(pools).where(pools.c.name == first).values(generation=pools.c.generation + 1))
        if tries[first] == 1:
            met.wait()
        connection.execute(update(pools).where(pools.c.name == second).values(generation=pools.c.generation + 1))

    def run(order: tuple[str, str]) -> None:
        server.transact(lambda connection: work(connection, *order))

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(run, [("hosts", "floatingips"), ("floatingips", "hosts")]))
    with server.reading() as connection:
        assert list(connection.scalars(select(pools.c.generation))) == [2, 2]
    assert sorted(tries.values()) == [1, 2]


def break_connection(db: Database, connection: Connection) -> None:
    """Break the connection of this transaction, as a restart of the server does."""
    kind = connection.dialect.name
    number = connection.scalar(text(OWN_ID[kind]))
    with db.engine.connect() as other:
        other.execute(text(KILL[kind].format(number)))


def test_a_connection_that_breaks_during_the_work_is_replaced(server: Database) -> None:
    calls = []

    def work(connection: Connection) -> None:
        calls.append(write(connection))
        if len(calls) == 1:
            break_connection(server, connection)
            connection.execute(select(tasks)).all()

    server.transact(work)
    assert (len(calls), count(server.engine, leases)) == (2, 1)


def test_a_connection_that_breaks_during_the_commit_leaves_the_outcome_open(server: Database) -> None:
    calls = []

    def work(connection: Connection) -> None:
        calls.append(write(connection))
        break_connection(server, connection)

    with pytest.raises(UnknownOutcomeError, match="check what is there"):
        server.transact(work)
    assert len(calls) == 1
    with reading(server.engine) as connection:
        assert connection.execute(select(leases.c.id)).all() == []
