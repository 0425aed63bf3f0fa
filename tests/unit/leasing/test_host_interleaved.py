"""Enrolling and removing one host concurrently: in any order, the host ends where the database says."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Event
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.db.store import Database
from leasehold.db.task import Claim, add_task_once, postpone_task
from leasehold.leasing.resources.resource import converge_resource
from leasehold.manager.task_runner import run_task
from leasehold.model.errors import DuplicateError
from leasehold.model.resource import HOST
from leasehold.resource_types.host.driver import HostDriver
from leasehold.resource_types.slots.names import child_provider
from tests.factory import TYPES, at_call, claim_one, enrol_host, hosts, remove_host, run_for, run_manager, work_once
from tests.stateful.audit import audit_cloud as second_opinion
from tests.unit.leasing.looking import findings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.factory import World

PATIENCE = 60
"""Seconds for which one thread waits for another."""
ENROLLING, REMOVING = range(1, 9), range(1, 3)
"""The numbers of the cloud calls that each of the two makes; `test_as_many_calls_as_there_are` checks them."""


def at_each(name: str, calls: range) -> pytest.MarkDecorator:
    """Run a test for each call; every call but the last, which no other cloud call follows, is marked slow."""
    slow = [pytest.param(number, marks=pytest.mark.slow) for number in calls[:-1]]
    return pytest.mark.parametrize(name, [*slow, calls[-1]])


def before_commit(world: World, during: Callable[[], Any], call: int = 1) -> World:
    """Return the world with a database that runs `during` before its first `call` of `transact`, or a later one."""

    class Late(Database):
        def transact(self, work: Any) -> Any:
            calls.append(True)
            if len(calls) == call:
                during()
            return super().transact(work)

    calls: list[bool] = []
    return replace(world, service=replace(world.service, db=Late(world.engine)))


def enrol(world: World) -> None:
    enrol_host(world.service, "cmp-01", {})


def check(world: World, *, free: bool, enrolled: bool) -> None:
    run_manager(world)
    assert ("cmp-01" in world.members("freepool")) == free
    assert (child_provider("cmp-01") in world.cloud.providers.names()) == enrolled
    assert findings(world) == []
    second_opinion(world)


def test_as_many_calls_as_there_are(world: World) -> None:
    remove_host(world.service, "1")
    assert at_call(world, 0, lambda: work_once(world), lambda: None) == len(REMOVING)
    assert at_call(world, 0, lambda: enrol(world), lambda: None) == len(ENROLLING)


@at_each("number", ENROLLING)
def test_the_removal_runs_while_the_host_is_enrolled_again(world: World, number: int) -> None:
    remove_host(world.service, "1")
    at_call(world, number, lambda: enrol(world), lambda: run_manager(world))
    check(world, free=True, enrolled=True)


def test_the_removal_runs_between_the_two_halves_of_enrolling_again(world: World) -> None:
    remove_host(world.service, "1")
    enrol(before_commit(world, lambda: run_manager(world)))
    check(world, free=True, enrolled=True)


@at_each("number", REMOVING)
def test_the_host_is_enrolled_again_while_its_removal_runs(world: World, number: int) -> None:
    remove_host(world.service, "1")
    at_call(world, number, lambda: work_once(world), lambda: enrol(world))
    check(world, free=True, enrolled=True)


@at_each("number", REMOVING)
def test_the_removal_ends_before_an_enrolment_that_began_while_it_ran(world: World, number: int) -> None:
    """The enrolment's calls come first and the removal undoes them, so the enrolment must not call its task off."""
    remove_host(world.service, "1")
    placed, removed = Event(), Event()

    def written_last() -> None:
        placed.set()
        assert removed.wait(PATIENCE)

    with ThreadPoolExecutor(1) as another:

        def begun() -> None:
            world.cloud.faults.clear()
            futures.append(another.submit(enrol, before_commit(world, written_last, call=2)))
            assert placed.wait(PATIENCE)

        futures: list[Future[None]] = []
        at_call(world, number, lambda: work_once(world), begun)
        removed.set()
        futures[0].result(PATIENCE)
    check(world, free=True, enrolled=True)


