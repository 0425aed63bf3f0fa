"""Records every status change with database triggers, and checks it against the contract (lifecycle §1).

The table here is independent of `leasehold.model.transitions`, which it checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text

from leasehold.db.engine import reading, writing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Engine

ALLOWED: Mapping[str, Mapping[str, str]] = {
    "leases": {
        "PENDING": "STARTING TERMINATING DELETING",
        "STARTING": "ACTIVE ERROR TERMINATING DELETING",
        "ACTIVE": "TERMINATING DELETING",
        "TERMINATING": "TERMINATED ERROR DELETING",
        "TERMINATED": "DELETING",
        # The manager retries failed work (decision 0026).
        "ERROR": "STARTING ACTIVE TERMINATING TERMINATED DELETING",
        "DELETING": "",
        "IN_PROGRESS": "PENDING ERROR TIMEDOUT DELETING",
        "TIMEDOUT": "DELETING",
        "OFFERED": "PENDING DELETING",
    },
    "reservations": {
        "pending": "active error deleted",
        "active": "error deleted",
        "error": "pending active deleted",
        "deleted": "",
    },
    "start_lease": {
        "UNDONE": "IN_PROGRESS DONE ERROR",
        "IN_PROGRESS": "DONE ERROR",
        "ERROR": "IN_PROGRESS DONE",
        "DONE": "",
    },
    # ERROR also says that a lease ended without what was asked for before its end, as servers that were to be shelved.
    "before_end_lease": {
        "UNDONE": "IN_PROGRESS ERROR",
        "IN_PROGRESS": "DONE ERROR UNDONE",
        "ERROR": "DONE UNDONE",
        "DONE": "UNDONE ERROR",
    },
    # A lease that waited and was never granted has nothing to end.
    "end_lease": {"UNDONE": "IN_PROGRESS DONE", "IN_PROGRESS": "DONE ERROR", "ERROR": "DONE", "DONE": ""},
}

_NOTE = """
CREATE TRIGGER note_{table} AFTER UPDATE OF status ON {table} WHEN old.status IS NOT new.status
BEGIN INSERT INTO moves VALUES ({what}, old.status, new.status); END
"""


def note_moves(engine: Engine) -> None:
    """Add triggers to an SQLite database that record each status change."""
    with writing(engine) as connection:
        connection.execute(text("CREATE TABLE moves (what TEXT, old TEXT, new TEXT)"))
        for table, what in (("leases", "'leases'"), ("reservations", "'reservations'"), ("events", "new.type")):
            connection.execute(text(_NOTE.format(table=table, what=what)))


def noted_moves(engine: Engine) -> set[tuple[str, str, str]]:
    """Return the recorded status changes, as (what, old, new)."""
    with reading(engine) as connection:
        return {(row.what, row.old, row.new) for row in connection.execute(text("SELECT DISTINCT * FROM moves"))}


def forbidden_moves(engine: Engine) -> list[tuple[str, str, str]]:
    """Return the recorded status changes that the contract does not allow."""
    return sorted(move for move in noted_moves(engine) if move[2] not in ALLOWED[move[0]][move[1]].split())
