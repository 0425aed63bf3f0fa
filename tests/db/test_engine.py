"""The guarantees of transactions, the same on each database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from leasehold.cloud.sandbox.cloud import sandbox
from leasehold.db.engine import NestedWriteError, open_engine, reading, writing
from leasehold.db.pool import lock_pools
from leasehold.db.tables import leases, pools, reservations, tasks
from tests.db.examples import another, count, ident, reservation, write
from tests.factory import make_schema

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Engine

TASK = {"kind": "lease", "subject": "a", "attempts": 0}


def test_who_holds_the_pool_sees_what_the_previous_holder_committed(engine: Engine) -> None:
    """Each transaction reads before it locks, which on MariaDB's default isolation level would fix its snapshot."""
    with writing(engine) as connection:
        connection.execute(insert(tasks), TASK)

    def add_tens(_number: int) -> None:
        with another(engine) as own:
            for _ in range(10):
                with writing(own) as connection:
                    connection.execute(select(pools)).all()
                    connection.execute(select(tasks.c.attempts)).all()
                    lock_pools(connection, {"hosts"})
                    seen = connection.execute(select(tasks.c.attempts)).scalar_one()
                    connection.execute(update(tasks).values(attempts=seen + 1))

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(add_tens, range(6)))
    with reading(engine) as connection:
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


def test_a_block_that_raises_leaves_nothing(engine: Engine) -> None:
    def fail() -> None:
        with writing(engine) as connection:
            write(connection)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert count(engine, leases) == 0
    assert count(engine, reservations) == 0


def test_a_reader_sees_one_moment_however_often_it_asks(engine: Engine) -> None:
    with reading(engine) as connection:
        assert connection.execute(select(leases.c.id)).all() == []
        with writing(engine) as writer:
            write(writer)
        assert connection.execute(select(leases.c.id)).all() == []
    assert count(engine, leases) == 1


def test_a_reader_does_not_wait_for_a_writer(engine: Engine) -> None:
    with writing(engine) as connection:
        lock_pools(connection, {"hosts"})
        write(connection)
        assert count(engine, leases) == 0


def test_reading_leaves_the_connection_fit_for_writing(engine: Engine) -> None:
    with reading(engine):
        pass
    with writing(engine) as connection:
        write(connection)
    assert count(engine, leases) == 1


def test_nothing_refers_to_what_is_not_there(engine: Engine) -> None:
    orphan = reservation(ident())
    row = {"id": orphan.id, "lease_id": orphan.lease_id, "position": 0, "resource_type": "t", "resource_id": "r"}
    more = {"request": {}, "status": "pending", "missing_resources": False, "resources_changed": False, "cloud": {}}

    def insert_orphan() -> None:
        with writing(engine) as connection:
            connection.execute(insert(reservations), {**row, **more, "created_at": orphan.created_at})

    with pytest.raises(IntegrityError):
        insert_orphan()


def test_a_sandbox_that_is_called_inside_a_transaction_fails_instead_of_waiting_for_itself(tmp_path: Path) -> None:
    make_schema(f"sqlite:///{tmp_path}/leasehold.db")
    engine = open_engine(f"sqlite:///{tmp_path}/leasehold.db")
    cloud = sandbox(engine)
    with writing(engine), pytest.raises(NestedWriteError, match="sandbox"):
        cloud.hypervisors.fail("cmp-01")
    cloud.hypervisors.fail("cmp-01")
    assert [each.up for each in cloud.hypervisors.list() if each.hypervisor_hostname == "cmp-01"] == [False]
    engine.dispose()