@pytest.mark.parametrize("removed", [False, True])
def test_the_host_is_enrolled_again_just_before_its_removal_is_done(world: World, *, removed: bool) -> None:
    """With `removed`, a second removal restores the row as it was, but the host is now in the free pool."""
    remove_host(world.service, "1")
    claim = claim_one(world)
    assert claim is not None

    def meanwhile() -> None:
        enrol(world)
        if removed:
            remove_host(world.service, "1")

    run_task(before_commit(world, meanwhile).service, claim)
    check(world, free=not removed, enrolled=not removed)


@at_each("number", range(1, 4))
def test_the_host_is_removed_again_while_it_is_put_into_its_place(world: World, number: int) -> None:
    task = HostDriver.task
    world.service.db.transact(lambda connection: add_task_once(connection, task, "1", world.service.now()))
    at_call(world, number, lambda: work_once(world), lambda: remove_host(world.service, "1"))
    check(world, free=False, enrolled=False)


@at_each("number", ENROLLING)
def test_a_second_enrolment_does_not_keep_a_leased_host_in_the_free_pool(world: World, number: int) -> None:
    remove_host(world.service, "1")
    run_manager(world)

    def enrolled_and_leased() -> None:
        enrol(world)
        world.lease(hosts(5), start=0, end=1)
        run_manager(world)
        assert "cmp-01" not in world.members("freepool")

    with pytest.raises(DuplicateError):
        at_call(world, number, lambda: enrol(world), enrolled_and_leased)
    check(world, free=False, enrolled=True)


@at_each("number", ENROLLING)
@pytest.mark.parametrize("name", ["cmp-01", "cmp-05"])
def test_an_enrolment_that_dies_leaves_nothing(world: World, number: int, name: str) -> None:
    """The manager undoes it, whether or not the host was enrolled before."""
    if name == "cmp-01":
        remove_host(world.service, "1")
        run_manager(world)

    def die() -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        at_call(world, number, lambda: enrol_host(world.service, name, {}), die)
    run_for(world, minutes=1)
    assert name not in world.members("freepool")
    assert child_provider(name) not in world.cloud.providers.names()
    assert findings(world) == []
    enrol_host(world.service, name, {})
    run_for(world, minutes=1)
    assert name in world.members("freepool")
    assert findings(world) == []


def dying(world: World) -> World:
    """Return the world with a process that dies before its second transaction: that which writes an enrolment."""

    class Dying(Database):
        def transact(self, work: Any) -> Any:
            begun.append(True)
            if len(begun) == 2:
                raise SystemExit
            return super().transact(work)

    begun: list[bool] = []
    return replace(world, service=replace(world.service, db=Dying(world.engine)))


def enrol_and_die(world: World) -> None:
    with pytest.raises(SystemExit):
        enrol(dying(world))


@at_each("number", REMOVING)
def test_an_enrolment_that_dies_while_the_removal_runs_leaves_nothing(world: World, number: int) -> None:
    """A soak found it: the removal was done, and with it the task that was to undo the enrolment."""
    remove_host(world.service, "1")
    at_call(world, number, lambda: work_once(world), lambda: enrol_and_die(world))
    run_for(world, minutes=1)
    check(world, free=False, enrolled=False)


@at_each("number", ENROLLING)
def test_an_enrolment_that_dies_after_the_removal_ran_meanwhile_leaves_nothing(world: World, number: int) -> None:
    remove_host(world.service, "1")
    at_call(world, number, lambda: enrol_and_die(world), lambda: run_manager(world))
    run_for(world, minutes=1)
    check(world, free=False, enrolled=False)


def test_an_enrolment_that_dies_while_the_removal_fails_leaves_nothing(world: World) -> None:
    remove_host(world.service, "1")
    claim = claim_one(world)
    assert claim is not None
    enrol_and_die(world)
    later = world.service.now() + timedelta(seconds=1)
    world.service.db.transact(lambda connection: postpone_task(connection, claim, later, "The cloud is away"))
    run_for(world, minutes=1)
    check(world, free=False, enrolled=False)


def test_a_host_that_is_promised_but_not_brought_in_goes_into_the_free_pool(world: World) -> None:
    """The lease is deleted before it begins, so its end never returns the host to the free pool."""
    world.cloud.aggregates.remove_host("freepool", "cmp-01")
    lease = world.lease(hosts(), start=0, end=2)
    ident = next(host.id for host in world.listed() if host.label == "cmp-01")
    converge_resource(world.service, TYPES.get(HOST), HostDriver(), Claim(0, HOST, ident, "", 1, world.now()))
    world.delete(lease)
    check(world, free=True, enrolled=True)
