"""Sessions of the console on each database: their rows, and which of them a purge removes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from leasehold.features.console import store as rows
from leasehold.features.console.model import SEEN_EVERY, Session, digest_of, new_secret
from tests.db.examples import NOW

if TYPE_CHECKING:
    from leasehold.db.store import Database


def made(**changes: object) -> Session:
    base = Session(digest_of(new_secret()), "alice", "demo", NOW, NOW, NOW + timedelta(hours=1), sealed="s" * 9000)
    return replace(base, **changes)  # type: ignore[arg-type]


def keep(db: Database, *sessions: Session) -> None:
    for each in sessions:
        db.transact(partial(rows.add_session, new=each))


def test_a_session_is_read_as_it_was_written(db: Database) -> None:
    first, later = made(), made(created_at=NOW + timedelta(seconds=1), project_id="Größe €")
    keep(db, later, first, made(user_id="Alice"))
    with db.reading() as connection:
        assert rows.find_session(connection, first.digest) == first
        assert rows.find_session(connection, digest_of("else")) is None
        assert rows.list_sessions(connection, "alice") == [first, later]
    assert db.transact(partial(rows.delete_session, digest=first.digest))
    assert not db.transact(partial(rows.delete_session, digest=first.digest))


def test_that_a_person_is_there_is_written_once_a_minute(db: Database) -> None:
    session = made()
    keep(db, session)
    found = []
    for seconds in (59, 60, 90, 120):
        db.transact(partial(rows.note_seen, digest=session.digest, now=NOW + timedelta(seconds=seconds)))
        with db.reading() as connection:
            now = rows.find_session(connection, session.digest)
        assert now is not None
        found.append((now.seen_at - NOW).total_seconds())
    assert found == [0, 60, 60, 120]
    assert timedelta(seconds=60) == SEEN_EVERY


def test_a_purge_removes_what_is_over_and_nothing_else(db: Database) -> None:
    goes_on, idle, over = made(), made(seen_at=NOW - timedelta(hours=1)), made(expires_at=NOW)
    keep(db, goes_on, idle, over)
    assert db.transact(partial(rows.purge_sessions, now=NOW, seen_before=None)) == 1
    assert db.transact(partial(rows.purge_sessions, now=NOW, seen_before=NOW - timedelta(minutes=31))) == 1
    with db.reading() as connection:
        assert rows.list_sessions(connection, "alice") == [goes_on]
