"""Locks for periodic work that only one of all managers does (each is a row of `tasks` that is never due).

The manager that takes the lock has it until the next round may begin. That moment, to the microsecond, identifies the
manager. The lock is never released: if a manager dies during its round, another one takes the lock for the next round
and starts the work from the beginning.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import insert, or_, select, update

from leasehold.db.tables import tasks

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy import ColumnElement, Connection

SUBJECT = "turn"


def add_periodic_lock(connection: Connection, kind: str) -> None:
    """Write the row if there is none; raises IntegrityError when another process does so at the same moment."""
    if connection.execute(select(tasks.c.id).where(*_row(kind))).first() is None:
        connection.execute(insert(tasks), {"kind": kind, "subject": SUBJECT, "attempts": 0})


def take_periodic_lock(connection: Connection, kind: str, now: datetime, until: datetime) -> bool:
    """Take the lock until a moment if it is free; say whether it is ours now. The update is a compare-and-swap."""
    return _take(connection, kind, until, or_(tasks.c.claim_until.is_(None), tasks.c.claim_until <= now))


def keep_periodic_lock(connection: Connection, kind: str, mine: datetime, until: datetime) -> bool:
    """Extend the lock, which was ours until `mine`; say whether it still is ours."""
    return _take(connection, kind, until, tasks.c.claim_until == mine)


def free_periodic_lock(connection: Connection, kind: str, now: datetime) -> None:
    """Let the next manager that looks take the lock, whoever has it."""
    connection.execute(update(tasks).where(*_row(kind), tasks.c.claim_until > now).values(claim_until=now))


def _take(connection: Connection, kind: str, until: datetime, condition: ColumnElement[bool]) -> bool:
    """Set `claim_until` if the condition holds; `claimed_by` stays NULL, so idle checks ignore this row."""
    take = update(tasks).where(*_row(kind), condition).values(claim_until=until)
    return connection.execute(take).rowcount == 1


def _row(kind: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return tasks.c.kind == kind, tasks.c.subject == SUBJECT
