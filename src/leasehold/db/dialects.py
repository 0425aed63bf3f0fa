"""Expressions that each database writes in its own way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import (
    JSON,
    BigInteger,
    Computed,
    Text,
    TypeDecorator,
    any_,
    bindparam,
    cast,
    extract,
    func,
    literal_column,
    null,
    select,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sqlalchemy import ColumnElement, Connection, Dialect, Row, Select
    from sqlalchemy.sql.compiler import DDLCompiler, SQLCompiler

IDS = "ids"
"""The parameter of `AmongIds`: a list of texts."""
PART = 5_000
"""Values in one statement; SQLite takes 32,766."""


class AmongIds(FunctionElement[Any]):
    """The condition that a column is one of the texts of the parameter `IDS`, of which there are many.

    PostgreSQL and SQLite take them as one text. For each of a thousand parameters, or elements of an array, the driver
    of PostgreSQL runs a regular expression, and SQLAlchemy makes a name for each parameter, every time. The type of the
    condition is left open: SQLAlchemy would compare a Boolean with 1 for SQLite and MariaDB, which then do not use the
    index of the column.
    """

    inherit_cache = True


def among_few(column: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that a column is one of the texts of the parameter `IDS`, each of which is a parameter."""
    return column.in_(bindparam(IDS, expanding=True))


def rows_among(
    connection: Connection, query: Select[Any], column: ColumnElement[Any], values: Iterable[Any]
) -> Iterator[Row[*tuple[Any, ...]]]:
    """Yield the rows of a query whose column is one of these values; a statement for each `PART` of them."""
    wanted = sorted(values)
    for first in range(0, len(wanted), PART):
        yield from connection.execute(query.where(column.in_(wanted[first : first + PART])))


class JsonText(FunctionElement[str]):
    """A column of JSON as the text that it was written as; PostgreSQL's driver would read it, in Python."""

    type = Text()
    inherit_cache = True


class _AsJsonText(TypeDecorator[Any]):
    """A list as the text of its JSON."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:  # noqa: ARG002 - signature is SQLAlchemy's
        """Write the list."""
        return orjson.dumps(value).decode()


class AfterSlash(FunctionElement[str]):
    """What follows the last slash of a text; the whole text without one."""

    type = Text()
    inherit_cache = True


class WhereNull(FunctionElement[Any]):
    """A column to order by first, of rows in which it is NULL, so that an index that begins with it gives their order.

    PostgreSQL uses the index if the order names the column, MariaDB and MySQL if it does not.
    """

    inherit_cache = True


class GroupHint(FunctionElement[Any]):
    """A column to group by before the text in it itself: a number that follows from the text.

    MariaDB compares a number eight times as quickly as the text of a long column, in the table that it groups in; the
    other databases take the column. With an expression none of them reads all rows in the order of an index.
    """

    inherit_cache = True


class EpochSeconds(FunctionElement[int]):
    """A moment in whole seconds since the epoch, rounded down."""

    type = BigInteger()
    inherit_cache = True


def _column(element: FunctionElement[Any]) -> Any:
    (column,) = element.clauses
    return column


@compiles(AmongIds)
def _in_list(element: AmongIds, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(among_few(_column(element)), **options)


@compiles(AmongIds, "postgresql")
def _in_array(element: AmongIds, compiler: SQLCompiler, **options: Any) -> str:
    texts = select(func.json_array_elements_text(cast(bindparam(IDS, type_=_AsJsonText), JSON))).scalar_subquery()
    return compiler.process(_column(element) == any_(func.array(texts)), **options)


@compiles(AmongIds, "sqlite")
def _in_json(element: AmongIds, compiler: SQLCompiler, **options: Any) -> str:
    texts = func.json_each(bindparam(IDS, type_=_AsJsonText)).table_valued("value")
    return compiler.process(_column(element).in_(select(texts.c.value)), **options)


@compiles(JsonText)
def _as_it_is(element: JsonText, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(_column(element), **options)


@compiles(JsonText, "postgresql")
def _as_text(element: JsonText, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(cast(_column(element), Text), **options)


@compiles(AfterSlash)
def _last_part(element: AfterSlash, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(func.substring_index(_column(element), "/", -1), **options)


@compiles(AfterSlash, "postgresql")
def _matching(element: AfterSlash, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(func.substring(_column(element), "[^/]*$"), **options)


@compiles(AfterSlash, "sqlite")
def _trimmed(element: AfterSlash, compiler: SQLCompiler, **options: Any) -> str:
    # From its end all is cut that is no slash, and what is left is cut from its beginning.
    text = _column(element)
    before = func.rtrim(text, func.replace(text, "/", ""))
    return compiler.process(func.substr(text, func.length(before) + 1), **options)


@compiles(WhereNull)
def _named(element: WhereNull, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(_column(element), **options)


@compiles(WhereNull, "mysql", "mariadb")
def _left_out(_element: WhereNull, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(null(), **options)


@compiles(GroupHint)
def _itself(element: GroupHint, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(_column(element), **options)


@compiles(GroupHint, "mysql", "mariadb")
def _checksum(element: GroupHint, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(func.crc32(_column(element)), **options)


@compiles(EpochSeconds)
def _difference(element: EpochSeconds, compiler: SQLCompiler, **options: Any) -> str:
    since = func.timestampdiff(literal_column("SECOND"), literal_column("'1970-01-01'"), _column(element))
    return compiler.process(since, **options)


@compiles(EpochSeconds, "postgresql")
def _extracted(element: EpochSeconds, compiler: SQLCompiler, **options: Any) -> str:
    return compiler.process(cast(func.floor(extract("epoch", _column(element))), BigInteger), **options)


@compiles(EpochSeconds, "sqlite")
def _written(element: EpochSeconds, compiler: SQLCompiler, **options: Any) -> str:
    # Without the microseconds, which it would round.
    whole = func.substr(_column(element), 1, 19)
    return compiler.process(cast(func.strftime("%s", whole), BigInteger), **options)


@compiles(Computed, "postgresql", "mysql", "mariadb")
def _stored(element: Computed, _compiler: DDLCompiler, **_options: Any) -> str:
    """Compute when a row is written. PostgreSQL needs that for an index, and MariaDB for a recovery after a crash."""
    return f"GENERATED ALWAYS AS ({element.sqltext}) STORED"
