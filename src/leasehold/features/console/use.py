"""Begin, find and end sessions of the web console (decision 0096)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from leasehold.features.console import store as rows
from leasehold.features.console.model import SEEN_EVERY, Ended, Session, SessionEndedError, digest_of
from leasehold.model.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

    from sqlalchemy import Connection

    from leasehold.leasing.service import Service

MOST: Final = 50
"""Sessions of a user; a further one ends the oldest."""


def begin_session(
    service: Service, new: Session, replaced: str | None, idle: timedelta, *, continues: bool = False
) -> None:
    """Write a session, in place of the one with the secret `replaced`.

    Removes those that are over, and the oldest of the user beyond `MOST`. Raises SessionEndedError if the new one
    `continues` the one before and that is gone.
    """

    def write(connection: Connection) -> None:
        _purge(service, connection, idle)
        there = replaced is not None and rows.delete_session(connection, digest_of(replaced))
        if continues and not there:
            raise SessionEndedError
        for old in rows.list_sessions(connection, new.user_id)[: -(MOST - 1)]:
            rows.delete_session(connection, old.digest)
        rows.add_session(connection, new)

    service.db.transact(write)


def find_session(service: Service, secret: str, idle: timedelta) -> Session | Ended:
    """Return the session of a secret; if it is over, remove it and return why there is none."""
    with service.db.reading() as connection:
        found = rows.find_session(connection, digest_of(secret))
    if found is None:
        return Ended.NONE
    ended = found.ended(service.now(), idle)
    if ended is None:
        return found
    end_session(service, secret)
    return ended


def note_seen(service: Service, session: Session) -> None:
    """Note that the person of a session is there, if that was not noted within a minute."""
    now = service.now()
    if session.seen_at + SEEN_EVERY <= now:
        service.db.transact(lambda connection: rows.note_seen(connection, session.digest, now))


def end_session(service: Service, secret: str) -> None:
    """Remove the session of a secret, if it is there."""
    service.db.transact(lambda connection: rows.delete_session(connection, digest_of(secret)))


def list_sessions(service: Service, user_id: str, idle: timedelta) -> Sequence[Session]:
    """Return the sessions of a user that are not over, oldest first."""
    with service.db.reading() as connection:
        found = rows.list_sessions(connection, user_id)
    now = service.now()
    return [each for each in found if each.ended(now, idle) is None]


def end_named(service: Service, user_id: str, name: str) -> None:
    """Remove the session of a user that has this name; raises NotFoundError."""

    def write(connection: Connection) -> bool:
        digests = [each.digest for each in rows.list_sessions(connection, user_id) if each.name == name]
        return any(rows.delete_session(connection, digest) for digest in digests)

    if not service.db.transact(write):
        raise NotFoundError("session_id", name)


def purge_sessions(service: Service, idle: timedelta) -> int:
    """Remove the sessions that are over, and return how many."""
    return service.db.transact(lambda connection: _purge(service, connection, idle))


def _purge(service: Service, connection: Connection, idle: timedelta) -> int:
    now = service.now()
    return rows.purge_sessions(connection, now, now - idle - SEEN_EVERY if idle else None)
