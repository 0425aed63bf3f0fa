"""Writes of a transaction that nothing is decided between: servers get them at once (decisions 0080, 0106, 0127).

    with together(connection) as writes:
        insert_lease(writes, lease)
        put_event(writes, "lease.create", lease, now)

The rows of a statement are written when the first of them came: many leases take as few statements as one.

Each statement costs a message to the server and one back, and twice a switch of processes. MariaDB executes several as
one compound statement (`BEGIN NOT ATOMIC ... END`), in the transaction that is open. It stops at the
first error, which is the answer. PostgreSQL inserts rows of several tables by one statement (`WITH ... AS (INSERT ...)
INSERT ...`). Each part of it sees what was there before all of them, so every UPDATE is executed by itself. SQLite has
no server: there each write is executed by itself.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import Insert, Update
from sqlalchemy.sql.schema import ScalarElementColumnDefault

from leasehold.db.galera import IN_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sqlalchemy import Connection, Dialect
    from sqlalchemy.sql.compiler import SQLCompiler

MOST = 64
"""With more rows than this each statement is sent by itself, with all its rows, because the text grows by the row."""

Write: TypeAlias = "Insert | Update"
_Writes: TypeAlias = "list[tuple[Write, list[dict[str, Any]]]]"
"""Statements, each with the values of its rows."""
_Key: TypeAlias = "tuple[Write, tuple[str, ...]]"
"""A statement, and the names of the values that come with each of its rows."""


class Together:
    """The writes of one block; they are executed when the block ends, each statement once, with all its rows.

    Each row of parameters has to be one row of a table: `is_complete` says after the block whether all were there.
    A value that a column has by default in Python has to be a constant.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._writes: _Writes = []
        self._written = 0

    def execute(self, statement: Write, parameters: dict[str, Any] | list[dict[str, Any]], /) -> None:
        """Add a statement, with the values of one row or of several, all with the same names."""
        self._writes.append((statement, parameters if isinstance(parameters, list) else [parameters]))

    @property
    def info(self) -> dict[Any, Any]:
        """What is noted with the connection."""
        return self._connection.info

    @property
    def is_complete(self) -> bool:
        """Whether as many rows were written as were given."""
        return self._written == sum(len(rows) for _, rows in self._writes)

    def send(self) -> None:
        """Execute all; raises what the first statement raises that fails."""
        dialect = self._connection.dialect.name
        writes = list(_by_statement(self._writes))
        if dialect == "mysql" and not self._connection.info.get(IN_CLUSTER):
            self._written = self._send_at_once(writes)
        elif dialect == "postgresql":
            self._written = sum(
                self._send_at_once(some) if inserts else self._send_each(some)
                for inserts, some in ((inserts, list(some)) for inserts, some in groupby(writes, _inserts))
            )
        else:
            self._written = self._send_each(writes)

    def _send_at_once(self, writes: _Writes) -> int:
        """Execute these writes by one statement, unless they are one row or too many; return how many rows it wrote."""
        rows = [(statement, row) for statement, rows in writes for row in rows]
        if len(rows) > MOST and len(writes) > 1:
            return sum(self._send_at_once([write]) for write in writes)
        if len(rows) > MOST and not all(map(_inserts, writes)):
            # An INSERT takes all its rows at once, an UPDATE would be sent for each.
            [(statement, many)] = writes
            parts = (many[first : first + MOST] for first in range(0, len(many), MOST))
            return sum(self._send_at_once([(statement, part)]) for part in parts)
        if not 1 < len(rows) <= MOST:
            return self._send_each(writes)
        dialect, texts, values = self._connection.dialect, [], {}
        for number, (statement, row) in enumerate(rows):
            text, binds = _numbered((statement, tuple(row)), number, dialect)
            texts.append(text)
            for full_name, (name, default, convert) in binds:
                value = row.get(name, default)
                values[full_name] = value if convert is None else convert(value)
        written = self._connection.exec_driver_sql(_in_one(texts, dialect), values).rowcount
        # PostgreSQL counts the rows of the last INSERT alone; all of them are written, or it fails.
        return len(rows) if all(map(_inserts, writes)) else written

    def _send_each(self, writes: _Writes) -> int:
        return sum(self._execute(statement, rows) for statement, rows in writes)

    def _execute(self, statement: Write, rows: Sequence[dict[str, Any]]) -> int:
        result = self._connection.execute(statement, rows if len(rows) > 1 else rows[0])
        # An INSERT writes all rows or fails, and not every driver counts them.
        return len(rows) if isinstance(statement, Insert) else result.rowcount


