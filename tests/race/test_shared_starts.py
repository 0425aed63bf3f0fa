"""Starts that wait for each other share their transactions, and each goes as if it had been alone (decision 0127)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from leasehold.db.store import UnknownOutcomeError
from leasehold.db.tables import leases, tasks
from leasehold.db.task import LEASE, add_task_once, claim_tasks
from leasehold.leasing.deciding.queue import Queues
from leasehold.leasing.steps.lifecycle import Outcome, Phase, Result, Step, begin, begin_all
from leasehold.leasing.steps.lost_claims import LATE
from leasehold.leasing.steps.outcome import complete
from leasehold.manager import worker
from leasehold.manager.worker import Worker
from leasehold.model.event_log import LeaseNews
from tests.at_once import all_behind, outcome
from tests.factory import hosts, instances, make_service, run_for, run_manager
from tests.processes import wait_for
from tests.race.test_batches import counted, failing
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from leasehold.db.task import Claim
    from leasehold.model.lease import Lease
    from tests.factory import World

HOSTS = ("cmp-01", "cmp-02", "cmp-06", "cmp-07", "gpu-03")


@contextmanager
def prepared(url: str, number: int = len(HOSTS), **more: Any) -> Iterator[tuple[World, list[Lease]]]:
    """Yield a world in which the start of so many leases is due."""
    with make_service(url, hosts=HOSTS) as world:
        made = [world.lease(more or hosts(), start=1, end=2) for _ in range(number)]
        run_manager(world)
        world.clock.set(world.hour(1))
        yield world, made


def claims_of(world: World, made: Sequence[Lease]) -> list[Claim]:
    """Claim all that is due, and return the claims of these leases."""
    lasts = timedelta(seconds=60)
    of = {
        each.subject: each
        for each in world.service.db.transact(lambda c: claim_tasks(c, "this", world.now(), lasts, 100))
    }
    return [of[lease.id] for lease in made]


def completes(claim: Claim, step: Step) -> Callable[[World], Any]:
    done = [Outcome(job.name, Result.DONE) for job in step.jobs]
    return lambda world: complete(world.service, claim, step, done)


def begun(world: World, claims: Sequence[Claim]) -> list[Any]:
    """Begin as a worker does: together what can be, then each of the others; return what each returned or raised."""
    steps = begin_all(world.service, claims)
    return [steps.get(claim) or outcome(partial(begin, world.service, claim)) for claim in claims]


def completed(world: World, claims: Sequence[Claim], steps: Sequence[Any]) -> list[Any]:
    return all_behind(world, *map(completes, claims, steps))


def test_five_starts_are_begun_by_one_commit_and_completed_by_two(database_url: str) -> None:
    with prepared(database_url) as (world, made):
        claims = claims_of(world, made)
        with counted(world) as seen:
            steps = begun(world, claims)
        assert [(step.phase, step.first, step.lease.status) for step in steps] == [(Phase.START, True, "STARTING")] * 5
        assert [step.lease.id for step in steps] == [lease.id for lease in made]
        assert [len(step.jobs) for step in steps] == [1] * 5
        with counted(world) as more:
            assert completed(world, claims, steps) == [True] * 5
        assert (seen.count("COMMIT"), more.count("COMMIT")) == (1, 2)
        for lease in made:
            assert world.status(lease) == "ACTIVE"
            assert [kind for kind, _ in world.told(lease)][-2:] == [LeaseNews.STARTING, "lease.event.start_lease"]
        audit(world)


def test_what_is_begun_together_is_what_is_begun_alone(database_url: str) -> None:
    """Leases of slots of one host see each other there."""
    with prepared(database_url, 4, **instances(2)) as (world, made):
        claims = claims_of(world, made)
        steps = begun(world, claims)
        for claim, step in zip(claims, steps, strict=True):
            assert begin(world.service, claim) == replace(step, first=False)


def test_each_begins_for_itself(database_url: str) -> None:
    """A lost claim, a lease that is deleted, and one whose host is not left yet change nothing for the others."""
    with make_service(database_url, hosts=HOSTS) as world:
        left = world.lease(hosts(resource_properties='["==", "$hypervisor_hostname", "cmp-01"]'), start=0, end=1)
        run_manager(world)
        waits = world.lease(hosts(resource_properties='["==", "$hypervisor_hostname", "cmp-01"]'), start=1, end=2)
        first, lost, plain, deleted = (world.lease(hosts(), start=1, end=2) for _ in range(4))
        run_manager(world)
        world.boot(left)
        world.cloud.servers.take_to("delete", 300)
        world.clock.set(world.hour(1))
        made = [first, lost, waits, plain, deleted]
        claims = claims_of(world, made)
        world.execute(tasks.update().where(tasks.c.subject == lost.id).values(claimed_by="another"))
        world.execute(tasks.update().where(tasks.c.subject == deleted.id).values(due_at=world.now()))
        world.execute(leases.update().where(leases.c.id == deleted.id).values(status="DELETING"))
        started, nothing, blocked, also_started, removing = begun(world, claims)
        assert nothing is None
        assert blocked.blocked
        assert removing.phase is Phase.REMOVE
        assert [step.lease.status for step in (started, also_started)] == ["STARTING"] * 2
        assert world.status(lost) == "PENDING"


def test_each_completes_for_itself(database_url: str) -> None:
    """A claim that is lost and a lease that was changed meanwhile change nothing for the others."""
    with prepared(database_url) as (world, made):
        claims = claims_of(world, made)
        steps = begun(world, claims)
        _, lost, changed, *_ = made
        world.execute(tasks.update().where(tasks.c.subject == lost.id).values(claimed_by="another"))
        world.delete(changed)
        assert completed(world, claims, steps) == [True, False, True, True, True]
        statuses = ["ACTIVE", "STARTING", "DELETING", "ACTIVE", "ACTIVE"]
        assert [world.status(each) for each in made] == statuses
        assert due(world, changed) == world.now()
        audit(world)


def test_another_task_about_a_lease_does_not_begin_it_once_more(database_url: str) -> None:
    """A worker claims both by one transaction, for example what follows a lost claim."""
    with prepared(database_url, 2) as (world, made):
        kind = f"{LATE}{LEASE}"
        world.service.db.transact(lambda c: add_task_once(c, kind, made[0].id, world.hour(1)))
        lasts = timedelta(seconds=60)
        claims = world.service.db.transact(lambda c: claim_tasks(c, "this", world.now(), lasts, 100))
        assert [each.subject for each in claims].count(made[0].id) == 2
        steps = begin_all(world.service, claims)
        assert {(claim.kind, claim.subject) for claim in steps} == {(LEASE, each.id) for each in made}
        assert [kind for kind, _ in world.told(made[0])].count(LeaseNews.STARTING) == 1


def due(world: World, lease: Lease) -> Any:
    with world.engine.connect() as connection:
        return connection.execute(select(tasks.c.due_at).where(tasks.c.subject == lease.id)).scalar_one()


UPDATE = "UPDATE leases"


def is_write(sent: tuple[Any, ...]) -> bool:
    return UPDATE in sent[2]


@pytest.mark.parametrize("phase", ["begin", "complete"])
def test_what_fails_for_all_is_done_again_for_each(
    database_url: str, phase: str, caplog: pytest.LogCaptureFixture
) -> None:
    with prepared(database_url) as (world, made):
        claims = claims_of(world, made)
        if phase == "begin":
            with failing(world, "before_cursor_execute", is_write, ZeroDivisionError(), nth=1):
                steps = begun(world, claims)
            assert [step.lease.status for step in steps] == ["STARTING"] * 5
            assert "5 steps could not be begun together" in caplog.text
        else:
            steps = begun(world, claims)
            with failing(world, "before_cursor_execute", is_write, ZeroDivisionError()):
                assert completed(world, claims, steps) == [True] * 5
            assert "4 steps could not be completed together" in caplog.text
        audit(world)


def test_one_that_fails_does_so_alone(database_url: str) -> None:
    """What raises in the shared transaction raises again for the one that it is about."""
    with prepared(database_url) as (world, made):
        claims = claims_of(world, made)
        with world.engine.begin() as connection:
            connection.execute(leases.update().where(leases.c.id == made[2].id).values(status="UNHEARD-OF"))
        found = begun(world, claims)
        assert isinstance(found[2], Exception)
        assert [step.lease.status for step in (*found[:2], *found[3:])] == ["STARTING"] * 4


@pytest.mark.parametrize("phase", ["begin", "complete"])
def test_after_a_commit_whose_outcome_is_unknown_a_step_is_done_again(database_url: str, phase: str) -> None:
    """Steps that may have begun are begun again at once; what may have been completed is unknown for each."""
    with prepared(database_url) as (world, made):
        claims = claims_of(world, made)
        if phase == "begin":
            with failing(world, "commit", lambda _: True, nth=1):
                assert [type(each) for each in begun(world, claims)] == [Step] * 5
        else:
            steps = begun(world, claims)
            with failing(world, "commit", lambda _: True):
                found = completed(world, claims, steps)
            assert [type(each) for each in found] == [bool, *[UnknownOutcomeError] * 4]
        run_for(world, minutes=2)
        assert [world.status(each) for each in made] == ["ACTIVE"] * 5
        audit(world)
        audit_cloud(world)


def test_a_database_that_is_lost_is_not_waited_for_once_more(database_url: str) -> None:
    with prepared(database_url) as (world, made):
        claims = claims_of(world, made)
        steps = begun(world, claims)
        impatient = replace(world, service=replace(world.service, db=replace(world.service.db, retry_seconds=0)))
        with failing(
            world, "before_cursor_execute", is_write, OperationalError("", {}, Exception("database is locked"))
        ):
            found = completed(impatient, claims, steps)
        assert [type(each) for each in found] == [bool, *[OperationalError] * 4]


@pytest.mark.servers
@pytest.mark.parametrize("server", ["mariadb_url", "postgresql_url"])
@pytest.mark.parametrize("phase", ["begin", "complete"])
def test_nobody_waits_for_a_lease_that_somebody_else_has_locked(
    request: pytest.FixtureRequest, server: str, phase: str
) -> None:
    """It is left out, and waits by itself: who holds several leases waits for no other one, so there is no deadlock."""
    with prepared(request.getfixturevalue(server)) as (world, made):
        claims = claims_of(world, made)
        steps = begun(world, claims) if phase == "complete" else []
        wanted = "ACTIVE" if phase == "complete" else "STARTING"
        held, free = Event(), Event()

        def others_are_done() -> bool:
            return [world.status(each) for each in made].count(wanted) == 4

        def hold(_: World) -> None:
            with world.engine.begin() as connection:
                connection.execute(select(leases.c.id).where(leases.c.id == made[2].id).with_for_update())
                held.set()
                assert free.wait(60)

        with ThreadPoolExecutor(2) as threads:
            holding = threads.submit(hold, world)
            assert held.wait(60)
            acting = threads.submit(begun if phase == "begin" else partial(completed, steps=steps), world, claims)
            try:
                wait_for(others_are_done)
                assert not acting.done()
            finally:
                free.set()
            holding.result()
            acting.result()
        assert [world.status(each) for each in made] == [wanted] * 5
        audit(world)


@pytest.mark.parametrize("waited", [False, True])
def test_a_step_that_waited_for_a_thread_is_begun_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch, *, waited: bool
) -> None:
    """What was changed meanwhile is known then; else it is found out when the step is completed."""
    monkeypatch.setattr(worker, "FRESH_SECONDS", 0.0 if waited else 60.0)
    with prepared(database_url, 2) as (world, made):
        claims = claims_of(world, made)
        manager = Worker(world.service, Event())
        manager._begun.update(begin_all(world.service, claims))
        world.delete(made[0])
        for claim in claims:
            manager._work(claim)
        assert world.exists(made[0]) is not waited
        assert world.status(made[1]) == "ACTIVE"
        run_manager(world)
        assert not world.exists(made[0])
        audit(world)
        audit_cloud(world)


@pytest.mark.slow
def test_two_managers_start_all_and_each_once(database_url: str) -> None:
    """Sixteen threads of two managers, whose leases share hosts."""
    with make_service(database_url, hosts=HOSTS) as world:
        made = [world.lease(instances(1), start=1, end=2) for _ in range(40)]
        world.clock.set(world.hour(1))
        workers = [Worker(replace(world.service, queues=Queues()), Event()) for _ in range(2)]
        for each in workers:
            each.start()
        try:
            wait_for(lambda: {world.status(each) for each in made} == {"ACTIVE"}, within=120)
        finally:
            for each in workers:
                each.stop()
        for lease in made:
            kinds = [kind for kind, _ in world.told(lease)]
            assert kinds.count("lease.event.start_lease") == 1
        audit(world)
        audit_cloud(world)
