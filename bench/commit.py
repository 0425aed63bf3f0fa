"""The least possible cost of granting a lease: one durable commit of the same rows by the bare driver."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from sqlalchemy import NullPool, create_engine

from leasehold.features.registry import all_tables

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLES: Final = ("leases", "reservations", "events", "allocations", "tasks", "outbox")
COUNTED: Final = frozenset({"allocations", "tasks", "outbox"})
"""Tables whose keys the database generates."""


class Committer:
    """Copies the rows of a lease, under new ids, in one transaction."""

    def __init__(self, connection: Any) -> None:
        """Write through this connection of MariaDB's or PostgreSQL's driver."""
        self._connection = connection

    def again(self, lease_id: str) -> float:
        """Copy the lease and return the seconds from the first statement to the end of the commit."""
        rows = self._copied(lease_id)
        begun = time.perf_counter()
        cursor = self._connection.cursor()
        cursor.execute("UPDATE pools SET generation = generation + 1 WHERE name = 'hosts'")
        for table, values in rows.items():
            cursor.executemany(_insert(table, values[0]), [list(value.values()) for value in values])
        self._connection.commit()
        return time.perf_counter() - begun

    def _copied(self, lease_id: str) -> dict[str, list[dict[str, Any]]]:
        """Return the rows with new ids, and with a generation that no calendar reads."""
        renamed: dict[Any, str] = {}
        copies = {}
        cursor = self._connection.cursor()
        for table in TABLES:
            column = {"leases": "id", "tasks": "subject"}.get(table, "lease_id")
            cursor.execute(f"SELECT * FROM {table} WHERE {column} = %s", [lease_id])  # noqa: S608 - names of ours
            names = [each[0] for each in cursor.description]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
            for row in rows:
                for computed in (each.name for each in all_tables().tables[table].c if each.computed is not None):
                    del row[computed]
                if table in COUNTED:
                    del row["id"]
                else:
                    renamed[row["id"]] = str(uuid4())
                if table == "allocations":
                    row["generation"] = 0
            copies[table] = [{key: _value(value, renamed) for key, value in row.items()} for row in rows]
        self._connection.commit()
        return copies


def _value(value: Any, renamed: dict[Any, str]) -> Any:
    """Return the value to write, JSON as text."""
    return json.dumps(value) if isinstance(value, dict | list) else renamed.get(value, value)


def _insert(table: str, row: dict[str, Any]) -> str:
    return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(['%s'] * len(row))})"  # noqa: S608 - as above


@contextmanager
def committer(url: str) -> Iterator[Committer]:
    """Yield a Committer with a separate connection."""
    engine = create_engine(url, poolclass=NullPool)
    connection = engine.raw_connection()
    try:
        yield Committer(connection)
    finally:
        connection.close()
        engine.dispose()
