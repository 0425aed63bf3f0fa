"""The schema of the books: brought up to date by migrations, and checked at every start."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text

from leasehold.books.engine import reading, writing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK_NAME = "leasehold.schema"
LOCK_NUMBER = 0x1EA5E401D
LOCK_SECONDS = 120


class SchemaError(Exception):
    """The tables are not what this version needs; the message says what to run."""


def upgrade(engine: Engine, revision: str = "head") -> None:
    """Bring the schema to `revision`; of several processes at once one does it and the others find it done."""
    with writing(engine) as connection, _alone(connection):
        command.upgrade(_config(connection), revision)


def downgrade(engine: Engine, revision: str) -> None:
    """Take the schema back to `revision`; "base" removes all tables with what is in them."""
    with writing(engine) as connection, _alone(connection):
        command.downgrade(_config(connection), revision)


def current(engine: Engine) -> str | None:
    """Return the revision that the database has, None for one without our tables."""
    with reading(engine) as connection:
        return MigrationContext.configure(connection).get_current_revision()


def head() -> str:
    """Return the revision that this version needs."""
    newest = ScriptDirectory(str(MIGRATIONS)).get_current_head()
    if newest is None:
        message = f"There are no migrations in {MIGRATIONS}; install the package again."
        raise SchemaError(message)
    return newest


def history() -> list[tuple[str, str]]:
    """Return all revisions with what they did, oldest first."""
    revisions = ScriptDirectory(str(MIGRATIONS)).walk_revisions()
    return [(revision.revision, revision.doc) for revision in revisions][::-1]


def check(engine: Engine) -> None:
    """Raise SchemaError when the database has another revision than this version needs."""
    found, needed = current(engine), head()
    if found != needed:
        message = (
            f"The database has schema {found or 'none'}, this version needs {needed}: run leasehold-manage db upgrade."
        )
        raise SchemaError(message)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """Keep others from migrating the same database meanwhile; SQLite's writer lock does so by itself."""
    if connection.dialect.name == "postgresql":
        # Held until the transaction ends, so nobody sees half a migration.
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": LOCK_NUMBER})
        yield
    elif connection.dialect.name == "mysql":
        # MariaDB commits at every CREATE TABLE, so the lock belongs to the connection and has to be given back.
        got = connection.scalar(text("SELECT GET_LOCK(:name, :seconds)"), {"name": LOCK_NAME, "seconds": LOCK_SECONDS})
        if got != 1:
            message = f"Somebody else has been migrating this database for {LOCK_SECONDS} s; try again later."
            raise SchemaError(message)
        try:
            yield
        finally:
            connection.execute(text("SELECT RELEASE_LOCK(:name)"), {"name": LOCK_NAME})
    else:
        yield
