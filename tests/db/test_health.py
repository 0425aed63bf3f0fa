"""The health check on each database: it notices that nothing can be written, although every read is answered."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from resource import RLIM_INFINITY, RLIMIT_FSIZE, getrlimit, setrlimit
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import event, update

from leasehold.api.health import FRESH_SECONDS, HealthCheck
from leasehold.db import schema
from leasehold.db.engine import engines_of, is_busy, open_engine, writing
from leasehold.db.store import Database
from leasehold.db.tables import pools
from tests.clocks import Ticks
from tests.databases import another

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, Engine

READ_ONLY = {
    "sqlite": "PRAGMA query_only = ON",
    "mysql": "SET SESSION TRANSACTION READ ONLY",
    "postgresql": "SET default_transaction_read_only = on",
}
"""What makes a connection refuse changes, as a standby or a server in maintenance does."""


def test_a_server_that_only_reads_is_not_well(engine: Engine) -> None:
    assert HealthCheck(Database(engine)).is_well()
    with another(engine) as reader:
        for each in engines_of(reader):

            @event.listens_for(each, "engine_connect")
            def refuse(connection: Connection) -> None:
                cursor = connection.connection.cursor()
                cursor.execute(READ_ONLY[reader.dialect.name])
                cursor.close()

        with Database(reader).reading() as connection:
            assert connection.exec_driver_sql("SELECT 1").scalar() == 1
        assert not HealthCheck(Database(reader)).is_well()


def test_who_stands_still_in_the_middle_of_a_change_makes_nobody_ill(engine: Engine) -> None:
    with another(engine) as other, writing(other) as connection:
        connection.execute(update(pools).values(generation=pools.c.generation + 1))
        assert HealthCheck(Database(engine)).is_well()


def test_every_kind_of_busy_is_somebody_else_who_writes(tmp_path: Path) -> None:
    """SQLite says more than SQLITE_BUSY, here that the other one has written since; likewise after one who died."""
    path = tmp_path / "leasehold.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as one, closing(sqlite3.connect(path)) as other:
        one.executescript("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES (1); BEGIN")
        one.execute("SELECT x FROM t").fetchall()
        with other:
            other.execute("UPDATE t SET x = 2")
        with pytest.raises(sqlite3.OperationalError) as met:
            one.execute("UPDATE t SET x = 3")
    assert met.value.sqlite_errorcode != sqlite3.SQLITE_BUSY
    assert is_busy(met.value)
    assert not is_busy(sqlite3.DatabaseError())


def test_a_disk_that_is_full_is_noticed_until_there_is_room(tmp_path: Path) -> None:
    engine, seconds = open_engine(f"sqlite:///{tmp_path}/leasehold.db"), Ticks()
    schema.upgrade(engine)
    health = HealthCheck(Database(engine), seconds)
    assert health.is_well()
    seconds.now += FRESH_SECONDS
    hard = getrlimit(RLIMIT_FSIZE)[1]
    # No file of this process grows, as on a full disk.
    setrlimit(RLIMIT_FSIZE, (0, hard))
    try:
        assert not health.is_well()
    finally:
        setrlimit(RLIMIT_FSIZE, (RLIM_INFINITY, hard))
    seconds.now += FRESH_SECONDS
    assert health.is_well()
    engine.dispose()