def _by_statement(writes: _Writes) -> Iterator[tuple[Write, list[dict[str, Any]]]]:
    """Yield each statement when its first row came, with all its rows: leases are written before tasks, for example."""
    statements: dict[Write, dict[tuple[str, ...], list[dict[str, Any]]]] = {}
    for statement, rows in writes:
        for row in rows:
            statements.setdefault(statement, {}).setdefault(tuple(row), []).append(row)
    for statement, kinds in statements.items():
        for rows in kinds.values():
            yield statement, rows


def _inserts(write: tuple[Write, list[dict[str, Any]]]) -> bool:
    return isinstance(write[0], Insert)


@contextmanager
def together(connection: Connection) -> Iterator[Together]:
    """Collect writes, and execute them when the block ends; if it raises, none of them is executed."""
    writes = Together(connection)
    yield writes
    writes.send()


Writer: TypeAlias = "Connection | Together"
"""What executes a write whose result nobody needs: at once, or with others."""


_Bind: TypeAlias = "tuple[str, Any, Callable[[Any], Any] | None]"
"""The name of a parameter, its value where none is given, and its conversion for the driver."""


@lru_cache(maxsize=512)
def _compiled(key: _Key, dialect: Dialect) -> tuple[str, Sequence[_Bind]]:
    """Return the text of a statement with the names of its parameters, and these; compiled once for all numbers."""
    statement, names = key
    # Nobody asks for the keys of new rows, which an INSERT on PostgreSQL would return.
    quiet = statement.inline() if isinstance(statement, Insert) else statement
    compiled = quiet.compile(dialect=dialect, column_keys=list(names))
    values = {name: bind.value for name, bind in compiled.binds.items()} | _defaults(compiled)
    binds = [
        (name, values[name], bind.type.dialect_impl(dialect).bind_processor(dialect))
        for name, bind in compiled.binds.items()
    ]
    # The text is a format, with %% for each percent sign, and has to be one afterwards too.
    return str(compiled).replace("%%", "%%%%"), binds


@lru_cache(maxsize=4096)
def _numbered(key: _Key, number: int, dialect: Dialect) -> tuple[str, Sequence[tuple[str, _Bind]]]:
    """Return a statement as the one with this number of several, and each parameter with its name among all."""
    text, binds = _compiled(key, dialect)
    full = {bind[0]: f"w{number}_{bind[0]}" for bind in binds}
    return text % {name: f"%({each})s" for name, each in full.items()}, [(full[bind[0]], bind) for bind in binds]


def _in_one(texts: list[str], dialect: Dialect) -> str:
    """Return the one statement that executes these; on PostgreSQL they are all INSERTs."""
    if dialect.name == "mysql":
        return f"BEGIN NOT ATOMIC {'; '.join(texts)}; END"
    *firsts, last = texts
    parts = ", ".join(f"w{number} AS ({text})" for number, text in enumerate(firsts))
    return f"WITH {parts} {last}"


def _defaults(compiled: SQLCompiler) -> dict[str, Any]:
    """Return the values of the columns that an INSERT does not name; raises NotImplementedError for one to compute."""
    found = {}
    for column in compiled.insert_prefetch:
        if not isinstance(column.default, ScalarElementColumnDefault):
            raise NotImplementedError(f"{column}: name its value in the INSERT, or let its default be a constant.")
        found[column.key] = column.default.arg
    return found
