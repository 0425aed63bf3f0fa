"""Leases that wait, on each database: what is kept of them, who is next, and that many managers grant a host once."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from sqlalchemy import select

from leasehold.cloud.sandbox import seed
from leasehold.db.columns.waits import read_waiting
from leasehold.db.leases.lease import find_lease, insert_lease, save_lease
from leasehold.db.pool import lock_pools, read_pools
from leasehold.db.tables import leases, tasks
from leasehold.db.task import LEASE, add_task, claim_tasks
from leasehold.db.waiting import AT_ONCE, MOST, SOON, hurry_waiting, mark_waiting, next_clean, waiting_for
from leasehold.leasing.deciding.calendars import Calendars
from leasehold.leasing.reading import queries
from leasehold.manager.task_runner import run_task
from leasehold.model.resource import FLOATING_IP_POOL, HOST_POOL
from leasehold.model.states import LeaseStatus
from leasehold.model.terms.lease_type import LeaseType
from leasehold.model.terms.margins import Margins
from leasehold.model.terms.waiting import Waiting
from leasehold.model.transitions import Trigger, move
from leasehold.model.tries import granted
from tests.db.examples import NOW, at_once, lease
from tests.factory import Clock, hosts, open_service, run_for, run_manager
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from sqlalchemy import Connection, Engine

    from leasehold.db.store import Database
    from leasehold.model.lease import Lease
    from tests.factory import World

MINUTE = timedelta(minutes=1)
LATER = NOW + timedelta(days=1)


def add(db: Database, minutes: int = 0, pools: frozenset[str] = frozenset({HOST_POOL}), **more: Any) -> Lease:
    """Write a lease that has waited since so many minutes after `NOW`."""
    since = NOW + minutes * MINUTE
    waiting = Waiting(since, since + MINUTE, MINUTE, pools, deadline=LATER + timedelta(microseconds=7), **more)
    made = replace(lease(), status=LeaseStatus.IN_PROGRESS, type=LeaseType.WAITLIST, waiting=waiting)

    def write(connection: Connection) -> None:
        insert_lease(connection, made)
        add_task(connection, LEASE, made.id, LATER, made.project_id)

    db.transact(write)
    return made


def due(db: Database, lease_id: str) -> datetime:
    with db.reading() as connection:
        found: datetime = connection.execute(select(tasks.c.due_at).where(tasks.c.subject == lease_id)).scalar_one()
    return found


@pytest.mark.parametrize("use_disabled", [False, True])
def test_what_it_waits_for_is_read_as_it_was_written(db: Database, *, use_disabled: bool) -> None:
    made = add(db, use_disabled=use_disabled)
    with db.reading() as connection:
        found = find_lease(connection, made.id)
    assert found is not None
    assert (found.waiting, found.type, found.status) == (made.waiting, LeaseType.WAITLIST, "IN_PROGRESS")


def test_a_lease_that_an_older_version_keeps_does_not_get_what_is_disabled(db: Database) -> None:
    made = add(db)
    with db.reading() as connection:
        (stored,) = connection.execute(select(leases.c.waiting).where(leases.c.id == made.id)).one()
    del stored["use_disabled"]
    found = read_waiting(stored)
    assert found is not None
    assert not found.use_disabled


@pytest.mark.parametrize("trigger", [Trigger.TIMED_OUT, Trigger.GAVE_UP, Trigger.GRANTED])
def test_who_waits_no_more_is_not_in_line(db: Database, trigger: Trigger) -> None:
    made = add(db)
    assert made.waiting is not None
    after = granted(made, made.waiting) if trigger is Trigger.GRANTED else move(made, trigger)

    def write(connection: Connection) -> None:
        before = find_lease(connection, made.id, lock=True)
        assert before is not None
        save_lease(connection, before, replace(after, created_at=before.created_at), NOW)

    db.transact(write)
    with db.reading() as connection:
        row = connection.execute(select(leases).where(leases.c.id == made.id)).one()
        assert list(waiting_for(connection, {HOST_POOL})) == []
    assert (row.waiting_since, row.waiting["granted"]) == (None, trigger is Trigger.GRANTED)


def test_a_line_is_in_the_order_of_waiting_and_of_its_pools(db: Database) -> None:
    both = frozenset({HOST_POOL, FLOATING_IP_POOL})
    second, first, third = add(db, 2), add(db, 1), add(db, 3, both)
    other = add(db, 0, frozenset({FLOATING_IP_POOL}))
    with db.reading() as connection:
        found = {pool: list(waiting_for(connection, {pool})) for pool in both}
    assert [each.id for each in found[HOST_POOL]] == [first.id, second.id, third.id]
    assert [each.id for each in found[FLOATING_IP_POOL]] == [other.id, third.id]
    one = found[HOST_POOL][0]
    assert (one.project_id, one.user_id, one.waiting) == (first.project_id, first.user_id, first.waiting)


def test_a_long_line_is_not_tried_as_a_whole_whenever_something_becomes_free(db: Database) -> None:
    """Who is far behind is tried soon after, and is not put off by what becomes free meanwhile."""
    line = [add(db, minutes) for minutes in range(AT_ONCE + 2)]

    def freed(at: datetime) -> None:
        db.transact(lambda connection: hurry_waiting(connection, lock_pools(connection, {HOST_POOL}), at))

    db.transact(lambda connection: mark_waiting(connection, {HOST_POOL}))
    freed(LATER - 5 * MINUTE)
    first, last = line[:AT_ONCE], line[AT_ONCE:]
    assert {due(db, each.id) for each in first} == {LATER - 5 * MINUTE}
    assert {due(db, each.id) for each in last} == {LATER - 5 * MINUTE + SOON}
    freed(LATER - 5 * MINUTE + SOON / 2)
    assert {due(db, each.id) for each in first} == {LATER - 5 * MINUTE}
    assert {due(db, each.id) for each in last} == {LATER - 5 * MINUTE + SOON}


def test_what_becomes_free_makes_the_tries_of_its_pool_due(db: Database) -> None:
    mine, other = add(db), add(db, 0, frozenset({FLOATING_IP_POOL}))

    def free(connection: Connection) -> None:
        hurry_waiting(connection, lock_pools(connection, {HOST_POOL}), NOW)

    db.transact(free)
    assert (due(db, mine.id), due(db, other.id)) == (LATER, LATER), "nobody is noted at the pool"
    db.transact(lambda connection: mark_waiting(connection, {HOST_POOL, FLOATING_IP_POOL}))
    db.transact(free)
    assert (due(db, mine.id), due(db, other.id)) == (NOW, LATER)


def test_a_pool_forgets_who_waits_no_more(db: Database) -> None:
    db.transact(lambda connection: mark_waiting(connection, {HOST_POOL, FLOATING_IP_POOL}))
    add(db)
    both = {HOST_POOL, FLOATING_IP_POOL}
    db.transact(lambda connection: hurry_waiting(connection, lock_pools(connection, both), NOW))
    with db.reading() as connection:
        found = read_pools(connection)
    assert {name: found[name].waiting for name in both} == {HOST_POOL: True, FLOATING_IP_POOL: False}


@pytest.fixture
def world(engine: Engine) -> Iterator[World]:
    """Yield a service with two hosts."""
    seed.plant(engine)
    made = open_service(engine.url.render_as_string(hide_password=False), clock=Clock())
    made.enrol("cmp-01", "cmp-02")
    yield made
    # The next test gets empty tables of ours, but the same sandbox.
    for each in list(queries.each_lease(made.service, None)):
        made.delete(each)
    run_manager(made)
    made.engine.dispose()


@pytest.mark.slow
def test_many_managers_grant_each_host_once_and_in_order(world: World) -> None:
    """All of the line are due at once, and four managers try them at the same time."""
    first = world.lease(hosts(2), end=5)
    line = []
    for _ in range(8):
        world.clock.advance(microseconds=1)
        line.append(world.lease(hosts(1), type=LeaseType.WAITLIST, deadline=world.hour(9)))
    world.delete(first)

    def work(own: Database, _: int) -> int:
        service = replace(world.service, db=own, calendars=Calendars())
        done = 0
        while True:
            claim = partial(claim_tasks, claimer=uuid4().hex, now=world.now(), lasts=MINUTE, most=1)
            claims = own.transact(claim)
            if not claims:
                return done
            run_task(service, claims[0])
            done += 1

    for _ in range(4):
        at_once(world.engine, 4, work)
        world.clock.advance(seconds=1)
    run_for(world, seconds=5)
    assert [world.status(each) for each in line] == ["ACTIVE", "ACTIVE", *["IN_PROGRESS"] * 6]
    audit(world)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["amend", "delete"])
def test_what_leases_have_left_is_clean_when_the_time_for_it_is_over(world: World, how: str) -> None:
    cleaning, until = timedelta(minutes=10), world.hour(2) + timedelta(minutes=10)
    short, _long = world.active(hosts(), end=4), world.lease(hosts(), end=6)
    run_for(world, hours=2)
    world.amend(short, end=2) if how == "amend" else world.delete(short)
    run_for(world, minutes=3)

    def clean(pool: str) -> datetime | None:
        waiting = Waiting(world.now(), until, MINUTE, frozenset({pool}), retries=1)
        with world.service.db.reading() as connection:
            return next_clean(connection, waiting, Margins(by_pool={HOST_POOL: cleaning}), world.now())

    assert (clean(HOST_POOL), clean(FLOATING_IP_POOL)) == (until, None)
    ask = partial(world.lease, hosts(2), start=3, end=4, type=LeaseType.WAITLIST, deadline=world.hour(9))
    for number in range(MOST + 1):
        assert clean(HOST_POOL) == (until if number < AT_ONCE else until + SOON if number < MOST else None)
        ask()
        world.clock.advance(microseconds=1)
    for each in list(queries.each_lease(world.service, None)):
        if each.waits:
            world.delete(each)
    world.clock.set(until - timedelta(microseconds=1))
    assert clean(HOST_POOL) == until
    world.clock.set(until)
    assert clean(HOST_POOL) is None
