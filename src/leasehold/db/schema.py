"""The schema of the database: migrations bring it up to date, and every start checks it.

Old processes run on while the schema is upgraded, and new ones start beside them (`leasehold.db.migrations`). So the
database records the first revision whose code works on it. A process refuses a newer schema only if its code is older
than that. Revisions are numbers of four digits, so their order as texts is that of the numbers. A database may record
one that is older than the first that is here, which makes all tables at once (docs/decisions/0120).

Importing Alembic takes longer than running everything else here, so only the functions that migrate import it.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import column, inspect, select, table, text
from sqlalchemy.exc import DBAPIError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from leasehold.db.engine import alone, reading, writing
from leasehold.db.galera import is_galera
from leasehold.db.store import error_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alembic.config import Config
    from sqlalchemy import Connection, Engine

MIGRATIONS = Path(__file__).parent / "migrations"
BASE = "base"
LOCK_NUMBER = 0x1EA5E401D
LOCK_SECONDS = 120
TABLE_LOCK_SECONDS = 3
"""How long a migration waits for the lock of a table; all other statements on that table wait behind it."""
MADE_MEANWHILE = frozenset({1050, 1061, 1062, 1213, 1412, 1684})
"""MariaDB: the table, index or row exists already, the race is lost, or another process changes the table now."""
MARIADB_LOCKED = frozenset({1205, 1213})
POSTGRESQL_LOCKED = frozenset({"55P03", "40P01"})
"""Both sets: a lock timeout and a deadlock."""

_VERSION = table("alembic_version", column("version_num"))
_COMPATIBILITY = table("schema_compatibility", column("oldest"))
_TAKE_LOCK = text("SELECT GET_LOCK(CONCAT('leasehold.', MD5(DATABASE())), :seconds)")
_GIVE_LOCK = text("SELECT RELEASE_LOCK(CONCAT('leasehold.', MD5(DATABASE())))")


class SchemaError(Exception):
    """The tables are not what this version needs; the message says what to run."""


def revisions() -> dict[str, str]:
    """Return all revisions that this version knows, oldest first, each with a short description."""
    names = (path.stem.partition("_") for path in sorted((MIGRATIONS / "versions").glob("[0-9]*_*.py")))
    return {number: words.replace("_", " ") for number, _, words in names}


def head() -> str:
    """Return the revision that this version needs."""
    known = revisions()
    if not known:
        raise SchemaError(f"There are no migrations in {MIGRATIONS}: install the package again.")
    return list(known)[-1]


def current(engine: Engine) -> str | None:
    """Return the revision of the database, None if it has no tables of ours."""
    with reading(engine) as connection:
        return _current(connection)


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_VERSION.name):
        return None
    found: str | None = connection.execute(select(_VERSION.c.version_num)).scalar()
    return found


def check(engine: Engine) -> str:
    """Return a sentence that says why this version can run on the database's schema.

    Raises SchemaError, which says what to do, when it cannot.
    """
    with reading(engine) as connection:
        found, needed = _current(connection), head()
        if found == needed:
            return f"The schema is {found}, which is what this version needs."
        if _newer(connection, found):
            return f"The schema is {found}, which is newer than this version and works with it."
    raise SchemaError(
        f"The database has schema {found or 'none'}, and this version needs {needed}: run leasehold-manage db upgrade."
    )


def _newer(connection: Connection, found: str | None) -> bool:
    """Say whether a newer version made the schema and this version works on it, too.

    Raises SchemaError when the schema is older than the first revision that is here, and when it is unknown and does
    not record that this version works on it.
    """
    if found is None or found in revisions():
        return False
    first = next(iter(revisions()))
    if found.isdecimal() and int(found) < int(first):
        raise SchemaError(
            f"The database has schema {found}, and this version upgrades databases from {first} on: first run "
            "leasehold-manage db upgrade of an older version, which knows both."
        )
    oldest = _oldest(connection)
    if oldest is not None and oldest <= head():
        return True
    if oldest is not None:
        raise SchemaError(
            f"The database has schema {found}, which works with versions that know schema {oldest}, and this one knows "
            f"{head()} at most: start the newer version that made it."
        )
    raise SchemaError(
        f"The database has schema {found}, which this version does not know. A newer Leasehold or another service "
        "made it: install that version, or give Leasehold a database of its own. Blazar's database can only be "
        "read: leasehold-manage import-blazar copies it into a new one."
    )


def _oldest(connection: Connection) -> str | None:
    """Return the first revision whose code works on this schema; None if the database does not record it."""
    if not inspect(connection).has_table(_COMPATIBILITY.name):
        return None
    found: str | None = connection.execute(select(_COMPATIBILITY.c.oldest)).scalar()
    return found


def upgrade(engine: Engine) -> None:
    """Bring the schema to the revision that this version needs; of several processes at once, one does it.

    A newer schema that this version can run on stays as it is. A migration that broke off half-way is resumed. Raises
    SchemaError for a database that is not ours, and for one whose schema is older than the first revision.
    """
    attempts = Retrying(
        retry=retry_if_exception(partial(_worth_another_try, engine)),
        wait=wait_random(0.1, 1.0),
        stop=stop_after_delay(LOCK_SECONDS),
        reraise=True,
    )
    while attempts(_upgrade_once, engine):
        pass


def _upgrade_once(engine: Engine) -> bool:
    """Run the next migration, and say whether there may be another one.

    Each migration has a transaction of its own: a common one would keep the tables of the first locked while it waits
    for others. In an empty database, which has no users yet, all of them are one transaction.
    """
    if current(engine) == head():
        return False
    with _migrating(engine) as connection, _impatient(connection):
        found = _current(connection)
        if found == head() or _newer(connection, found):
            return False
        from alembic import command  # noqa: PLC0415 - slow, see above.

        known = list(revisions())
        following = known[known.index(found) + 1] if found else head()
        command.upgrade(_config(connection), following)
        return following != head()


def _worth_another_try(engine: Engine, error: BaseException) -> bool:
    """Say whether a migration failed because other transactions use the tables, or because another migration runs."""
    if isinstance(error, DBAPIError):
        sqlstate = getattr(error.orig, "sqlstate", None)
        if error_number(error) in MARIADB_LOCKED or sqlstate in POSTGRESQL_LOCKED:
            return True
    return _met_another(engine, error)


def _met_another(engine: Engine, error: BaseException) -> bool:
    """Say whether another process migrates through another node of a Galera cluster, where our lock has no effect.

    At every table one of the two is refused. It finds the table when it tries again, and the steps skip what exists.
    """
    from alembic.util import CommandError  # noqa: PLC0415 - slow, see above.

    # Alembic raises CommandError when its table has another revision than a moment ago.
    same = (isinstance(error, DBAPIError) and error_number(error) in MADE_MEANWHILE) or isinstance(error, CommandError)
    if not same:
        return False
    with reading(engine) as connection:
        return is_galera(connection)


def downgrade(engine: Engine, revision: str) -> None:
    """Take the schema back to `revision`, which this version knows; `BASE` removes all tables with their rows."""
    with _migrating(engine) as connection:
        found = _current(connection)
        if _newer(connection, found):
            raise SchemaError(f"The database has schema {found}: downgrade it with the newer version that made it.")
        from alembic import command  # noqa: PLC0415 - slow, see above.

        command.downgrade(_config(connection), revision)


def _config(connection: Connection) -> Config:
    from alembic.config import Config  # noqa: PLC0415 - slow, see above.

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@contextmanager
def _migrating(engine: Engine) -> Iterator[Connection]:
    """Open a transaction that writes, and keep other processes from migrating the same database until it is committed.

    On SQLite the writer lock already does.
    """
    if engine.dialect.name in ("mysql", "mariadb"):
        # MariaDB commits at every CREATE TABLE, so the lock belongs to a connection. It is one that outlives the
        # transaction: who had the lock before the commit would begin at the revision of before.
        with alone(engine) as holder:
            if holder.scalar(_TAKE_LOCK, {"seconds": LOCK_SECONDS}) != 1:
                raise SchemaError(
                    f"Somebody else has been migrating this database for {LOCK_SECONDS} s: "
                    "wait for that, then run leasehold-manage db upgrade again."
                )
            try:
                with writing(engine) as connection:
                    yield connection
            finally:
                holder.execute(_GIVE_LOCK)
    else:
        with writing(engine) as connection:
            if engine.dialect.name == "postgresql":
                # The lock lasts until the transaction ends, so no process sees half a migration.
                connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": LOCK_NUMBER})
            yield connection


@contextmanager
def _impatient(connection: Connection) -> Iterator[None]:
    """Fail soon when a table is in use, because all other statements on it wait behind a waiting migration.

    SQLite has one writer at a time and no table locks.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"SET LOCAL lock_timeout = '{TABLE_LOCK_SECONDS}s'"))
        yield
    elif connection.dialect.name in ("mysql", "mariadb"):
        connection.execute(text(f"SET SESSION lock_wait_timeout = {TABLE_LOCK_SECONDS}"))
        try:
            yield
        finally:
            connection.execute(text("SET SESSION lock_wait_timeout = DEFAULT"))
    else:
        yield
