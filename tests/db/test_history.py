"""Purging removes all expired history and nothing else, while the service keeps running."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import func, insert, select

from leasehold.cloud.sandbox import seed
from leasehold.db.engine import reading, writing
from leasehold.db.past import history
from leasehold.db.past.history import purge
from leasehold.db.tables import dead_letters, idempotency_keys, leases, outbox, resource_properties, resources, tasks
from leasehold.features.series.model import SeriesDraft
from leasehold.features.series.store import series
from leasehold.features.series.use import delete_series, make_series
from leasehold.features.subscription.model import ChannelName
from leasehold.features.subscription.use import subscribe
from leasehold.features.timeline.model import Timeline
from leasehold.features.timeline.rows import Eyes
from leasehold.features.timeline.use import TimelineQuestion, timeline_of
from leasehold.leasing.steps.lost_claims import LATE
from leasehold.model.caller import Caller, Sight
from leasehold.model.resource import HOST
from leasehold.model.states import LeaseStatus
from leasehold.model.windows import Window
from tests.factory import DEMO, START, Clock, World, claim_one, hosts, open_service, remove_host, run_for, run_manager

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from sqlalchemy import Engine, Table

    from leasehold.model.lease import Lease

pytestmark = pytest.mark.slow

OPERATOR = Eyes(Caller("root", "demo"), Sight(), everything=True)
A_MONTH = timedelta(days=30)
BELONGS_TO_A_LEASE = (
    "leases",
    "reservations",
    "allocations",
    "events",
    "tasks",
    "outbox",
    "lease_states",
    "idempotency_keys",
)


@pytest.fixture
def world(engine: Engine) -> Iterator[World]:
    """Yield a service with two hosts, on an empty database."""
    seed.plant(engine)
    world = open_service(engine.url.render_as_string(hide_password=False), clock=Clock())
    world.enrol("cmp-01", "cmp-02", rack="a1")
    yield world
    world.engine.dispose()


def count(world: World, table: Table) -> int:
    with reading(world.engine) as connection:
        return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def set_due(world: World, about: Sequence[Lease], due_at: datetime | None) -> None:
    """Set when the tasks of these leases are due; a lease with a due task is not purged."""
    with writing(world.engine) as connection:
        mine = tasks.c.subject.in_([lease.id for lease in about])
        connection.execute(tasks.update().where(mine).values(due_at=due_at))


def purged(world: World, *, dry_run: bool = False) -> dict[str, int]:
    """Purge what was over a month ago; return the number of removed rows, only of the tables that lost any.

    Events of resources, which go by their age alone (`test_event_log.py`), are left out.
    """
    world.execute(outbox.delete().where(outbox.c.resource_id.is_not(None)))
    counts = purge(world.engine, world.now(), A_MONTH, dry_run=dry_run)
    return {name: number for name, number in counts.items() if number}


def test_leases_that_were_deleted_or_ended_go_with_all_that_belongs_to_them(world: World) -> None:
    ended = world.lease(hosts(), end=1, key="first")
    deleted = world.lease(hosts(), start=5, end=6, key="second")
    run_for(world, hours=2)
    world.delete(deleted)
    run_manager(world)
    assert world.get(ended).status is LeaseStatus.TERMINATED
    run_for(world, days=31)
    alive = world.lease(hosts(), start=24 * 40, end=24 * 41, key="third")
    gone = purged(world)
    assert set(gone) == set(BELONGS_TO_A_LEASE)
    assert (gone["leases"], gone["reservations"], gone["tasks"], gone["idempotency_keys"]) == (2, 2, 2, 2)
    assert world.get(alive).reservations[0].allocations
    assert count(world, leases) == count(world, tasks) == count(world, idempotency_keys) == 1
    assert purged(world) == {}


def test_series_go_when_they_were_deleted_long_ago(world: World) -> None:
    window = Window(world.hour(24 * 40), world.hour(24 * 40 + 1))
    draft = SeriesDraft("course", window, "FREQ=DAILY;COUNT=1", "UTC", (hosts(),))
    old, young, alive = (make_series(world.service, DEMO, replace(draft, name=name)).id for name in "abc")
    delete_series(world.service, old)
    run_for(world, days=2)
    delete_series(world.service, young)
    run_for(world, days=29)
    assert purged(world, dry_run=True)["series"] == purged(world)["series"] == 1
    with reading(world.engine) as connection:
        assert {row.id for row in connection.execute(series.select())} == {young, alive}


def test_a_dry_run_counts_what_would_go_and_removes_nothing(world: World) -> None:
    world.lease(hosts(2), end=1)
    run_for(world, hours=2)
    remove_host(world.service, world.hosts["cmp-02"].id)
    run_for(world, days=31)
    said = purged(world, dry_run=True)
    assert said["resources"] == said["leases"] == 1
    assert purged(world, dry_run=True) == said
    assert purged(world) == said


def test_what_is_younger_stays(world: World) -> None:
    lease = world.lease(hosts(), end=1)
    assert world.hosts["cmp-02"].number not in {held.resource_number for held in world.part(lease).allocations}
    run_for(world, hours=2)
    remove_host(world.service, world.hosts["cmp-02"].id)
    run_for(world, days=29)
    assert purged(world) == {}
    run_for(world, days=2)
    gone = purged(world)
    assert gone["leases"] == gone["resources"] == 1


def test_a_lease_that_still_holds_something_stays_however_old_it_is(world: World) -> None:
    lease = world.lease(hosts(), end=1)
    run_manager(world)
    world.delete(lease)
    # No manager runs, so nothing releases the host.
    world.clock.advance(days=90)
    assert purged(world) == {}
    run_manager(world)
    assert purged(world) == {}
    world.clock.advance(days=31)
    assert purged(world)["leases"] == 1


def test_a_lease_that_somebody_works_on_or_has_to_stays(world: World) -> None:
    world.delete(world.lease(hosts(), start=5, end=6))
    world.clock.advance(days=31)
    assert purged(world) == {}
    assert claim_one(world) is not None
    assert purged(world) == {}


def test_a_lease_that_missed_its_start_goes_once_its_end_was_carried_out(world: World) -> None:
    lease = world.lease(hosts(), end=1)
    # No manager runs, so neither the start nor the end is executed.
    world.clock.advance(days=31)
    assert purged(world) == {}
    run_manager(world)
    assert purged(world) == {}
    assert world.get(lease).status is LeaseStatus.ERROR
    world.clock.advance(days=31)
    assert purged(world)["leases"] == 1


def test_a_removed_host_goes_when_the_last_lease_on_it_is_gone(world: World) -> None:
    ended = world.lease(hosts(2), end=1)
    run_for(world, hours=2)
    remove_host(world.service, world.hosts["cmp-02"].id)
    run_for(world, days=20)
    late = world.lease(hosts(), start=24 * 20 + 3, end=24 * 20 + 4)
    run_for(world, days=12)
    set_due(world, [ended], START)
    assert purged(world) == {}
    set_due(world, [ended], None)
    gone = purged(world)
    assert (gone["leases"], gone["resources"], gone["resource_properties"]) == (1, 1, 1)
    assert world.get(late).status is LeaseStatus.TERMINATED
    assert count(world, resources) == count(world, resource_properties) == 1


def test_a_removed_host_goes_when_its_task_is_done_and_its_number_is_never_given_again(world: World) -> None:
    last = world.hosts["cmp-02"]
    remove_host(world.service, last.id)
    world.clock.advance(days=31)
    assert "resources" not in purged(world)
    run_manager(world)
    assert purged(world)["resources"] == 1
    world.enrol("cmp-02")
    assert world.hosts["cmp-02"].number > last.number


def test_many_go_in_batches_and_old_ones_that_stay_are_in_nobodys_way(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "BATCH", 2)
    made = [world.lease(hosts(), start=hour, end=hour + 1) for hour in range(0, 14, 2)]
    for lease in made:
        world.delete(lease)
    run_manager(world)
    world.clock.advance(days=31)
    set_due(world, sorted(made, key=lambda lease: lease.id)[:3], START)
    assert purged(world)["leases"] == 4
    assert count(world, leases) == 3


def test_a_service_goes_on_deciding_while_and_after_old_things_go(world: World) -> None:
    world.lease(hosts(2), end=1)
    run_for(world, days=31)
    remove_host(world.service, world.hosts["cmp-02"].id)
    run_manager(world)
    world.lease(hosts(), start=24 * 31, end=24 * 32)
    run_for(world, days=31)
    assert purged(world)["resources"] == 1
    lease = world.lease(hosts(), start=24 * 62 + 1, end=24 * 62 + 2)
    assert {held.resource_number for held in world.part(lease).allocations} == {world.hosts["cmp-01"].number}


def test_rows_of_another_kind_of_work_stay_while_they_are_due(world: World) -> None:
    with writing(world.engine) as connection:
        connection.execute(insert(tasks), {"kind": "other", "subject": "x", "due_at": START, "attempts": 0})
    world.clock.advance(days=90)
    assert purged(world) == {}


def test_work_of_every_kind_for_a_lease_goes_with_it(world: World) -> None:
    late = world.lease(hosts(), end=1)
    with writing(world.engine) as connection:
        connection.execute(insert(tasks), {"kind": f"{LATE}lease", "subject": late.id, "attempts": 0})
    run_for(world, hours=2)
    assert count(world, tasks) == 2
    run_for(world, days=31)
    assert purged(world)["tasks"] == 2
    assert count(world, tasks) == 0


def test_old_dead_letters_go_by_their_age(world: World) -> None:
    """A receiver that refuses something now and then is never suspended, so its list would grow for ever."""
    made = subscribe(world.service, DEMO, ChannelName.WEBHOOK, "https://hooks.example.org/")
    old, young = world.now() - A_MONTH - timedelta(seconds=1), world.now() - A_MONTH
    row = {"subscription_id": made.id, "event_id": "1-0", "event_type": "lease.create", "lease_id": "", "error": "no"}
    for position, died_at in enumerate((old, old, young), start=1):
        world.execute(insert(dead_letters).values(position=position, died_at=died_at, **row))
    assert purged(world, dry_run=True) == purged(world) == {"dead_letters": 2}
    assert count(world, dead_letters) == 1
    assert purged(world) == {}


@pytest.mark.parametrize("record", [False, True], ids=["the leases alone", "their record too"])
def test_a_timeline_that_showed_what_was_purged_has_changed(world: World, *, record: bool) -> None:
    world.lease(hosts(), end=1, name="long ago")
    run_for(world, hours=2)
    run_for(world, days=31)
    question = TimelineQuestion((HOST,), Window(START, START + timedelta(days=1)))
    before = timeline_of(world.service, OPERATOR, question)
    assert isinstance(before, Timeline)
    assert [each.name for each in before.leases] == ["long ago"]
    assert timeline_of(world.service, OPERATOR, replace(question, known=before.tag)) == before.tag
    purge(world.engine, world.now(), A_MONTH, dry_run=False, record=record)
    after = timeline_of(world.service, OPERATOR, replace(question, known=before.tag))
    assert isinstance(after, Timeline)
    assert [each.name for each in after.leases] == ([] if record else [None])
    if not record:
        purge(world.engine, world.now(), A_MONTH, dry_run=False, record=True)
        last = timeline_of(world.service, OPERATOR, replace(question, known=after.tag))
        assert isinstance(last, Timeline)
        assert last.bars == []
