"""The guarantees of transactions, the same on each database; connections that break, and work that is repeated."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Lock
from typing import TYPE_CHECKING, NoReturn

import pytest
from sqlalchemy import func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.db import engine as db_engine
from leasehold.db.engine import NestedWriteError, reading, writing
from leasehold.db.pool import lock_pools
from leasehold.db.store import Database, GenerationRaceError, UnknownOutcomeError
from leasehold.db.tables import leases, pools, reservations, tasks
from tests.databases import another, opened
from tests.db.examples import at_once, count, ident, reservation, write
from tests.factory import make_schema

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from sqlalchemy import Connection, Engine

OWN_ID = {"mysql": "SELECT CONNECTION_ID()", "postgresql": "SELECT pg_backend_pid()"}
KILL = {"mysql": "KILL {}", "postgresql": "SELECT pg_terminate_backend({})"}


# ---------------------------------------------------------------- readers and writers


@pytest.mark.slow
def test_who_holds_the_pool_sees_what_the_previous_holder_committed(db: Database) -> None:
    """Each transaction reads before it locks, which on MariaDB's default isolation level would fix its snapshot."""
    task = {"kind": "lease", "subject": "a", "attempts": 0}
    db.transact(lambda connection: connection.execute(insert(tasks), task))

    def add_tens(own: Database, _number: int) -> None:
        for _ in range(10):
            with writing(own.engine) as connection:
                connection.execute(select(pools)).all()
                connection.execute(select(tasks.c.attempts)).all()
                lock_pools(connection, {"hosts"})
                seen = connection.execute(select(tasks.c.attempts)).scalar_one()
                connection.execute(update(tasks).values(attempts=seen + 1))

    at_once(db.engine, 6, add_tens)
    with db.reading() as connection:
        assert connection.execute(select(tasks.c.attempts)).scalar_one() == 60


def test_writers_of_one_process_wait_for_each_other(engine: Engine) -> None:
    def write_tens(_number: int) -> None:
        for _ in range(10):
            with writing(engine) as connection:
                lock_pools(connection, {"hosts"})
                write(connection)

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(write_tens, range(6)))
    assert count(engine, leases) == 60


def test_a_reader_sees_one_moment_however_often_it_asks(engine: Engine) -> None:
    """After it the connection is fit for writing."""
    with reading(engine) as connection:
        assert connection.execute(select(leases.c.id)).all() == []
        with writing(engine) as writer:
            write(writer)
        assert connection.execute(select(leases.c.id)).all() == []
    assert count(engine, leases) == 1
    with writing(engine) as connection:
        write(connection)
    assert count(engine, leases) == 2


def test_a_reader_does_not_wait_for_a_writer(engine: Engine) -> None:
    with writing(engine) as connection:
        lock_pools(connection, {"hosts"})
        write(connection)
        assert count(engine, leases) == 0


def test_nothing_refers_to_what_is_not_there(db: Database) -> None:
    orphan = reservation(ident())
    row = {"id": orphan.id, "lease_id": orphan.lease_id, "position": 0, "resource_type": "t", "resource_id": "r"}
    more = {"request": {}, "status": "pending", "missing_resources": False, "resources_changed": False, "cloud": {}}
    values = {**row, **more, "created_at": orphan.created_at}
    with pytest.raises(IntegrityError):
        db.transact(lambda connection: connection.execute(insert(reservations), values))


def test_a_sandbox_that_is_called_inside_a_transaction_fails_instead_of_waiting_for_itself(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/leasehold.db"
    make_schema(url)
    with opened(url) as engine:
        cloud = sandbox(engine)
        with writing(engine), pytest.raises(NestedWriteError, match="sandbox"):
            cloud.hypervisors.fail("cmp-01")
        cloud.hypervisors.fail("cmp-01")
        assert [each.up for each in cloud.hypervisors.list() if each.hypervisor_hostname == "cmp-01"] == [False]


# ---------------------------------------------------------------- the unit of work


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


def fail(error: type[BaseException]) -> Callable[[Connection], NoReturn]:
    def work(_connection: Connection) -> NoReturn:
        raise error

    return work


def add_a_pool_again(connection: Connection) -> None:
    connection.execute(insert(pools), {"name": "hosts", "generation": 1})


@pytest.mark.parametrize(
    ("then", "error"),
    [
        (fail(ValueError), ValueError),
        (fail(KeyboardInterrupt), KeyboardInterrupt),
        (add_a_pool_again, IntegrityError),
    ],
)
def test_whatever_is_raised_leaves_nothing_and_is_not_tried_again(
    db: Database, then: Callable[[Connection], object], error: type[BaseException]
) -> None:
    calls = []

    def work(connection: Connection) -> None:
        calls.append(write(connection))
        then(connection)

    with pytest.raises(error):
        db.transact(work)
    assert (len(calls), count(db.engine, leases), count(db.engine, reservations)) == (1, 0, 0)


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
    # Whoever was refused may take its first row anew before the other one has got it, and they meet once more.
    assert sum(tries.values()) > len(tries)


# ---------------------------------------------------------------- connections that break


def own_id(connection: Connection) -> int:
    return int(connection.execute(text(OWN_ID[connection.dialect.name])).scalar_one())


def end(engine: Engine, *numbers: int) -> None:
    """End these connections, as a proxy or a restarted server would."""
    with engine.connect() as other:
        for number in numbers:
            other.execute(text(KILL[engine.dialect.name].format(number)))


def test_a_connection_that_broke_while_it_was_idle_is_replaced(
    server: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(db_engine, "TRUSTED_SECONDS", 0.0)
    with another(server.engine) as engine:
        with writing(engine) as one, reading(engine) as other:
            numbers = own_id(one), own_id(other)
        end(server.engine, *numbers)
        assert count(engine, leases) == 0
        with writing(engine) as connection:
            assert own_id(connection) not in numbers


def test_a_connection_comes_back_without_a_transaction(server: Database) -> None:
    """After a commit no rollback is sent, to save a round trip; after any other end it still is."""

    def write_and_fail(connection: Connection) -> None:
        write(connection)
        raise ZeroDivisionError

    with another(server.engine, pool_size=1) as engine:
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                Database(engine).transact(write_and_fail)
            assert count(engine, leases) == 0
        with writing(engine) as connection:
            assert connection.execute(select(func.count()).select_from(leases)).scalar_one() == 0


def test_a_connection_that_breaks_during_the_work_is_replaced(server: Database) -> None:
    calls = []

    def work(connection: Connection) -> None:
        calls.append(write(connection))
        if len(calls) == 1:
            end(server.engine, own_id(connection))
            connection.execute(select(tasks)).all()

    server.transact(work)
    assert (len(calls), count(server.engine, leases)) == (2, 1)


def test_a_connection_that_breaks_during_the_commit_leaves_the_outcome_open(server: Database) -> None:
    calls = []

    def work(connection: Connection) -> None:
        calls.append(write(connection))
        end(server.engine, own_id(connection))

    with pytest.raises(UnknownOutcomeError, match="check what is there"):
        server.transact(work)
    assert (len(calls), count(server.engine, leases)) == (1, 0)
