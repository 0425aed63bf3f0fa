"""What projects were told of preemptible servers, and which leases start soon, on each database."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest
from sqlalchemy.exc import IntegrityError

from leasehold.db.event_log import each_event, sequence
from leasehold.db.outbox import put_project_event
from leasehold.features.preemption.model import Preemption
from leasehold.features.preemption.store import forget_preemptions, leases_starting, put_preemption, told_preemptions
from leasehold.model.event_log import EventFilter, ServerNews
from tests.db.examples import NOW, hour
from tests.factory import Clock, hosts, make_service, run_until

if TYPE_CHECKING:
    from leasehold.db.store import Database
    from leasehold.model.lease import Lease

TOLD = Preemption("s-1", "größer 😀", "alt", hour(1))


def test_what_was_told_is_read_changed_and_forgotten(db: Database) -> None:
    other = replace(TOLD, server_id="S-1")
    for each in (TOLD, other):
        db.transact(partial(put_preemption, told=each, now=NOW, again=False))
    with pytest.raises(IntegrityError):
        db.transact(lambda connection: put_preemption(connection, TOLD, NOW, again=False))
    later = replace(TOLD, ends_at=hour(2))
    db.transact(lambda connection: put_preemption(connection, later, NOW, again=True))
    with db.reading() as connection:
        assert told_preemptions(connection) == {"s-1": later, "S-1": other}
    db.transact(lambda connection: forget_preemptions(connection, ["s-1", "none"]))
    with db.reading() as connection:
        assert told_preemptions(connection) == {"S-1": other}


def test_its_event_is_the_projects_and_no_users_own(db: Database) -> None:
    db.transact(lambda connection: put_project_event(connection, ServerNews.ENDS, TOLD.project_id, TOLD.payload(), NOW))
    db.transact(lambda connection: sequence(connection, 10))

    def read(wanted: EventFilter) -> list[str | None]:
        with db.reading() as connection:
            return [each.server_id for each in each_event(connection, 0, wanted, 10)]

    assert read(EventFilter("alt")) == read(EventFilter(None)) == ["s-1"]
    assert read(EventFilter("demo")) == read(EventFilter("alt", user_id="")) == []


@pytest.mark.slow
def test_leases_that_start_soon_are_found(database_url: str) -> None:
    with make_service(database_url, clock=Clock(), hosts=("cmp-01", "cmp-02")) as world:
        running = world.active(hosts(), end=9)
        first, second = world.lease(hosts(), start=3, end=4), world.lease(hosts(), start=2, end=3)
        world.delete(world.lease(hosts(), start=5, end=6))
        run_until(world, world.hour(0.1))

        def starting(until: float) -> list[Lease]:
            with world.service.db.reading() as connection:
                return leases_starting(connection, world.hour(until))

        assert [lease.id for lease in starting(1.9)] == []
        assert [lease.id for lease in starting(2)] == [second.id]
        assert [lease.id for lease in starting(8)] == [second.id, first.id]
        assert running.id not in {lease.id for lease in starting(99)}
        assert [held.resource_number for part in starting(2)[0].reservations for held in part.allocations]
