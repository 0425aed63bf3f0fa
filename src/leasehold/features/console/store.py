"""Sessions of the web console: their rows (decision 0096)."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

from sqlalchemy import Column, String, Text, delete, insert, select, update

from leasehold.db.tables import table
from leasehold.db.types import UtcDateTime
from leasehold.features.console.model import SEEN_EVERY, Session

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from sqlalchemy import Connection, Row

# `digest` is that of the secret in the browser's cookie; only that secret opens `sealed` (decision 0096).
sessions = table(
    "sessions",
    Column("digest", String(64), primary_key=True),
    Column("user_id", String(255), nullable=False, index=True),
    Column("project_id", String(255), nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("seen_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime, nullable=False, index=True),
    Column("sealed", Text, nullable=False),
)

_NAMES = tuple(each.name for each in fields(Session))


def add_session(connection: Connection, new: Session) -> None:
    """Write a session."""
    connection.execute(insert(sessions), asdict(new))


def find_session(connection: Connection, digest: str) -> Session | None:
    """Return a session, or None."""
    row = connection.execute(select(sessions).where(sessions.c.digest == digest)).first()
    return None if row is None else _session(row)


def list_sessions(connection: Connection, user_id: str) -> Sequence[Session]:
    """Return the sessions of a user, oldest first."""
    query = select(sessions).where(sessions.c.user_id == user_id)
    return list(map(_session, connection.execute(query.order_by(sessions.c.created_at, sessions.c.digest))))


def note_seen(connection: Connection, digest: str, now: datetime) -> None:
    """Note that the person of a session is there, unless that was noted shortly before."""
    long_ago = sessions.c.seen_at <= now - SEEN_EVERY
    connection.execute(update(sessions).where(sessions.c.digest == digest, long_ago).values(seen_at=now))


def delete_session(connection: Connection, digest: str) -> bool:
    """Remove a session; say whether it was there."""
    return connection.execute(delete(sessions).where(sessions.c.digest == digest)).rowcount == 1


def purge_sessions(connection: Connection, now: datetime, seen_before: datetime | None) -> int:
    """Remove the sessions whose time is over, and those whose person was last there before a moment; return how many.

    Deletes in the order of the key, so that two purges at the same time do not wait for each other crosswise.
    """
    over = sessions.c.expires_at <= now
    if seen_before is not None:
        over |= sessions.c.seen_at <= seen_before
    found = connection.execute(select(sessions.c.digest).where(over).order_by(sessions.c.digest)).scalars()
    return sum(delete_session(connection, digest) for digest in list(found))


def _session(row: Row[Any]) -> Session:
    return Session(**{name: row._mapping[name] for name in _NAMES})  # noqa: SLF001 - SQLAlchemy's public name for it.
