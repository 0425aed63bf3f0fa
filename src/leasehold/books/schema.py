"""The schema of the books: brought up to date by migrations, and checked at every start.

Alembic takes longer to import than all else here takes to run, so only what migrates loads it.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import column, inspect, select, table, text
from sqlalchemy.exc import DBAPIError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random

from leasehold.books.engine import reading, writing
from leasehold.books.galera import is_galera
from leasehold.books.store import error_number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from alembic.config import Config
    from sqlalchemy import Connection, Engine

MIGRATIONS = Path(__file__).parent / "migrations"
BASE = "base"
LOCK_NUMBER = 0x1EA5E401D
LOCK_SECONDS = 120
MADE_MEANWHILE = frozenset({1050, 1061, 1062, 1213, 1412, 1684})
"""A table, an index or a row that is there already, a lost race, and a table that is just being changed."""

_VERSION = table("alembic_version", column("version_num"))
_TAKE_LOCK = text("SELECT GET_LOCK(CONCAT('leasehold.', MD5(DATABASE())), :seconds)")
_GIVE_LOCK = text("SELECT RELEASE_LOCK(CONCAT('leasehold.', MD5(DATABASE())))")


class SchemaError(Exception):
    """The tables are not what this version needs; the message says what to run."""


def revisions() -> dict[str, str]:
    """Return all revisions that this version knows, oldest first, each with what it is in a few words."""
    names = (path.stem.partition("_") for path in sorted((MIGRATIONS / "versions").glob("[0-9]*_*.py")))
    return {number: words.replace("_", " ") for number, _, words in names}


def head() -> str:
    """Return the revision that this version needs."""
    known = revisions()
    if not known:
        raise SchemaError(f"There are no migrations in {MIGRATIONS}: install the package again.")
    return list(known)[-1]


def current(engine: Engine) -> str | None:
    """Return the revision that the database has, None for one without our tables."""
    with reading(engine) as connection:
        return _current(connection)


def _current(connection: Connection) -> str | None:
    if not inspect(connection).has_table(_VERSION.name):
        return None
    found: str | None = connection.execute(select(_VERSION.c.version_num)).scalar()
    return found


def check(engine: Engine) -> None:
    """Raise SchemaError, which says what to do, when the database has another revision than this version needs."""
    found, needed = current(engine), head()
    if found == needed:
        return
    _refuse_unknown(found)
    raise SchemaError(
        f"The database has schema {found or 'none'}, and this version needs {needed}: run leasehold-manage db upgrade."
    )


def _refuse_unknown(found: str | None) -> None:
    if found is not None and found not in revisions():
        raise SchemaError(
            f"The database has schema {found}, which this version does not know. A newer Leasehold or another service "
            "made it: install that version, or give Leasehold a database of its own. Blazar's database can only be "
            "read: leasehold-manage import-blazar copies it into a new one."
        )


def upgrade(engine: Engine) -> None:
    """Bring the schema to what this version needs; of several processes at once one does it, the others find it done.

    What broke off half-way is taken up again. Raises SchemaError for a database that is not ours.
    """
    attempts = Retrying(
        retry=retry_if_exception(partial(_met_another, engine)),
        wait=wait_random(0.1, 1.0),
        stop=stop_after_delay(LOCK_SECONDS),
        reraise=True,
    )
    attempts(_upgrade, engine)


def _upgrade(engine: Engine) -> None:
    if current(engine) == head():
        return
    with writing(engine) as connection, _alone(connection):
        _refuse_unknown(_current(connection))
        from alembic import command  # noqa: PLC0415 - slow, see above.

        command.upgrade(_config(connection), "head")


def _met_another(engine: Engine, error: BaseException) -> bool:
    """Say whether somebody migrates through another node of a Galera cluster, on which our lock is none.

    One of the two is refused at every table, and finds it there when it tries again: the steps take up what is begun.
    """
    from alembic.util import CommandError  # noqa: PLC0415 - slow, see above.

    # The latter is how Alembic says that its table has another revision than a moment ago.
    same = (isinstance(error, DBAPIError) and error_number(error) in MADE_MEANWHILE) or isinstance(error, CommandError)
    if not same:
        return False
    with reading(engine) as connection:
        return is_galera(connection)


def downgrade(engine: Engine, revision: str) -> None:
    """Take the schema back to `revision`; `BASE` removes all tables with what is in them."""
    with writing(engine) as connection, _alone(connection):
        _refuse_unknown(_current(connection))
        from alembic import command  # noqa: PLC0415 - slow, see above.

        command.downgrade(_config(connection), revision)


def _config(connection: Connection) -> Config:
    from alembic.config import Config  # noqa: PLC0415 - slow, see above.

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
    elif connection.dialect.name in ("mysql", "mariadb"):
        # MariaDB commits at every CREATE TABLE, so the lock belongs to the connection and has to be given back.
        if connection.scalar(_TAKE_LOCK, {"seconds": LOCK_SECONDS}) != 1:
            raise SchemaError(
                f"Somebody else has been migrating this database for {LOCK_SECONDS} s: "
                "wait for that, then run leasehold-manage db upgrade again."
            )
        try:
            yield
        finally:
            connection.execute(_GIVE_LOCK)
    else:
        yield
