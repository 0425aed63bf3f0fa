"""A change that leaves all as it is: it shows whether the database takes changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import update
from sqlalchemy.exc import OperationalError

from leasehold.db.engine import SQLITE_WAIT_SECONDS, alone, is_busy
from leasehold.db.tables import secret_keys

if TYPE_CHECKING:
    from sqlalchemy import Engine

_CHANGE_NOTHING = update(secret_keys).values(name=secret_keys.c.name)
"""Only this check writes the row, so nobody else has it locked."""


def change_nothing(engine: Engine) -> None:
    """Commit a change that leaves all as it is; on SQLite only if nobody else is writing.

    SQLite has one writer at a time, which may stand still: that says nothing about the disk, and taking this process
    out would not help. Raises the driver's error when the database does not answer or takes no changes.
    """
    if engine.dialect.name != "sqlite":
        with alone(engine, writes=True) as connection:
            connection.execute(_CHANGE_NOTHING)
        return
    with engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA busy_timeout = 0")
        try:
            connection.execute(_CHANGE_NOTHING)
        except OperationalError as error:
            if error.orig is None or not is_busy(error.orig):
                raise
        finally:
            connection.exec_driver_sql(f"PRAGMA busy_timeout = {1000 * SQLITE_WAIT_SECONDS}")
