"""The clock of each kind of database: the server's own, read without using a connection of the pool."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import insert, make_url

from leasehold.cmd.manage import run
from leasehold.db import clock
from leasehold.db.clock import shared_clock
from leasehold.db.engine import writing
from leasehold.db.tables import clock as clock_table
from tests.databases import opened
from tests.processes import wait_for
from tests.servers import free_port

if TYPE_CHECKING:
    from pathlib import Path

    from leasehold.db.store import Database

NEAR = timedelta(seconds=5)
HOUR = timedelta(hours=1)
ELSEWHERE = {"mysql": {"init_command": "SET time_zone = '+09:00'"}, "postgresql": {"options": "-c timezone=Asia/Tokyo"}}


@pytest.fixture
def truth(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """Return the present, and set this process's view of the machine's clock to something else."""
    monkeypatch.setattr(clock, "utc_now", lambda: datetime.now(UTC) + HOUR)
    return datetime.now(UTC)


def is_near(told: datetime, begun: datetime) -> bool:
    """Say whether a time lies between a moment and the present, however long a busy machine took for the look."""
    return begun - NEAR < told < datetime.now(UTC) + NEAR


def test_a_server_tells_the_time_in_utc_whatever_zone_it_is_in(database_url: str, truth: datetime) -> None:
    url = make_url(database_url)
    with opened(url.update_query_dict(ELSEWHERE.get(url.get_backend_name(), {})).render_as_string(False)) as engine:
        told = shared_clock(engine)()
        assert told.tzinfo is UTC
        assert is_near(told - (HOUR if engine.dialect.name == "sqlite" else timedelta(0)), truth)


@pytest.mark.servers
def test_it_is_told_when_all_connections_of_a_process_are_in_use(mariadb_url: str, truth: datetime) -> None:
    with opened(mariadb_url, pool_size=1) as engine, writing(engine), writing(engine):
        assert is_near(shared_clock(engine)(), truth)


@pytest.mark.parametrize("kind", ["mysql+pymysql", "postgresql+psycopg"])
def test_without_a_server_the_machine_tells_the_time(kind: str, truth: datetime) -> None:
    with opened(f"{kind}://nobody@127.0.0.1:{free_port()}/nothing") as engine:
        assert is_near(shared_clock(engine)() - HOUR, truth)


def test_a_process_that_starts_after_a_jump_follows_it_when_an_operator_accepts_it(
    server: Database, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The server's clock jumped; the test instead sets the machine's clock and the last known time back five hours."""
    where = ("--database-url", server.engine.url.render_as_string(hide_password=False))
    monkeypatch.setattr(clock, "utc_now", lambda: datetime.now(UTC) - 5 * HOUR)
    monkeypatch.setattr(clock, "RETRY_SECONDS", 0.01)
    with writing(server.engine) as connection:
        connection.execute(insert(clock_table).values(name="database", seen_at=datetime.now(UTC) - 5 * HOUR))
    told = shared_clock(server.engine)
    assert abs(told() - datetime.now(UTC) + 5 * HOUR) < NEAR
    assert run(["clock", "show", *where]) == 1
    assert "no process follows it now" in capsys.readouterr().out
    assert run(["clock", "accept", *where]) == 0
    assert "Accepted: it is" in capsys.readouterr().out
    wait_for(lambda: abs(told() - datetime.now(UTC)) < NEAR)
    wait_for(lambda: run(["clock", "show", *where]) == 0)
    assert "It is followed" in capsys.readouterr().out
    assert abs(shared_clock(server.engine)() - datetime.now(UTC)) < NEAR


def test_on_sqlite_there_is_nothing_to_accept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ("--database-url", f"sqlite:///{tmp_path}/leasehold.db")
    assert run(["db", "upgrade", *where]) == 0
    assert run(["clock", "accept", *where]) == 1
    assert "this machine's clock" in capsys.readouterr().err
    assert run(["clock", "show", *where]) == 0
    assert "On SQLite leases go by this machine's clock" in capsys.readouterr().out
