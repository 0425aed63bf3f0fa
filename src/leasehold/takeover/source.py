"""Reads Blazar's database in one read-only snapshot."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_type_hints
from urllib.parse import quote

from sqlalchemy import Boolean, DateTime, Engine, column, create_engine, inspect, make_url, select, table, text
from sqlalchemy.types import NullType, TypeEngine

from leasehold.takeover import rows as kinds
from leasehold.takeover.findings import TakeoverError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import URL, Connection

R = TypeVar("R", bound=kinds.Row)

_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_DRIVERS = {"mysql": "mysql+pymysql", "mariadb": "mysql+pymysql", "postgresql": "postgresql+psycopg"}
_TYPES: dict[Any, TypeEngine[Any]] = {datetime: DateTime(), bool: Boolean()}
_OTHERS = {
    "mysql": "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND id <> CONNECTION_ID()",
    "postgresql": "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
}


def read_blazar(url: str) -> tuple[kinds.BlazarRows, int]:
    """Return all rows of one snapshot, and the number of other connections to the database, which may be Blazar's.

    Raises TakeoverError for a database that is not Blazar's or was made by a release that is too old.
    """
    with _snapshot(_with_driver(url)) as connection:
        _check(connection)
        count = _OTHERS.get(connection.dialect.name)
        others = 0 if count is None else int(connection.scalar(text(count)) or 0)
        every: dict[str, Any] = {name: _read(connection, kind) for name, kind in _kinds().items()}
        return kinds.BlazarRows(**every), others


def _with_driver(url: str) -> URL:
    """Return the URL with a driver that is installed here; a `blazar.conf` may name another."""
    parsed = make_url(url)
    return parsed.set(drivername=_DRIVERS.get(parsed.get_backend_name(), parsed.drivername))


@contextmanager
def _snapshot(url: URL) -> Iterator[Connection]:
    """Open a read-only transaction that reads one snapshot."""
    engine = _sqlite(url) if url.get_backend_name() == "sqlite" else create_engine(url)
    try:
        if engine.dialect.name == "mysql":
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.exec_driver_sql("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                connection.exec_driver_sql("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
                yield connection
                connection.exec_driver_sql("ROLLBACK")
        elif engine.dialect.name == "postgresql":
            options: dict[str, Any] = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
            with engine.connect().execution_options(**options) as connection, connection.begin():
                yield connection
        else:
            with engine.connect() as connection:
                connection.exec_driver_sql("BEGIN")
                yield connection
                connection.exec_driver_sql("ROLLBACK")
    finally:
        engine.dispose()


def _sqlite(url: URL) -> Engine:
    file = f"file:{quote(url.database or '')}?mode=ro"
    return create_engine("sqlite://", creator=lambda: sqlite3.connect(file, uri=True, isolation_level=None))


def _kinds() -> dict[str, type[kinds.Row]]:
    """Return the row class of each field of `BlazarRows`."""
    return {name: get_args(hint)[0] for name, hint in get_type_hints(kinds.BlazarRows).items()}


def _check(connection: Connection) -> None:
    found = inspect(connection)
    there = set(found.get_table_names())
    wanted = {kind.table: {field.name for field in fields(kind)} for kind in _kinds().values()}
    if "computehosts" not in there:
        raise TakeoverError("This is not Blazar's database: it has no table computehosts. Check the URL after --from.")
    missing = sorted(wanted.keys() - there)
    for name in sorted(wanted.keys() & there):
        lacking = wanted[name] - {each["name"] for each in found.get_columns(name)}
        missing.extend(f"{name}.{each}" for each in sorted(lacking))
    if missing:
        raise TakeoverError(
            f"Blazar's database lacks {', '.join(missing)}: it was made by an older release. Run the newest Blazar's "
            "blazar-db-manage upgrade head on it (make a backup first), then import it."
        )


def _read(connection: Connection, kind: type[R]) -> tuple[R, ...]:
    hints = get_type_hints(kind)
    columns = [column(field.name, _type(hints[field.name])) for field in fields(kind)]
    query = select(*columns).select_from(table(kind.table))
    found = [
        kind(**{name: _aware(value) for name, value in row._mapping.items()})  # noqa: SLF001 - SQLAlchemy's public name.
        for row in connection.execute(query)
    ]
    return tuple(sorted(found, key=lambda row: (row.created_at or _LONG_AGO, row.id)))


def _type(hint: Any) -> TypeEngine[Any]:
    return next((_TYPES[part] for part in (hint, *get_args(hint)) if part in _TYPES), NullType())


def _aware(value: Any) -> Any:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
