"""Processes of one version run on the schema of the next: every migration expands, or records the oldest valid code."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from alembic import command
from sqlalchemy import inspect, text
from sqlalchemy.exc import OperationalError

from leasehold.db import schema
from leasehold.db.engine import reading, writing
from tests.databases import opened

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from leasehold.db.store import Database

# ---------------------------------------------------------------- what code written before a migration can no longer do


@dataclass(frozen=True)
class Shape:
    """The tables of a database: the columns of each by name, and its constraints by columns."""

    columns: dict[str, dict[str, dict[str, Any]]]
    rules: dict[str, set[tuple[str, tuple[str, ...]]]]

    def altered_by(self, after: Shape) -> set[str]:
        """Return the tables that exist in both shapes but have different columns or constraints."""
        return {
            name
            for name in self.columns.keys() & after.columns.keys()
            if _described(self.columns[name]) != _described(after.columns[name])
            or self.rules[name] != after.rules[name]
        }


def shape_of(connection: Connection) -> Shape:
    """Return the current tables."""
    found = inspect(connection)
    names = found.get_table_names()
    return Shape(
        {name: {column["name"]: dict(column) for column in found.get_columns(name)} for name in names},
        {name: _rules(found, name) for name in names},
    )


def _rules(found: Any, name: str) -> set[tuple[str, tuple[str, ...]]]:
    unique = [each["column_names"] for each in found.get_unique_constraints(name)]
    unique += [each["column_names"] for each in found.get_indexes(name) if each["unique"]]
    foreign = [each["constrained_columns"] for each in found.get_foreign_keys(name)]
    checks = [(each["sqltext"],) for each in found.get_check_constraints(name)]
    return {
        *(("unique", tuple(each)) for each in unique),
        *(("foreign", tuple(each)) for each in foreign),
        *(("check", each) for each in checks),
    }


def _described(columns: dict[str, dict[str, Any]]) -> dict[str, tuple[str, bool]]:
    return {name: (str(column["type"]), column["nullable"]) for name, column in columns.items()}


def taken(before: Shape, after: Shape) -> list[str]:
    """Return, as sentences, what code for `before` can no longer do; empty after an expansion."""
    found = [f"The table {name} is gone." for name in sorted(before.columns.keys() - after.columns.keys())]
    for name in sorted(before.columns.keys() & after.columns.keys()):
        found += _taken_of_columns(name, before.columns[name], after.columns[name])
        rules = sorted(after.rules[name] - before.rules[name])
        found += [f"The rows of {name} have a new rule: {kind} {columns}." for kind, columns in rules]
    return found


def _taken_of_columns(table: str, before: dict[str, dict[str, Any]], after: dict[str, dict[str, Any]]) -> list[str]:
    found = []
    for name, old in before.items():
        new = after.get(name)
        if new is None:
            found.append(f"The column {table}.{name} is gone.")
        elif str(new["type"]) != str(old["type"]):
            found.append(f"The column {table}.{name} is {new['type']} instead of {old['type']}.")
        elif old["nullable"] and not new["nullable"]:
            found.append(f"The column {table}.{name} may not be NULL any more.")
    added = [name for name in sorted(after.keys() - before.keys()) if not after[name]["nullable"]]
    unknown = [name for name in added if after[name]["default"] is None]
    found += [f"The column {table}.{name} is new, and an INSERT that does not name it fails." for name in unknown]
    return found


TABLES = (
    "CREATE TABLE zones (id INTEGER NOT NULL PRIMARY KEY)",
    "CREATE TABLE hosts (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(20))",
)
TAKEN = {
    "DROP TABLE zones": "The table zones is gone.",
    "ALTER TABLE hosts DROP COLUMN name": "The column hosts.name is gone.",
    "ALTER TABLE hosts RENAME COLUMN name TO label": "The column hosts.name is gone.",
    "ALTER TABLE hosts ADD COLUMN zone INTEGER NOT NULL REFERENCES zones (id)": (
        "The column hosts.zone is new, and an INSERT that does not name it fails."
    ),
    "CREATE UNIQUE INDEX once ON hosts (name)": "The rows of hosts have a new rule: unique ('name',).",
    "DROP TABLE hosts; CREATE TABLE hosts (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(20) NOT NULL)": (
        "The column hosts.name may not be NULL any more."
    ),
    "DROP TABLE hosts; CREATE TABLE hosts (id INTEGER NOT NULL PRIMARY KEY, name VARCHAR(5))": (
        "The column hosts.name is VARCHAR(5) instead of VARCHAR(20)."
    ),
    "CREATE TABLE racks (id INTEGER NOT NULL PRIMARY KEY)": None,
    "ALTER TABLE hosts ADD COLUMN rack VARCHAR(20)": None,
    "ALTER TABLE hosts ADD COLUMN slots INTEGER NOT NULL DEFAULT 1": None,
    "CREATE INDEX quick ON hosts (name)": None,
}
"""Statements of a migration, and what they take from old code; None for nothing."""


@pytest.mark.parametrize("statements", TAKEN)
def test_what_takes_something_from_old_code_is_noticed(tmp_path: Path, statements: str) -> None:
    with opened(f"sqlite:///{tmp_path}/tables.db") as engine, writing(engine) as connection:
        for each in TABLES:
            connection.execute(text(each))
        before = shape_of(connection)
        for each in statements.split("; "):
            connection.execute(text(each))
        found = taken(before, shape_of(connection))
    said = TAKEN[statements]
    assert said in found if said else found == []


# ---------------------------------------------------------------- the migrations


def migrate(engine: Engine, revision: str) -> tuple[Shape, str | None]:
    """Migrate to a revision; return the tables, and the oldest revision whose code works on them."""
    with writing(engine) as connection:
        command.upgrade(schema._config(connection), revision)
    with reading(engine) as connection:
        return shape_of(connection), schema._oldest(connection)


@pytest.mark.slow
def test_every_migration_leaves_old_code_what_it_needs_or_says_that_it_does_not(empty_engine: Engine) -> None:
    known = list(schema.revisions())
    shapes, oldest = {}, {}
    for revision in known:
        shapes[revision], oldest[revision] = migrate(empty_engine, revision)
    for before, revision in pairwise(known):
        missing = taken(shapes[before], shapes[revision])
        assert not missing or oldest[revision] != oldest[before], (revision, missing)
        altered = shapes[before].altered_by(shapes[revision])
        assert len(altered) <= 1, (
            f"{revision} holds locks on several tables in use: {altered}. Make a revision of each."
        )
    assert oldest[known[0]] == known[0]
    assert set(oldest.values()) <= set(known)


def made_by_another_version(engine: Engine, revision: str, oldest: str) -> None:
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :revision"), {"revision": revision})
        connection.execute(text("UPDATE schema_compatibility SET oldest = :oldest"), {"oldest": oldest})


@pytest.mark.parametrize("oldest", [schema.head(), min(schema.revisions()), "0008"])
def test_a_newer_schema_that_was_only_expanded_is_accepted_and_left_alone(migrated: Engine, oldest: str) -> None:
    """Also one whose database is older than the first revision that is here."""
    made_by_another_version(migrated, "9001", oldest)
    assert schema.check(migrated) == "The schema is 9001, which is newer than this version and works with it."
    schema.upgrade(migrated)
    assert schema.current(migrated) == "9001"
    with pytest.raises(schema.SchemaError, match="9001: downgrade it with the newer version"):
        schema.downgrade(migrated, schema.BASE)


def test_a_newer_schema_that_was_contracted_since_is_refused(migrated: Engine) -> None:
    made_by_another_version(migrated, "9001", "9000")
    for refused in (schema.check, schema.upgrade):
        with pytest.raises(schema.SchemaError, match="schema 9001, which works with versions that know schema 9000"):
            refused(migrated)


@pytest.mark.parametrize("revision", ["0053", "0007"])
def test_a_database_older_than_the_first_revision_is_refused_with_the_next_step(
    migrated: Engine, revision: str
) -> None:
    made_by_another_version(migrated, revision, "0008")
    says = f"schema {revision}, and this version upgrades databases from 0054 on: first run leasehold-manage db upgrade"
    for refused in (schema.check, schema.upgrade, lambda engine: schema.downgrade(engine, schema.BASE)):
        with pytest.raises(schema.SchemaError, match=says):
            refused(migrated)
    assert schema.current(migrated) == revision


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
