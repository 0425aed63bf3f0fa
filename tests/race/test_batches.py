"""Requests that wait for the same pools are decided together, and each is answered as if it had been alone (0125)."""

from __future__ import annotations

import itertools
import json
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

from leasehold.conf.settings import LeaseSettings, LimitSettings, Settings
from leasehold.db.committed import noting_commits
from leasehold.db.store import Database, UnknownOutcomeError
from leasehold.db.tables import outbox
from leasehold.model.actor import Actor, acting
from leasehold.model.caller import Caller
from leasehold.model.errors import ConflictError, LeaseholdError, NotEnoughError, TakesTooLongError, TooManyLeasesError
from leasehold.model.lease import Lease
from tests.at_once import outcome, together
from tests.factory import ALT, DEMO, Killed, World, hosts, instances, make_service
from tests.refused import bounds
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07")


def asks(start: float, **more: Any) -> Callable[[World], Lease]:
    """Return a request for one host for an hour."""
    return lambda world: world.lease(hosts(), start=start, end=start + 1, **more)


@contextmanager
def counted(world: World) -> Iterator[list[str]]:
    """Yield the statements and commits of the block."""
    seen: list[str] = []

    def executed(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        seen.append(statement.split(maxsplit=1)[0])

    def committed(_connection: object) -> None:
        seen.append("COMMIT")

    event.listen(world.engine, "before_cursor_execute", executed)
    event.listen(world.engine, "commit", committed)
    try:
        yield seen
    finally:
        event.remove(world.engine, "before_cursor_execute", executed)
        event.remove(world.engine, "commit", committed)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, hosts=HOSTS) as made:
        made.lease(hosts(), start=800, end=801)
        yield made


