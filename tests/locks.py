"""Checks the lock order of `db/store.py`: a transaction that breaks it fails, even without contention.

    watch_locks(engine)

SQLAlchemy omits `FOR UPDATE` from the SQL text for SQLite, so the check reads the statement objects instead.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import Insert, Select, Table, event
from sqlalchemy.sql.dml import UpdateBase

from leasehold.db.pool import lock_order
from leasehold.db.store import LOCK_ORDER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Compiled, Connection, Engine

_TAKEN = "locks-taken"
_COMPOUNDS = ("BEGIN NOT ATOMIC ", "WITH w0 AS (")
_WRITTEN = re.compile(r"(?:ATOMIC |; |AS \(|\) )(?:UPDATE (\w+)|INSERT INTO (\w+))")


def watch_locks(engine: Engine) -> None:
    """Raise AssertionError in any transaction of this engine that does not lock rows in the global lock order."""

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        connection.info[_TAKEN] = []

    @event.listens_for(engine, "before_cursor_execute")
    def look(connection: Connection, _cursor: Any, statement: str, _parameters: Any, context: Any, _many: bool) -> None:  # noqa: FBT001 - SQLAlchemy's signature
        taken: list[tuple[str, str]] = connection.info.setdefault(_TAKEN, [])
        for lock in _locks(context) if context.compiled is not None else _locks_of_compound(statement):
            if lock in taken:
                continue
            last = max(taken, key=_rank, default=lock)
            assert _rank(last) <= _rank(lock), f"{lock} is locked after {last}: {statement}"
            taken.append(lock)


@lru_cache(maxsize=4096)
def _locks_of_compound(statement: str) -> list[tuple[str, str]]:
    """Return the locks that a compound statement takes (`db/together.py`), in its order."""
    tables = _WRITTEN.findall(statement) if statement.startswith(_COMPOUNDS) else []
    written = (updated or inserted for updated, inserted in tables if inserted != "leases")
    return [(name, "") for name in written if name in LOCK_ORDER]


def _rank(lock: tuple[str, str]) -> tuple[int, int]:
    """Return the position in the lock order of a lock, given as a table and, for `pools`, a row."""
    table, row = lock
    return LOCK_ORDER.index(table), lock_order({"hosts", "floatingips", row}).index(row) if row else 0


def _locks(context: Any) -> list[tuple[str, str]]:
    """Return the locks that a statement takes, as (table, row); a row that it only reads is not locked."""
    return [
        (name, context.compiled_parameters[0].get("pool", "") if name == "pools" else "")
        for name in _locked_tables(context.compiled)
    ]


@lru_cache(maxsize=4096)
def _locked_tables(compiled: Compiled) -> Sequence[str]:
    """Return the tables of the lock order in which a statement locks rows; cached, as it compiles a SELECT again."""
    element = compiled.statement
    if isinstance(element, Select) and element._for_update_arg is not None:
        tables = [each.name for each in element.get_final_froms() if isinstance(each, Table)]
    elif isinstance(element, UpdateBase) and not (isinstance(element, Insert) and element.table.name == "leases"):
        # No other transaction can see, or wait for, a lease that is not yet committed.
        tables = [element.entity_description["table"].name]
    else:
        return ()
    return tuple(name for name in tables if name in LOCK_ORDER)
