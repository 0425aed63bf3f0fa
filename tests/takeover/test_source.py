"""Blazar's database is read in one snapshot and never written, on every database; another database is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import text

from leasehold.cmd import manage
from leasehold.cmd.import_blazar import SOURCE_VARIABLE
from leasehold.db import schema
from leasehold.db.engine import writing
from leasehold.takeover.findings import TakeoverError
from leasehold.takeover.source import read_blazar
from tests.databases import opened
from tests.takeover.blazar import DATA, Rows, fill, load, make_sqlite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Run = Callable[..., tuple[int, str, str]]

pytestmark = pytest.mark.slow


def make_blazar(url: str, rows: Rows) -> None:
    """Create Blazar's schema in an empty database of any kind, and fill it."""
    script = (DATA / "schema.sql").read_text().replace("DATETIME", "TIMESTAMP")
    script = script if url.startswith("postgresql") else script.replace("TIMESTAMP", "DATETIME")
    script = script.replace("BOOLEAN DEFAULT 1", "BOOLEAN DEFAULT true").replace("BOOLEAN DEFAULT 0", "BOOLEAN")
    with opened(url) as engine, writing(engine) as connection:
        for statement in filter(str.strip, script.split(";")):
            connection.execute(text(statement))
    fill(url, rows)


def test_every_row_is_read_the_same_on_every_database(database_url: str, tmp_path: Path) -> None:
    make_blazar(database_url, load())
    rows, others = read_blazar(database_url)
    assert rows == read_blazar(make_sqlite(tmp_path / "other.db", load()))[0]
    assert others == 0
    recorded = load()
    assert len(rows.leases) == len(recorded["leases"])
    assert len(rows.events) == len(recorded["events"])
    assert {row.id for row in rows.host_allocations} == {row["id"] for row in recorded["computehost_allocations"]}


@pytest.mark.servers
def test_an_open_connection_of_somebody_else_is_noticed(mariadb_url: str) -> None:
    make_blazar(mariadb_url, load())
    with opened(mariadb_url) as engine, engine.connect() as connection:
        connection.execute(text("SELECT 1"))
        assert read_blazar(mariadb_url)[1] == 1


def test_a_database_that_is_not_blazars_is_refused(database_url: str) -> None:
    with opened(database_url) as engine:
        schema.upgrade(engine)
    with pytest.raises(TakeoverError, match="not Blazar's database"):
        read_blazar(database_url)


def test_one_of_an_older_release_is_refused_with_what_to_do(tmp_path: Path) -> None:
    url = make_sqlite(tmp_path / "blazar.db", load())
    with opened(url) as engine, writing(engine) as connection:
        connection.execute(text("DROP TABLE computehost_trait"))
        connection.execute(text("ALTER TABLE computehosts DROP COLUMN availability_zone"))
    with pytest.raises(TakeoverError, match=r"computehost_trait, computehosts\.availability_zone: .* upgrade head"):
        read_blazar(url)


# ---------------------------------------------------------------- the command


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs `leasehold-manage` on a new database and returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(SOURCE_VARIABLE, raising=False)
    db = f"sqlite:///{tmp_path}/books.db"

    def run_it(*arguments: str) -> tuple[int, str, str]:
        code = manage.run(("--database-url", db, *arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    run_it("db", "upgrade")
    return run_it


def test_a_dry_run_reports_and_writes_nothing_and_then_it_is_done_once(run: Run, tmp_path: Path) -> None:
    source = make_sqlite(tmp_path / "blazar.db", load())
    before = (tmp_path / "blazar.db").read_bytes()
    code, said, _ = run("import-blazar", "--from", source, "--dry-run", "--json")
    report = json.loads(said)
    assert code == 0
    assert (report["dry_run"], report["changed"]) == (True, False)
    assert report["counts"]["leases"] == len(load()["leases"])
    assert {finding["table"] for finding in report["findings"]} == {"computehost_allocations"}
    code, said, _ = run("import-blazar", "--from", source)
    assert code == 0
    assert "Imported:" in said
    assert "Blazar has to be stopped" in said
    assert "To do: Ask for another before it starts" in said
    assert run("import-blazar", "--from", source) == (
        0,
        "The database holds all of this already, so nothing was changed.\n",
        "",
    )
    assert (tmp_path / "blazar.db").read_bytes() == before


def test_the_source_may_be_named_by_the_environment(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SOURCE_VARIABLE, make_sqlite(tmp_path / "blazar.db", load()))
    assert run("import-blazar", "--dry-run")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Say where Blazar's database is: --from URL"),
        (("--from", "nonsense"), "The URL of Blazar's database cannot be used."),
        (("--from", "mysql://blazar:secret@127.0.0.1:1/blazar"), "cannot be used"),
        (("--from", "sqlite:////nowhere/blazar.db"), "cannot be used"),
    ],
)
def test_what_cannot_be_read_ends_in_a_sentence_without_the_password(
    run: Run, arguments: tuple[str, ...], says: str
) -> None:
    code, _, error = run("import-blazar", *arguments)
    assert code == 1
    assert says in error
    assert "secret" not in error
