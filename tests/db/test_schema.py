"""The migrations and the code define the same tables on every database; an upgrade is safe at any time."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, select, text

from leasehold.cloud.sandbox import tables as sandbox_tables
from leasehold.db import schema
from leasehold.db.engine import reading, writing
from leasehold.db.pool import create_pools
from leasehold.db.tables import clock, event_log, pools, schema_compatibility, secret_keys
from leasehold.features.registry import all_tables
from tests.databases import database, opened
from tests.db.examples import at_once

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Connection, Engine

    from tests.databases import Databases

pytestmark = pytest.mark.slow

SQLITE_SAYS = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'alembic%' AND name NOT LIKE '%_alembic_%'"
POSTGRESQL_SAYS = (
    """SELECT table_name, column_name, data_type, character_maximum_length, datetime_precision, is_nullable,
    column_default, collation_name FROM information_schema.columns WHERE table_schema = 'public'""",
    """SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
    WHERE connamespace = 'public'::regnamespace""",
    "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'",
)


def what_the_database_says(connection: Connection) -> dict[str, set[str]]:
    """Return each table's definition as the database prints it, as a set because the order does not matter."""
    said: dict[str, set[str]] = {}
    names = [name for name in inspect(connection).get_table_names() if name != "alembic_version"]
    if connection.dialect.name == "mysql":
        for name in names:
            definition = connection.exec_driver_sql(f"SHOW CREATE TABLE {name}").one()[1]
            said[name] = {line.strip().rstrip(",") for line in definition.splitlines()}
    elif connection.dialect.name == "postgresql":
        for query in POSTGRESQL_SAYS:
            for row in connection.exec_driver_sql(query):
                said.setdefault(row[0], set()).add(str(row[1:]))
        del said["alembic_version"]
    else:
        for name, definition in connection.exec_driver_sql(SQLITE_SAYS):
            # SQLite puts a column that was added later elsewhere in the definition, and quotes the name of a table that
            # it has made anew.
            said[name] = {
                " ".join(part.split()).strip(" ()") for part in (definition or "").replace('"', "").split(",")
            }
    return said


def test_migrations_make_the_tables_of_the_code(migrated: Engine) -> None:
    with reading(migrated) as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, all_tables()) == []


def test_the_database_says_the_same_of_migrated_tables_and_of_those_of_the_code(
    migrated: Engine, database_kind: str, databases: Databases, tmp_path: Path
) -> None:
    with database(databases, database_kind, tmp_path, "other") as url, opened(url) as other:
        all_tables().create_all(other)
        with other.begin() as connection:
            connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
        with reading(migrated) as ours, reading(other) as theirs:
            migrated_says, code_says = what_the_database_says(ours), what_the_database_says(theirs)
    assert set(code_says) >= set(all_tables().tables)
    assert migrated_says == code_says


def test_migrations_make_the_pools(migrated: Engine) -> None:
    with reading(migrated) as connection:
        query = select(pools.c.name, pools.c.generation)
        assert {tuple(row) for row in connection.execute(query)} == {("floatingips", 0), ("hosts", 0), ("storage", 0)}


def test_upgrading_again_changes_nothing(migrated: Engine) -> None:
    with writing(migrated) as connection:
        connection.execute(pools.update().values(generation=7))
    schema.upgrade(migrated)
    schema.check(migrated)
    assert schema.current(migrated) == schema.head()
    with reading(migrated) as connection:
        assert set(connection.scalars(select(pools.c.generation))) == {7}


def test_a_new_sqlite_database_is_made_in_one_transaction(tmp_path: Path) -> None:
    commits: list[object] = []
    with opened(f"sqlite:///{tmp_path}/leasehold.db") as engine:
        sa.event.listen(engine, "commit", commits.append)
        schema.upgrade(engine)
    # One commit for the check of the existing tables, one for all revisions: each commit waits for the disk.
    assert len(commits) == 2


