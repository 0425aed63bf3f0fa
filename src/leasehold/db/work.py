"""Tasks as they are, for whoever asks whether a lease or a resource has work: no claim is made here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlalchemy import select

from leasehold.db.dialects import rows_among
from leasehold.db.tables import tasks

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from sqlalchemy import Connection

_WORK = (tasks.c.due_at, tasks.c.claim_until, tasks.c.attempts, tasks.c.refusals, tasks.c.last_error)


@dataclass(frozen=True, slots=True)
class Work:
    """A task: when it is due, until when a worker has claimed it, and how often it failed.

    `refusals` counts the tries that the cloud refused, `last_error` is the error of the last try.
    """

    due_at: datetime | None
    claim_until: datetime | None
    attempts: int = 0
    refusals: int = 0
    last_error: str | None = None

    def claimed(self, now: datetime) -> bool:
        """Say whether a worker has claimed the task."""
        return self.claim_until is not None and self.claim_until > now

    def busy(self, now: datetime) -> bool:
        """Say whether the task is claimed, is due, or waits for another try."""
        return self.claimed(now) or (self.due_at is not None and (self.due_at <= now or self.attempts > 0))


IDLE = Work(None, None)


def work_for(connection: Connection, kind: str, subjects: Collection[str] | None = None) -> dict[str, Work]:
    """Return the tasks of a kind by their subject, which has one of a kind; with `subjects`, only theirs."""
    query = select(tasks.c.subject, *_WORK).where(tasks.c.kind == kind)
    rows = connection.execute(query) if subjects is None else rows_among(connection, query, tasks.c.subject, subjects)
    return {subject: Work(*values) for subject, *values in rows}


def work_of(connection: Connection, kind: str, subject: str) -> Work | None:
    """Return the task of one subject, or None when there is none."""
    row = connection.execute(select(*_WORK).where(tasks.c.kind == kind, tasks.c.subject == subject)).first()
    return None if row is None else Work(*row)
