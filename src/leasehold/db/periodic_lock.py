"""Turns: something that is done every so often, by one of all managers (a row of `tasks` that is never due).

Whoever takes the turn has it until the next one is open, and that moment, to the microsecond, is what tells one taker
from another. Nothing has to be given back: a manager that dies in its turn is followed by whoever takes the next one,
which begins from the beginning.
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
    """Write the row where there is none; IntegrityError when somebody else does so at the same moment."""
    if connection.execute(select(tasks.c.id).where(*_row(kind))).first() is None:
        connection.execute(insert(tasks), {"kind": kind, "subject": SUBJECT, "attempts": 0})


def take_periodic_lock(connection: Connection, kind: str, now: datetime, until: datetime) -> bool:
    """Take the turn if it is open, until a moment; say whether it is ours. The update is the compare-and-swap."""
    return _take(connection, kind, until, or_(tasks.c.claim_until.is_(None), tasks.c.claim_until <= now))


def keep_periodic_lock(connection: Connection, kind: str, mine: datetime, until: datetime) -> bool:
    """Have the turn, which is ours until `mine`, for longer; say whether it still was ours."""
    return _take(connection, kind, until, tasks.c.claim_until == mine)


def _take(connection: Connection, kind: str, until: datetime, condition: ColumnElement[bool]) -> bool:
    """Nobody is written down as claiming the row: a turn is nothing that anybody has to wait for."""
    take = update(tasks).where(*_row(kind), condition).values(claim_until=until)
    return connection.execute(take).rowcount == 1


def _row(kind: str) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return tasks.c.kind == kind, tasks.c.subject == SUBJECT
