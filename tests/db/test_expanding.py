"""Processes of one version run on the schema of the next: every migration expands, or records the oldest valid code."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from alembic import command
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from leasehold.db import schema
from leasehold.db.engine import open_engine, reading, writing
from tests.db.expanding import Shape, shape_of, taken

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from sqlalchemy import Engine

    from leasehold.db.store import Database

FIRST = "0008"
"""The revision that introduced the rule."""
TABLES = (
    "CREATE TABLE hosts (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(20))",
    "CREATE TABLE zones (id INTEGER NOT NULL PRIMARY KEY)",
)


def migrate(engine: Engine, revision: str) -> Shape:
    with writing(engine) as connection:
        command.upgrade(schema._config(connection), revision)
    with reading(engine) as connection:
        return shape_of(connection)


def test_every_migration_leaves_old_code_what_it_needs_or_says_that_it_does_not(empty_engine: Engine) -> None:
    known = list(schema.revisions())
    since = known[known.index(FIRST) :]
    shapes = {}
    oldest = {}
    for revision in since:
        shapes[revision] = migrate(empty_engine, revision)
        with reading(empty_engine) as connection:
            oldest[revision] = schema._oldest(connection)
    for before, revision in pairwise(since):
        missing = taken(shapes[before], shapes[revision])
        assert not missing or oldest[revision] != oldest[before], (revision, missing)
        altered = shapes[before].altered_by(shapes[revision])
        assert len(altered) <= 1, (
            f"{revision} holds locks on several tables in use: {altered}. Make a revision of each."
        )
    assert oldest[FIRST] == FIRST
    assert set(oldest.values()) <= set(known)


@pytest.fixture
def tables(tmp_path: Path) -> Iterator[Engine]:
    engine = open_engine(f"sqlite:///{tmp_path}/tables.db")
    with writing(engine) as connection:
        for statement in TABLES:
            connection.execute(text(statement))
    yield engine
    engine.dispose()


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("DROP TABLE zones", "The table zones is gone."),
        ("ALTER TABLE hosts DROP COLUMN name", "The column hosts.name is gone."),
        ("ALTER TABLE hosts RENAME COLUMN name TO label", "The column hosts.name is gone."),
        (
            "ALTER TABLE hosts ADD COLUMN zone INTEGER NOT NULL REFERENCES zones (id)",
            "The column hosts.zone is new, and an INSERT that does not name it fails.",
        ),
        ("CREATE UNIQUE INDEX once ON hosts (name)", "The rows of hosts have a new rule: unique ('name',)."),
        (
            "DROP TABLE hosts; CREATE TABLE hosts (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL)",
            "The column hosts.name may not be NULL any more.",
        ),
        (
            "DROP TABLE hosts; CREATE TABLE hosts (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(5))",
            "The column hosts.name is VARCHAR(5) instead of VARCHAR(20).",
        ),
    ],
)
def test_what_takes_something_from_old_code_is_noticed(tables: Engine, statement: str, said: str) -> None:
    with writing(tables) as connection:
        before = shape_of(connection)
        for each in statement.split("; "):
            connection.execute(text(each))
        assert said in taken(before, shape_of(connection))


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE racks (id INTEGER NOT NULL PRIMARY KEY)",
        "ALTER TABLE hosts ADD COLUMN rack VARCHAR(20)",
        "ALTER TABLE hosts ADD COLUMN slots INTEGER NOT NULL DEFAULT 1",
        "CREATE INDEX quick ON hosts (name)",
    ],
)
def test_what_expands_the_schema_takes_nothing(tables: Engine, statement: str) -> None:
    with writing(tables) as connection:
        before = shape_of(connection)
        connection.execute(text(statement))
        assert taken(before, shape_of(connection)) == []


def made_by_a_newer_version(engine: Engine, oldest: str) -> None:
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9001'"))
        connection.execute(text("UPDATE schema_compatibility SET oldest = :oldest"), {"oldest": oldest})


def test_a_newer_schema_that_was_only_expanded_is_accepted_and_left_alone(migrated: Engine) -> None:
    made_by_a_newer_version(migrated, schema.head())
    assert schema.check(migrated) == "The schema is 9001, which is newer than this version and works with it."
    schema.upgrade(migrated)
    assert schema.current(migrated) == "9001"
    with pytest.raises(schema.SchemaError, match="9001: downgrade it with the newer version"):
        schema.downgrade(migrated, schema.BASE)


def test_a_newer_schema_that_was_contracted_since_is_refused(migrated: Engine) -> None:
    made_by_a_newer_version(migrated, "9000")
    for refused in (schema.check, schema.upgrade):
        with pytest.raises(schema.SchemaError, match="schema 9001, which works with versions that know schema 9000"):
            refused(migrated)


def test_a_migration_gives_way_to_who_uses_the_table_and_is_tried_again(
    server: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All users of the table queue behind a migration that waits for its lock; so it must not wait for long readers."""
    monkeypatch.setattr(schema, "TABLE_LOCK_SECONDS", 1)
    with server.reading() as reader:
        reader.execute(text("SELECT * FROM tasks")).all()
        with (
            pytest.raises(OperationalError) as refused,
            writing(server.engine) as connection,
            schema._impatient(connection),
        ):
            connection.execute(text("ALTER TABLE tasks ADD COLUMN note INTEGER"))
    assert schema._worth_another_try(server.engine, refused.value)
