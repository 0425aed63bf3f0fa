"""`leasehold-status upgrade check`: 0 means ready, 1 means warnings, 2 means an error to fix first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leasehold.cmd import status
from leasehold.cmd.database import URL_VARIABLE
from leasehold.db import schema
from leasehold.db.engine import open_engine

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(URL_VARIABLE, raising=False)
    return tmp_path


def results(said: str) -> dict[str, str]:
    """Return the result of each check in the table."""
    lines = [line.strip("| ") for line in said.splitlines()]
    names = [line.removeprefix("Check: ") for line in lines if line.startswith("Check: ")]
    found = [line.removeprefix("Result: ") for line in lines if line.startswith("Result: ")]
    return dict(zip(names, found, strict=True))


def test_an_installation_that_is_ready(folder: Path, migrated_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "leasehold.conf").write_text(f"[database]\nconnection = {migrated_url}\n")
    assert status.run(["upgrade", "check"]) == 0
    said = capsys.readouterr().out
    assert results(said) == {"Configuration": "Success", "Database": "Success", "Schema": "Success"}
    assert len({len(line) for line in said.splitlines()}) == 1


@pytest.fixture
def migrated_url(database_url: str) -> str:
    engine = open_engine(database_url)
    schema.upgrade(engine)
    engine.dispose()
    return database_url


def test_without_a_configuration_file_it_warns(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    engine = open_engine(f"sqlite:///{folder}/leasehold.db")
    schema.upgrade(engine)
    engine.dispose()
    assert status.run(["upgrade", "check", "--database-url", str(engine.url)]) == 1
    assert results(capsys.readouterr().out)["Configuration"] == "Warning"


def test_a_schema_that_is_behind_fails_with_the_command_to_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "leasehold.db").touch()
    assert status.run(["upgrade", "check", "--database-url", f"sqlite:///{folder}/leasehold.db"]) == 2
    said = capsys.readouterr().out
    assert results(said) == {"Configuration": "Warning", "Database": "Success", "Schema": "Failure"}
    assert "leasehold-manage db upgrade" in said


def test_a_database_that_does_not_answer_fails_without_its_password(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = "postgresql+psycopg://someone:tiger@127.0.0.1:1/books"
    assert status.run(["upgrade", "check", "--database-url", url]) == 2
    said = capsys.readouterr().out
    assert results(said) == {"Configuration": "Warning", "Database": "Failure"}
    assert "tiger" not in said


def test_a_configuration_that_cannot_be_read_fails(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "leasehold.conf").write_text("[database\n")
    assert status.run(["upgrade", "check"]) == 2
    assert results(capsys.readouterr().out) == {"Configuration": "Failure", "Database": "Failure"}
