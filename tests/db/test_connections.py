"""Connections that broke while idle: the next transaction gets a working one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from leasehold.db import engine as db_engine
from leasehold.db.engine import open_engine, reading, writing

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

WHO = {"mysql": "SELECT CONNECTION_ID()", "postgresql": "SELECT pg_backend_pid()"}
END = {"mysql": "KILL {}", "postgresql": "SELECT pg_terminate_backend({})"}


def break_idle_connections(engine: Engine, url: str) -> None:
    """End every connection in `engine`'s pool, as a proxy or a restarted server would."""
    kind = engine.dialect.name
    with writing(engine) as one, reading(engine) as other:
        numbers = [connection.execute(text(WHO[kind])).scalar_one() for connection in (one, other)]
    killer = open_engine(url)
    with writing(killer) as connection:
        for number in numbers:
            connection.execute(text(END[kind].format(number)))
    killer.dispose()


def write_and_fail(engine: Engine) -> None:
    with writing(engine) as connection:
        connection.execute(text("INSERT INTO kept VALUES (1)"))
        raise ZeroDivisionError


def one(connection: Connection) -> int:
    return int(connection.execute(text("SELECT 1")).scalar_one())


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["mariadb_url", "postgresql_url"])
def test_a_connection_that_broke_while_it_was_idle_is_replaced(
    kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    url: str = request.getfixturevalue(kind)
    monkeypatch.setattr(db_engine, "TRUSTED_SECONDS", 0.0)
    engine = open_engine(url)
    break_idle_connections(engine, url)
    with reading(engine) as connection:
        assert one(connection) == 1
    with writing(engine) as connection:
        assert one(connection) == 1
    engine.dispose()


@pytest.mark.servers
@pytest.mark.parametrize("kind", ["mariadb_url", "postgresql_url"])
def test_a_connection_comes_back_without_a_transaction(kind: str, request: pytest.FixtureRequest) -> None:
    """After a commit no rollback is sent, to save a round trip; after any other end it still is."""
    engine = open_engine(request.getfixturevalue(kind), pool_size=1)
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE kept (number INTEGER)"))
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            write_and_fail(engine)
        with reading(engine) as connection:
            assert connection.execute(text("SELECT COUNT(*) FROM kept")).scalar_one() == 0
    with writing(engine) as connection:
        assert connection.execute(text("SELECT COUNT(*) FROM kept")).scalar_one() == 0
    engine.dispose()
