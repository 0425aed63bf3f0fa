"""Helpers for revisions: types and names as when the revisions were written, and steps that may be run again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import mysql

from leasehold.db.schema import SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

BIG_KEY: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""A 64-bit key that the database generates."""

NAMES: Final = {
    "pk": "pk_%(table_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
}
"""The names of constraints that a revision does not name."""

MOMENT: Final = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql", "mariadb")
"""A moment in UTC with microseconds."""


def make_table(
    name: str, *parts: sa.Column[Any] | sa.Constraint, indexes: Iterable[Sequence[str]] = (), counted: bool = False
) -> None:
    """Make a table with its indexes, skipping what exists already.

    `counted` keeps SQLite from reusing a key. Raises SchemaError when a table of this name lacks one of these columns,
    because another service then made it.
    """
    found = sa.inspect(op.get_bind())
    known: Collection[str | None] = ()
    if found.has_table(name):
        wanted = {part.name for part in parts if isinstance(part, sa.Column)}
        # The table may have more columns, which a later revision adds.
        if not wanted <= {column["name"] for column in found.get_columns(name)}:
            raise SchemaError(
                f"The database has a table {name} that is not ours: give Leasehold a database of its own."
            )
        known = _indexes(name)
    else:
        op.create_table(name, *parts, sqlite_autoincrement=counted, **_exact())
    for columns in indexes:
        index = f"ix_{name}_{'_'.join(columns)}"
        if index not in known:
            op.create_index(index, name, list(columns))


def _exact() -> dict[str, Any]:
    """Return the options with which MariaDB and MySQL compare names exactly, including trailing blanks."""
    dialect = op.get_bind().dialect
    maria = getattr(dialect, "is_mariadb", False)
    return {
        "mysql_engine": "InnoDB",
        "mysql_charset": "utf8mb4",
        "mysql_collate": "utf8mb4_nopad_bin" if maria else "utf8mb4_0900_bin",
    }


def add_column(table: str, column: sa.Column[Any]) -> None:
    """Add a column to a table unless it exists; existing rows, and rows that old code writes, get its default."""
    known = {each["name"] for each in sa.inspect(op.get_bind()).get_columns(table)}
    if column.name not in known:
        op.add_column(table, column)


def add_lasts(table: str, by: str) -> None:
    """Add the least of nine lengths within which each row ends, and the index that begins with another column."""
    lengths = " ".join(f"WHEN ends_at - starts_at <= {4**power} THEN {4**power}" for power in range(5, 13))
    # SQLite adds no stored column. PostgreSQL has no index on another, and MariaDB may not recover one (0059).
    stored = None if op.get_bind().dialect.name == "sqlite" else True
    lasts = sa.Computed(f"CASE {lengths} ELSE {4**19} END", persisted=stored)
    add_column(table, sa.Column("lasts", sa.BigInteger, lasts))
    columns = [by, "lasts", "starts_at", "ends_at"]
    add_index(f"ix_{table}_{'_'.join(columns)}", table, columns)


def remove_lasts(table: str, by: str) -> None:
    """Remove what `add_lasts` adds."""
    remove_index(f"ix_{table}_{by}_lasts_starts_at_ends_at", table)
    op.drop_column(table, "lasts")


def add_index(name: str, table: str, columns: Sequence[str]) -> None:
    """Add an index to a table unless it exists."""
    if name not in _indexes(table):
        op.create_index(name, table, list(columns))


def remove_index(name: str, table: str) -> None:
    """Remove an index from a table if it exists."""
    if name in _indexes(table):
        op.drop_index(name, table)


def _indexes(table: str) -> Collection[str | None]:
    return {each["name"] for each in sa.inspect(op.get_bind()).get_indexes(table)}


def add_rows(name: str, key: str, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows whose `key` is not in the table yet; all have the same columns."""
    table = sa.table(name, *(sa.column(column) for column in rows[0]))
    known = set(op.get_bind().scalars(sa.select(table.c[key])))
    missing = [row for row in rows if row[key] not in known]
    if missing:
        op.bulk_insert(table, missing)


def need_code_of(revision: str) -> None:
    """Record that from now on only code that knows this revision works on the schema; each contraction begins so."""
    table = sa.table("schema_compatibility", sa.column("oldest"))
    op.execute(sa.update(table).values(oldest=revision))


def remove_tables(names: Iterable[str]) -> None:
    """Remove these tables with their indexes, in this order, skipping those that do not exist."""
    for name in names:
        op.drop_table(name, if_exists=True)
