"""The external service is told of each end until it acknowledges, and no end waits for it."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import select

from leasehold.db.past.history import purge
from leasehold.db.tables import tasks
from leasehold.db.task import END_NOTICE
from leasehold.leasing.end_notices import deliver_end_notice, note_end
from tests.approver import ALLOW, Approver, approving, stored
from tests.factory import World, hosts, run_for, run_manager
from tests.jobs import job_of
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Row

    from tests.serving import Answer, Asked

DOWN: Answer = (503, {}, b"")


@pytest.fixture
def approver() -> Iterator[Approver]:
    with approving() as made:
        yield made


@pytest.fixture
def ask(world: World, approver: Approver) -> World:
    """Return a service that tells the approver of ends, and asks it nothing."""
    return world.with_settings(leases=approver.settings(base=None, on_end=f"{approver.url}/on-end"))


def due(world: World) -> list[Row[tuple[object, ...]]]:
    with world.service.db.reading() as connection:
        return list(connection.execute(select(tasks).where(tasks.c.kind == END_NOTICE)))


def deliver(world: World) -> None:
    """Do what the manager's thread does in one run."""
    job_of(world.service, "end notices").run_once()


@pytest.mark.parametrize("status", [204, 200])
def test_an_end_is_told_once_with_the_lease_and_what_it_had(ask: World, approver: Approver, status: int) -> None:
    lease = ask.active(hosts(2), end=1)
    had = stored(ask, lease, "ACTIVE")["reservations"][0]["allocations"]
    run_for(ask, hours=1)
    assert ask.status(lease) == "TERMINATED"
    approver.answer = (status, {}, b"")
    deliver(ask)
    deliver(ask)
    assert approver.paths == ["/on-end"]
    told = approver.body()["lease"]
    assert told == stored(ask, lease, "TERMINATED")
    assert told["end_date"] == "2031-05-01T10:00:00"
    assert told["reservations"][0]["allocations"] == had
    assert len(had) == 2
    assert approver.body()["context"].items() >= {"user_id": "alice", "project_id": "demo"}.items()
    assert due(ask) == []


def test_a_manager_that_stops_tells_of_no_more_ends(ask: World, approver: Approver) -> None:
    for _ in range(3):
        ask.active(hosts(), end=1)
    run_for(ask, hours=1)
    thread = job_of(ask.service, "end notices")

    def stop(_: Asked) -> Answer:
        thread.begin_to_stop()
        return ALLOW

    approver.answer = stop
    thread.run_once()
    assert (len(approver.asked), len(due(ask))) == (1, 2)


@pytest.mark.parametrize("status", ["PENDING", "ACTIVE"])
def test_a_lease_that_is_deleted_before_its_end_has_ended(ask: World, approver: Approver, status: str) -> None:
    lease = ask.lease(hosts(2), start=0 if status == "ACTIVE" else 1, end=2)
    had = set(ask.holds(lease))
    run_manager(ask)
    assert ask.status(lease) == status
    ask.delete(lease)
    run_manager(ask)
    deliver(ask)
    told = approver.body()["lease"]
    assert (told["id"], len(approver.asked)) == (lease.id, 1)
    assert {each["hypervisor_hostname"] for each in told["reservations"][0]["allocations"]} == had
    assert due(ask) == []


def test_a_deletion_after_the_end_is_not_told(ask: World, approver: Approver) -> None:
    lease = ask.active(hosts(), end=1)
    run_for(ask, hours=1)
    deliver(ask)
    ask.delete(lease)
    run_manager(ask)
    deliver(ask)
    assert len(approver.asked) == 1


def test_a_service_that_is_down_delays_no_end_and_is_told_when_it_is_back(ask: World, approver: Approver) -> None:
    approver.answer = DOWN
    first, second = ask.active(hosts(), end=1), ask.active(hosts(), end=2)
    run_for(ask, hours=1)
    for tries in (1, 2, 3):
        deliver(ask)
        assert len(approver.asked) == tries
        [task] = due(ask)
        assert task.attempts == tries
        assert "answered 503" in task.last_error
        # Not due before the pause is over.
        deliver(ask)
        assert len(approver.asked) == tries
        ask.clock.set(task.due_at)
    run_for(ask, hours=1)
    assert [ask.status(lease) for lease in (first, second)] == ["TERMINATED"] * 2
    approver.answer = ALLOW
    deliver(ask)
    assert [approver.body(position)["lease"]["id"] for position in (-2, -1)] == [first.id, second.id]
    assert due(ask) == []
    audit(ask)


def test_what_was_sent_and_not_recorded_is_sent_again_by_another_manager(
    world: World, ask: World, approver: Approver
) -> None:
    """A manager that is suspended after its claim has run out; it must not take away the other one's work."""
    ask.active(hosts(), end=1)
    run_for(ask, hours=1)

    def suspend(_: Asked) -> Answer:
        if len(approver.asked) == 1:
            ask.clock.advance(hours=1)
            other = world.with_settings(leases=ask.service.settings.leases)
            assert deliver_end_notice(other.service)
        return ALLOW

    approver.answer = suspend
    deliver(ask)
    assert len(approver.asked) == 2
    assert due(ask) == []


def test_an_end_that_comes_again_during_the_delivery_is_told_again(ask: World, approver: Approver) -> None:
    """An end that failed was withdrawn by an amendment, and comes again before the first one is acknowledged."""
    lease = ask.active(hosts(), end=1)
    run_for(ask, hours=1)

    def again(_: Asked) -> Answer:
        if len(approver.asked) == 1:
            ask.clock.advance(seconds=1)
            ask.service.db.transact(lambda connection: note_end(ask.service, connection, lease, ask.now()))
        return ALLOW

    approver.answer = again
    deliver(ask)
    assert len(approver.asked) == 2
    assert due(ask) == []


def test_two_managers_do_not_send_the_same_message_at_the_same_time(
    world: World, ask: World, approver: Approver
) -> None:
    ask.active(hosts(), end=1)
    run_for(ask, hours=1)

    def meanwhile(_: Asked) -> Answer:
        other = world.with_settings(leases=ask.service.settings.leases)
        assert not deliver_end_notice(other.service)
        return ALLOW

    approver.answer = meanwhile
    deliver(ask)
    assert len(approver.asked) == 1


def test_an_undelivered_message_keeps_its_lease_from_being_purged(ask: World, approver: Approver) -> None:
    approver.answer = DOWN
    lease = ask.active(hosts(), end=1)
    run_for(ask, hours=1)
    deliver(ask)
    ask.clock.advance(days=40)
    assert purge(ask.engine, ask.now(), timedelta(days=30), dry_run=False)["leases"] == 0
    approver.answer = ALLOW
    deliver(ask)
    assert approver.body()["lease"]["id"] == lease.id
    assert purge(ask.engine, ask.now(), timedelta(days=30), dry_run=False)["leases"] == 1


def test_messages_are_dropped_when_there_is_nobody_to_tell_any_more(
    world: World, ask: World, approver: Approver, caplog: pytest.LogCaptureFixture
) -> None:
    ask.active(hosts(), end=1)
    run_for(ask, hours=1)
    silent = world.with_settings(leases=approver.settings(base=None, check_create=f"{approver.url}/only"))
    deliver(silent)
    assert due(ask) == []
    assert approver.asked == []
    assert "not configured" in caplog.text
