"""Counts what a piece of work does to the database and the cloud: figures that no machine makes larger or smaller."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import event

from leasehold.cloud.ports import Cloud
from leasehold.db.engine import reader_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlalchemy import Connection, Engine

    from leasehold.cloud.sandbox.cloud import SandboxCloud

MOST_ROWS = 2**32
"""A cursor that reads as it goes along cannot say how many rows there are, and says something larger than this."""


class Meter:
    """Counts the statements, commits and parameters that an engine sends, and the rows that come back."""

    def __init__(self, engine: Engine) -> None:
        """Listen to an engine, and to its twin that only reads, until the engine is thrown away."""
        self._spent: dict[str, int] = {}
        self._written: set[int] = set()
        # SQLite's driver does not say how many rows a statement has found.
        self._tells_rows = engine.dialect.name != "sqlite"
        for each in {engine, reader_of(engine)}:
            event.listen(each, "before_cursor_execute", self._sent)
            event.listen(each, "after_cursor_execute", self._answered)
            event.listen(each, "commit", self._committed)
            event.listen(each, "rollback", self._rolled_back)

    def of(self, work: Callable[[], object]) -> dict[str, int]:
        """Return what this piece of work costs."""
        self._spent = {"statements": 0, "commits": 0, "bytes": 0, "rows": 0}
        work()
        spent, self._spent = self._spent, {}
        return {name: count for name, count in spent.items() if name != "rows" or self._tells_rows}

    def _sent(self, connection: Connection, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        # The sandbox shares the database, but it stands for a cloud that has its own.
        if self._spent and "sandbox_" not in statement and not statement.startswith("BEGIN"):
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
    """Return how many characters the parameters of a statement have, of one row or of many."""
    if isinstance(parameters, dict):
        return size_of(tuple(parameters.values()))
    if isinstance(parameters, tuple | list):
        return sum(size_of(each) for each in parameters)
    return 0 if parameters is None else len(str(parameters))


class CallCounter:
    """Notes the calls that pass through it to a sandbox cloud, and which of them changed something there.

    What a call changes is seen in the sandbox's tables, because a verb that finds everything as it should be writes
    nothing, whatever it is named.
    """

    def __init__(self, cloud: SandboxCloud, engine: Engine) -> None:
        """Watch this cloud, which lives on this engine; `cloud` is then the one to give to a service."""
        ports: Mapping[str, Any] = {each.name: getattr(cloud, each.name) for each in fields(Cloud)}
        self.cloud = Cloud(**{name: port and _Watched(port, self) for name, port in ports.items()})
        self.calls = 0
        self.writes = 0
        self.rows = 0
        event.listen(engine, "after_cursor_execute", self._executed)

    def of(self, work: Callable[[], object]) -> dict[str, int]:
        """Return how many calls a piece of work makes, and how many of them change something."""
        self.calls = self.writes = 0
        work()
        return {"calls": self.calls, "writes": self.writes}

    def _executed(self, _connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
        if "sandbox_" in statement and not statement.startswith("SELECT"):
            self.rows += max(0, cursor.rowcount)


class _Watched:
    """One port; whatever is asked of it is counted and done."""

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
