"""The outbox: events in the order in which they happened; nothing of a rolled-back transaction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from leasehold.db.outbox import put_event
from leasehold.db.tables import outbox
from leasehold.model.states import LeaseStatus
from tests.db.examples import NOW, count, hour, lease, write

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine, Row

    from leasehold.db.store import Database


def entries(db: Database) -> list[Row[Any]]:
    with db.reading() as connection:
        return list(connection.execute(select(outbox).order_by(outbox.c.id)))


def test_entries_keep_the_order_in_which_they_were_written(db: Database) -> None:
    """This includes entries of the same moment, and of a clock that was set back."""
    for number, moment in enumerate((1, 1, 0, 2)):
        db.transact(lambda connection: put_event(connection, f"lease.{number}", lease(), hour(moment)))  # noqa: B023 - runs at once.
    assert [entry.event_type for entry in entries(db)] == ["lease.0", "lease.1", "lease.2", "lease.3"]


def test_an_entry_shows_the_state_that_it_left_behind(db: Database) -> None:
    happened = replace(lease(), status=LeaseStatus.ACTIVE)
    db.transact(lambda connection: put_event(connection, "lease.event.start_lease", happened, NOW))
    [entry] = entries(db)
    assert (entry.lease_id, entry.project_id, entry.event_type) == (happened.id, "demo", "lease.event.start_lease")
    assert entry.created_at == NOW
    [part] = happened.reservations
    assert entry.payload == {
        "lease_id": happened.id,
        "user_id": "alice",
        "project_id": "demo",
        "trust_id": None,
        "name": "lease",
        "start_date": "2031-05-01T10:00:00+00:00",
        "end_date": "2031-05-01T11:00:00+00:00",
        "status": "ACTIVE",
        "degraded": False,
        "reservations": [{"id": part.id, "resource_type": "physical:host", "status": "pending"}],
        "events": [{"id": each.id, "event_type": each.type, "status": "UNDONE"} for each in happened.events],
    }


def test_what_was_rolled_back_never_happened(db: Database, engine: Engine) -> None:
    def work(connection: Connection) -> None:
        put_event(connection, "lease.create", write(connection), NOW)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        db.transact(work)
    assert count(engine, outbox) == 0
