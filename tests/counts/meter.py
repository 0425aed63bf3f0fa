"""Counts the database and cloud operations of a piece of work; the counts do not depend on the machine."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from leasehold.cloud.ports import Cloud
from leasehold.db.engine import engines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection, Engine

    from leasehold.cloud.sandbox.cloud import SandboxCloud

BEGINS = ("BEGIN", "BEGIN IMMEDIATE")
"""What begins a transaction on SQLite; on MariaDB a compound statement, which counts, begins so too."""
MOST_ROWS = 2**32
"""A streaming cursor cannot know its number of rows, and reports a number of at least this."""


class Meter:
    """Counts the statements, commits and parameters that an engine sends, and the rows that it receives."""

    def __init__(self, engine: Engine) -> None:
        """Listen to an engine and to those that work for it, for as long as the engine exists."""
        self._spent: dict[str, int] = {}
        self._written: set[int] = set()
        # SQLite's driver does not report the number of rows of a SELECT.
        self._tells_rows = engine.dialect.name != "sqlite"
        for each in engines_of(engine):
            event.listen(each, "before_cursor_execute", self._sent)
            event.listen(each, "after_cursor_execute", self._answered)
            event.listen(each, "commit", self._committed)
            event.listen(each, "rollback", self._rolled_back)

    def of(self, work: Callable[[], object]) -> dict[str, int]:
        """Run the work, and return its cost."""
        self._spent = {"statements": 0, "commits": 0, "bytes": 0, "rows": 0}
        work()
        spent, self._spent = self._spent, {}
        return {name: count for name, count in spent.items() if name != "rows" or self._tells_rows}

    def _sent(self, connection: Connection, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        # Skip the sandbox's statements: it shares the database, but a real cloud has its own.
        if self._spent and "sandbox_" not in statement and statement not in BEGINS:
            self._spent["statements"] += 1
            self._spent["bytes"] += size_of(parameters)
            if connection.get_execution_options().get("leasehold_writes"):
                self._written.add(id(connection))

    def _answered(self, _connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
        if self._spent and "sandbox_" not in statement and statement.startswith("SELECT"):
            self._spent["rows"] += cursor.rowcount if 0 <= cursor.rowcount < MOST_ROWS else 0

    def _committed(self, connection: Connection) -> None:
        if id(connection) in self._written:
            self._written.remove(id(connection))
            if self._spent:
                self._spent["commits"] += 1

    def _rolled_back(self, connection: Connection) -> None:
        self._written.discard(id(connection))


def size_of(parameters: Any) -> int:
    """Return the number of characters in the parameters of a statement, for one row or many."""
    if isinstance(parameters, dict):
        return size_of(tuple(parameters.values()))
    if isinstance(parameters, tuple | list):
        return sum(size_of(each) for each in parameters)
    return 0 if parameters is None else len(str(parameters))


class CallCounter:
    """Counts the calls to a sandbox cloud, and those that changed something there.

    A call counts as a write if it changes rows in the sandbox's tables, because any verb writes nothing when it finds
    the wanted state already there.
    """

    def __init__(self, cloud: SandboxCloud, engine: Engine) -> None:
        """Wrap a sandbox cloud stored on this engine; pass the attribute `cloud` to the service."""
        ports: Mapping[str, Any] = {each.name: getattr(cloud, each.name) for each in fields(Cloud)}
        self.cloud = Cloud(**{name: port and _Watched(port, self) for name, port in ports.items()})
        self.calls = 0
        self.writes = 0
        self.rows = 0
        event.listen(engine, "after_cursor_execute", self._executed)

    def of(self, work: Callable[[], object]) -> dict[str, int]:
        """Run the work, and return how many calls it makes and how many of them write."""
        self.calls = self.writes = 0
        work()
        return {"calls": self.calls, "writes": self.writes}

    def _executed(self, _connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
        if "sandbox_" in statement and not statement.startswith("SELECT"):
            self.rows += max(0, cursor.rowcount)


class _Watched:
    """A port of the cloud that counts each call and forwards it."""

    def __init__(self, port: Any, counter: CallCounter) -> None:
        self._port, self._counter = port, counter

    def __getattr__(self, verb: str) -> Any:
        method, counter = getattr(self._port, verb), self._counter

        def call(*args: Any, **kwargs: Any) -> Any:
            rows = counter.rows
            answer = method(*args, **kwargs)
            counter.calls += 1
            counter.writes += counter.rows > rows
            return answer

        return call