def test_eight_requests_are_one_commit(database_url: str) -> None:
    with make_service(database_url, hosts=HOSTS) as world:
        for number in range(8):
            # Each project has its row of what it uses, and the calendar is known.
            world.lease(hosts(), start=700 + number, end=701 + number, caller=Caller("alice", f"p{number % 4}"))
        with counted(world) as seen:
            made = together(
                world, *(asks(1 + number // 4, caller=Caller("a", f"p{number % 4}")) for number in range(8))
            )
        assert all(isinstance(each, Lease) for each in made)
        assert seen.count("COMMIT") == 2, seen
        audit(world)
        assert {label for each in made[:4] for label in world.holds(each)} == set(HOSTS)
        assert {label for each in made[4:] for label in world.holds(each)} == set(HOSTS)


def test_each_stands_for_itself(world: World) -> None:
    """A refusal, a used key, a key that comes twice, a limit and bad input change nothing for the others."""
    known = world.lease(hosts(), start=10, end=11, key="used")
    found = together(
        world,
        asks(1),
        lambda gated: gated.lease(hosts(5), start=1, end=2),
        lambda gated: gated.lease(hosts(), start=10, end=11, key="used"),
        lambda gated: gated.lease(hosts(), start=12, end=13, key="used"),
        lambda gated: gated.lease(hosts(), start=1, end=2, key="new"),
        lambda gated: gated.lease(hosts(), start=1, end=2, key="new"),
        lambda gated: gated.lease(hosts(), start=-5, end=-4),
        asks(1),
    )
    granted, too_many, repeated, another, new, again, over, last = found
    assert isinstance(granted, Lease)
    assert isinstance(too_many, NotEnoughError)
    assert (repeated.id, type(another)) == (known.id, ConflictError)
    assert new.id == again.id
    assert isinstance(over, LeaseholdError)
    assert len({label for each in (granted, new, last) for label in world.holds(each)}) == 3
    audit(world)


def test_the_earlier_ones_get_what_is_left(world: World) -> None:
    found = together(world, *(asks(1) for _ in range(6)))
    assert [type(each) for each in found] == [*[Lease] * 4, *[NotEnoughError] * 2]
    assert found[5].details["nearest"] is not None
    audit(world)


def test_no_project_gets_more_than_its_limit(tmp_path: Path) -> None:
    settings = Settings(leases=LeaseSettings(limits=LimitSettings(open_leases=3)))
    with make_service(tmp_path, settings=settings, hosts=HOSTS) as world:
        world.lease(hosts(), start=800, end=801)
        found = together(world, *(asks(number) for number in range(1, 5)), asks(9, caller=ALT))
        assert [type(each) for each in found[:4]].count(Lease) == 2
        assert [type(each) for each in found[:4]].count(TooManyLeasesError) == 2
        assert isinstance(found[4], Lease)
        audit(world)


def test_a_refused_request_uses_nothing(world: World) -> None:
    def huge(gated: World) -> Lease:
        """Ask for more of what is not limited than a sum of two can be."""
        return gated.lease(instances(2**31 - 1, vcpus=2**31 - 1, memory_mb=2**31 - 1), start=1, end=2)

    before = bounds(world)
    found = together(world, lambda gated: gated.lease(hosts(5), start=1, end=2), huge, huge, asks(1, caller=ALT))
    assert [isinstance(each, Lease) for each in found] == [False, False, False, True]
    assert bounds(world) == before


def test_who_asked_is_recorded_with_each(world: World) -> None:
    def by(user: str) -> Callable[[World], Lease]:
        def ask(gated: World) -> Lease:
            with acting(Actor(user, DEMO.project_id)):
                return gated.lease(hosts(), start=1, end=2)

        return ask

    made = together(world, by("ann"), by("ben"))
    with world.engine.connect() as connection:
        rows = connection.execute(outbox.select().where(outbox.c.event_type == "lease.create")).all()
    users = {row.lease_id: row.lease_state["by"]["user_id"] for row in rows if "by" in row.lease_state}
    assert users == {made[0].id: "ann", made[1].id: "ben"}


def test_as_many_of_each_project_are_decided_first(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leasehold.leasing.deciding.queue.MOST", 2)
    projects = Caller("g", "greedy"), Caller("m", "modest")
    for number, project in enumerate(projects):
        # Who has no row of what it uses is decided alone, whenever the database lets it.
        world.lease(hosts(), start=700 + number, end=701 + number, caller=project)
    greedy, modest = (asks(1, caller=project) for project in projects)
    found = together(world, *[greedy] * 4, modest)
    assert isinstance(found[4], Lease)
    assert sum(isinstance(each, Lease) for each in found[:4]) == 3


@contextmanager
def failing(
    world: World, name: str, at: Callable[[tuple[Any, ...]], bool], error: object = 1180, *, nth: int = 2
) -> Iterator[None]:
    """Let the database answer with an error the `nth` time: the first is often that of the first request.

    After a commit nobody knows what the error 1180 of MariaDB means.
    """
    times: list[None] = []

    def fail(*sent: Any) -> None:
        if at(sent):
            times.append(None)
            if len(times) == nth:
                if name == "commit":
                    sent[0].connection.dbapi_connection.commit()
                raise error if isinstance(error, BaseException) else OperationalError("", {}, Exception(error))

    event.listen(world.engine, name, fail)
    try:
        yield
    finally:
        event.remove(world.engine, name, fail)


def test_what_fails_for_all_is_decided_again_for_each(world: World, caplog: pytest.LogCaptureFixture) -> None:
    with failing(world, "before_cursor_execute", lambda sent: sent[2].startswith("INSERT INTO allocations")):
        found = together(world, asks(1), lambda gated: gated.lease(hosts(5), start=1, end=2), asks(1))
    assert [type(each) for each in found] == [Lease, NotEnoughError, Lease]
    assert "3 requests could not be decided together" in caplog.text
    audit(world)


def test_who_waits_for_one_that_dies_is_decided_alone(world: World) -> None:
    with failing(world, "before_cursor_execute", lambda sent: sent[2].startswith("INSERT INTO allocations"), Killed()):
        found = together(world, asks(1), asks(1), asks(1))
    assert [type(each) for each in found] == [Killed, Lease, Lease]
    assert all(world.holds(each) for each in found[1:])
    audit(world)


def test_a_database_that_is_lost_is_not_waited_for_once_more(world: World) -> None:
    """The tries of a batch are those of each."""
    tries: list[None] = []

    def lose(*sent: Any) -> None:
        if sent[2].startswith("INSERT INTO allocations"):
            tries.append(None)
            if len(tries) > 1:
                raise OperationalError("", {}, Exception("database is locked"))

    event.listen(world.engine, "before_cursor_execute", lose)
    impatient = replace(world, service=replace(world.service, db=Database(world.engine, retry_seconds=0)))
    found = together(impatient, asks(1), asks(1))
    assert [type(each) for each in found] == [OperationalError] * 2
    assert len(tries) == 2


def test_a_batch_has_the_time_of_one_decision(world: World) -> None:
    """Others wait for the pools; who comes after that time is decided by itself."""
    settings = world.service.settings
    settings = replace(settings, leases=replace(settings.leases, decision_seconds=40.0))
    ticking = replace(world, service=replace(world.service, settings=settings, steady=itertools.count().__next__))
    with counted(world) as seen:
        found = together(ticking, *(asks(number) for number in range(1, 31)))
    assert all(isinstance(each, Lease) for each in found)
    assert 2 < seen.count("COMMIT") < 31
    audit(world)


def test_nobody_waits_for_the_conditions_of_another_one(world: World) -> None:
    """Each evaluates its own before it waits, and what takes too long is refused alone."""
    settings = world.service.settings
    settings = replace(settings, leases=replace(settings.leases, decision_seconds=200.0))
    ticking = replace(world, service=replace(world.service, settings=settings, steady=itertools.count().__next__))
    long = json.dumps(["or", *(["==", "$gpu", str(number)] for number in range(250))])

    def both(gated: World) -> tuple[Any, Lease]:
        slow = outcome(lambda: gated.lease(hosts(resource_properties=long), start=1, end=2))
        return slow, gated.lease(hosts(), start=1, end=2)

    with counted(world) as seen:
        first, (slow, last) = together(ticking, asks(1), both)
    assert isinstance(slow, TakesTooLongError)
    assert {len(world.holds(each)) for each in (first, last)} == {1}
    assert seen.count("COMMIT") == 2


def test_what_is_committed_is_noted_by_those_that_it_grants_something(world: World) -> None:
    def noting(ask: Callable[[World], Lease]) -> Callable[[World], bool]:
        def noted(gated: World) -> bool:
            with noting_commits() as committed:
                outcome(lambda: ask(gated))
            return committed.anything

        return noted

    refused = noting(lambda gated: gated.lease(hosts(5), start=1, end=2))
    assert together(world, refused, noting(asks(1)), noting(asks(1)), refused) == [False, True, True, False]


def test_a_batch_that_loses_a_race_is_decided_again(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """Each has the outcome of the last time: what one was told of before is not there any more."""
    lost = "database is locked"
    with failing(world, "before_cursor_execute", lambda sent: sent[2].startswith("INSERT INTO allocations"), lost):
        found = together(world, asks(1, key="a"), lambda gated: gated.lease(hosts(5), start=1, end=2), asks(1))
    assert [type(each) for each in found] == [Lease, NotEnoughError, Lease]
    assert "decided together" not in caplog.text
    assert all(world.holds(each) for each in found if isinstance(each, Lease))
    audit(world)


def test_a_commit_whose_outcome_is_unknown_is_unknown_for_each(world: World) -> None:
    with failing(world, "commit", lambda _: True):
        found = together(world, asks(1), lambda gated: gated.lease(hosts(5), start=1, end=2), asks(1, key="one"))
    assert [type(each) for each in found] == [UnknownOutcomeError, NotEnoughError, UnknownOutcomeError]
    again = world.lease(hosts(), start=1, end=2, key="one")
    assert world.holds(again)
    audit(world)