def test_a_start_on_a_database_that_is_up_to_date_does_not_load_alembic(tmp_path: Path) -> None:
    with opened(f"sqlite:///{tmp_path}/leasehold.db") as engine:
        schema.upgrade(engine)
    program = (
        "import sys\n"
        "from leasehold.db import schema\n"
        "from leasehold.db.engine import open_engine\n"
        f"engine = open_engine({str(engine.url)!r})\n"
        "schema.upgrade(engine)\n"
        "schema.check(engine)\n"
        "sys.exit('alembic' in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_revisions_are_those_that_alembic_finds() -> None:
    found = ScriptDirectory(str(schema.MIGRATIONS))
    assert found.get_heads() == [schema.head()]
    assert [each.revision for each in found.walk_revisions()][::-1] == list(schema.revisions())


def test_a_database_without_tables_is_refused_with_the_command_to_run(empty_engine: Engine) -> None:
    assert schema.current(empty_engine) is None
    with pytest.raises(schema.SchemaError, match="leasehold-manage db upgrade"):
        schema.check(empty_engine)


def test_a_database_that_another_service_made_is_refused_and_left_alone(migrated: Engine) -> None:
    with writing(migrated) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = 'f00d'"))
        connection.execute(text("DROP TABLE schema_compatibility"))
    for refused in (schema.check, schema.upgrade, lambda engine: schema.downgrade(engine, schema.BASE)):
        with pytest.raises(schema.SchemaError, match="f00d, which this version does not know"):
            refused(migrated)
    assert schema.current(migrated) == "f00d"


def test_a_table_of_somebody_else_is_not_taken_for_ours(empty_engine: Engine) -> None:
    with empty_engine.begin() as connection:
        connection.execute(text("CREATE TABLE leases (id INTEGER PRIMARY KEY, tenant VARCHAR(10))"))
    with pytest.raises(schema.SchemaError, match="a database of its own"):
        schema.upgrade(empty_engine)
    assert {column["name"] for column in inspect(empty_engine).get_columns("leases")} == {"id", "tenant"}


def test_an_upgrade_that_broke_off_is_taken_up_again(migrated: Engine) -> None:
    """MariaDB commits each DDL statement by itself: some tables and indexes are missing, no revision is recorded."""
    with writing(migrated) as connection:
        connection.execute(text("DELETE FROM alembic_version"))
        for name in ("resource_properties", "outbox"):
            connection.execute(text(f"DROP TABLE {name}"))
        connection.execute(text("DELETE FROM pools WHERE name = 'hosts'"))
        on = " ON tasks" if connection.dialect.name == "mysql" else ""
        connection.execute(text(f"DROP INDEX ix_tasks_due_at{on}"))
    schema.upgrade(migrated)
    with reading(migrated) as connection:
        assert compare_metadata(MigrationContext.configure(connection), all_tables()) == []
        assert set(connection.scalars(select(pools.c.name))) == {"floatingips", "hosts", "storage"}


def test_an_upgrade_may_break_off_at_any_statement(empty_engine: Engine) -> None:
    """On MariaDB each run adds some tables and indexes to those of the one before; elsewhere each begins anew."""
    left = broken = 0

    def lose(*_: object) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise ConnectionError

    sa.event.listen(empty_engine, "before_cursor_execute", lose)
    for allowed in range(5, 2000, 20):
        left = allowed
        try:
            schema.upgrade(empty_engine)
        except ConnectionError:
            broken += 1
            empty_engine.dispose()
        else:
            break
    sa.event.remove(empty_engine, "before_cursor_execute", lose)
    assert broken > 3
    with reading(empty_engine) as connection:
        assert compare_metadata(MigrationContext.configure(connection), all_tables()) == []
        for table in (pools, secret_keys, event_log, clock, schema_compatibility):
            assert len(connection.execute(select(table)).all()) == (3 if table is pools else 1)
        nonces = connection.scalars(select(pools.c.nonces)).all()
    assert len({each.removeprefix("0:") for each in nonces if each.startswith("0:")}) == 3


def test_the_sandbox_makes_its_own_tables_and_keeps_them(migrated: Engine) -> None:
    """The schema does not include them: a real cloud has none, and a downgrade keeps those of a sandbox."""
    assert not [name for name in inspect(migrated).get_table_names() if name.startswith("sandbox_")]
    sandbox_tables.create(migrated)
    sandbox_tables.create(migrated)
    made = {table.name for table in sandbox_tables.metadata.sorted_tables}
    assert made <= set(inspect(migrated).get_table_names())
    schema.check(migrated)
    schema.downgrade(migrated, schema.BASE)
    assert made <= set(inspect(migrated).get_table_names())


def test_what_was_made_without_migrations_is_taken_over(empty_engine: Engine) -> None:
    """A planted sandbox or a test's tables may exist before the first upgrade."""
    sandbox_tables.create(empty_engine)
    all_tables().create_all(empty_engine)
    with writing(empty_engine) as connection:
        create_pools(connection, ["hosts"])
    schema.upgrade(empty_engine)
    schema.check(empty_engine)
    with reading(empty_engine) as connection:
        assert set(connection.scalars(select(pools.c.name))) == {"floatingips", "hosts", "storage"}


def test_downgrading_to_base_leaves_nothing_but_the_version_table_and_an_upgrade_brings_all_back(
    migrated: Engine,
) -> None:
    schema.downgrade(migrated, schema.BASE)
    assert inspect(migrated).get_table_names() == ["alembic_version"]
    assert schema.current(migrated) is None
    schema.upgrade(migrated)
    schema.check(migrated)


def test_the_downgrade_removes_the_table_that_nothing_uses_any_more(migrated: Engine) -> None:
    """Databases have it that were made before the revisions up to 0054 became one."""
    with migrated.begin() as connection:
        connection.execute(text("CREATE TABLE projects (id VARCHAR(255) PRIMARY KEY, generation BIGINT NOT NULL)"))
    schema.upgrade(migrated)
    schema.downgrade(migrated, schema.BASE)
    assert inspect(migrated).get_table_names() == ["alembic_version"]


def test_mariadb_stores_what_it_computes(mariadb_url: str) -> None:
    """It fails to recover an indexed virtual column (MDEV-39261); such a database is mended, with its rows."""
    with opened(mariadb_url) as engine:
        schema.upgrade(engine)
        with writing(engine) as connection:
            connection.execute(text("ALTER TABLE leases DROP INDEX ix_leases_project_id_holds_for_holds_from"))
            connection.execute(text("ALTER TABLE leases DROP COLUMN holds_for"))
            virtual = "CASE WHEN holds_noted = generation THEN holds_length END"
            connection.execute(text(f"ALTER TABLE leases ADD COLUMN holds_for BIGINT AS ({virtual}) VIRTUAL"))
            columns = "project_id, holds_for, holds_from"
            connection.execute(text(f"CREATE INDEX ix_leases_project_id_holds_for_holds_from ON leases ({columns})"))
            connection.execute(text("UPDATE alembic_version SET version_num = '0058'"))
        schema.upgrade(engine)
        with reading(engine) as connection:
            known = "information_schema.columns WHERE table_schema = database()"
            kinds = f"SELECT extra FROM {known} AND extra LIKE '%GENERATED%'"  # noqa: S608 - all of it is ours
            computed = connection.scalars(text(kinds)).all()
            assert computed
            assert set(computed) == {"STORED GENERATED"}
            assert compare_metadata(MigrationContext.configure(connection), all_tables()) == []


def test_several_may_open_a_new_file_at_once(tmp_path: Path) -> None:
    """SQLite refuses the change of the journal mode at once while another connection makes it."""

    def look(url: str, together: Barrier) -> None:
        with opened(url) as engine:
            together.wait()
            schema.current(engine)

    with ThreadPoolExecutor(4) as threads:
        for number in range(30):
            together, url = Barrier(4), f"sqlite:///{tmp_path / str(number)}"
            for looking in [threads.submit(look, url, together) for _ in range(4)]:
                looking.result()


def test_several_may_upgrade_at_once(empty_engine: Engine) -> None:
    at_once(empty_engine, 4, lambda own, _number: schema.upgrade(own.engine))
    schema.check(empty_engine)


@pytest.mark.servers
def test_an_upgrade_waits_until_another_is_committed(mariadb_url: str) -> None:
    """It would begin at the revision of before otherwise, and fail at the end."""
    with opened(mariadb_url) as ours, opened(mariadb_url) as theirs, ThreadPoolExecutor(1) as threads:
        started: list[Future[None]] = []

        def start_another(_connection: Connection) -> None:
            started.append(threads.submit(schema.upgrade, theirs))
            wait(started, timeout=0.5)

        sa.event.listen(ours, "commit", start_another, once=True)
        schema.upgrade(ours)
        started[0].result()
        schema.check(theirs)


@pytest.mark.servers
def test_databases_of_one_server_are_migrated_side_by_side(
    mariadb_url: str, databases: Databases, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock belongs to the database, not to the server: work in another database causes no delay."""
    monkeypatch.setattr(schema, "LOCK_SECONDS", 0)
    with (
        database(databases, "mariadb", tmp_path) as url,
        opened(mariadb_url) as ours,
        opened(url) as theirs,
        schema._migrating(theirs),
    ):
        schema.upgrade(ours)
        with pytest.raises(schema.SchemaError, match="Somebody else"):
            schema.upgrade(theirs)
        schema.check(ours)


def test_every_table_counts_and_compares_as_the_others(migrated: Engine) -> None:
    """All four count the keys that the database generates; on MariaDB every text column compares exactly."""
    inspector = inspect(migrated)
    if migrated.dialect.name == "mysql":
        with reading(migrated) as connection:
            query = (
                "SELECT DISTINCT collation_name FROM information_schema.columns WHERE table_schema = DATABASE() "
                "AND collation_name IS NOT NULL AND column_type <> 'longtext' AND table_name <> 'alembic_version'"
            )
            assert set(connection.scalars(text(query))) == {"utf8mb4_nopad_bin"}
            query = "SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = DATABASE()"
            assert set(connection.scalars(text(query))) == {"InnoDB"}
    types: dict[str, Any] = {column["name"]: column["type"] for column in inspector.get_columns("outbox")}
    assert isinstance(types["id"], sa.Integer if migrated.dialect.name == "sqlite" else sa.BigInteger)
