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
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeAlias

from sqlalchemy import Insert, Update
from sqlalchemy.sql.schema import ScalarElementColumnDefault

from leasehold.db.galera import IN_CLUSTER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection, Dialect
    from sqlalchemy.sql.compiler import SQLCompiler

MOST = 64
"""How many UPDATEs are sent at once, each of one row."""
ROWS = 16
"""Rows of an INSERT that count as an UPDATE: a thousand are sent at once. PostgreSQL takes 65,535 parameters."""

Write: TypeAlias = "Insert | Update"
_Writes: TypeAlias = list[tuple["Write", list[dict[str, Any]]]]
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
            self._written = sum(map(self._send_at_once, _parts(writes)))
        elif dialect == "postgresql":
            for inserts, some in ((inserts, list(some)) for inserts, some in groupby(writes, _inserts)):
                self._written += sum(map(self._send_at_once, _parts(some))) if inserts else self._send_each(some)
        else:
            self._written = self._send_each(writes)

    def _send_at_once(self, writes: _Writes) -> int:
        """Execute these writes by one statement; return how many rows it wrote."""
        count = sum(len(rows) for _, rows in writes)
        if count == 1:
            return self._send_each(writes)
        dialect, texts, values = self._connection.dialect, [], []
        for statement, rows in writes:
            form = _compiled((statement, tuple(rows[0])), dialect)
            texts += form.texts(len(rows))
            values += [value for row in rows for value in form.values(row)]
        written = self._connection.exec_driver_sql(_in_one(texts, dialect), tuple(values)).rowcount
        # PostgreSQL counts the rows of the last INSERT alone; all of them are written, or it fails.
        return count if all(map(_inserts, writes)) else written

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


def _parts(writes: Iterable[tuple[Write, list[dict[str, Any]]]]) -> Iterator[_Writes]:
    """Yield what is sent at once, in the order of the writes."""
    part, size = _Writes(), 0
    for statement, rows in writes:
        rate = ROWS if isinstance(statement, Insert) else 1
        for first in range(0, len(rows), MOST * rate):
            some = rows[first : first + MOST * rate]
            more = -(-len(some) // rate)
            if size + more > MOST:
                yield part
                part, size = _Writes(), 0
            part.append((statement, some))
            size += more
    if part:
        yield part


@dataclass(frozen=True, slots=True)
class _Form:
    """The text of a statement, with `%s` for each parameter: `row` is what is repeated for each row, all of an UPDATE.

    Each bind is a name, its value where none is given, and its conversion for the driver.
    """

    head: str
    row: str
    tail: str
    binds: Sequence[tuple[str, Any, Callable[[Any], Any] | None]]

    def texts(self, count: int) -> list[str]:
        """Return the statements for so many rows."""
        return [f"{self.head}{', '.join([self.row] * count)}{self.tail}"] if self.head else [self.row] * count

    def values(self, row: Mapping[str, Any]) -> Iterator[Any]:
        """Yield the values of a row, in the order of the parameters."""
        for name, default, convert in self.binds:
            value = row.get(name, default)
            yield value if convert is None else convert(value)


@lru_cache(maxsize=512)
def _compiled(key: _Key, dialect: Dialect) -> _Form:
    """Return the form of a statement, compiled once for all rows."""
    statement, names = key
    # Nobody asks for the keys of new rows, which an INSERT on PostgreSQL would return.
    quiet = statement.inline() if isinstance(statement, Insert) else statement
    compiled = quiet.compile(dialect=dialect, column_keys=list(names))
    row = str(compiled.insert_single_values_expr or compiled)
    head, _, tail = str(compiled).partition(row)
    placed = _Placed()
    # The text is a format, with %% for each percent sign, and has to be one afterwards too.
    text = row.replace("%%", "%%%%") % placed
    values = {name: bind.value for name, bind in compiled.binds.items()} | _defaults(compiled)
    types = {name: bind.type.dialect_impl(dialect) for name, bind in compiled.binds.items()}
    binds = [(name, values[name], types[name].bind_processor(dialect)) for name in placed.names]
    return _Form(head, text, tail, binds)


class _Placed(dict[str, str]):
    """Puts `%s` in the place of each name, and notes the names in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __missing__(self, name: str) -> str:
        self.names.append(name)
        return "%s"


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
