"""Tries of leases that wait are decided together, and each goes as if it had been alone (decision 0134)."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from leasehold.db.pool import read_pools
from leasehold.db.store import UnknownOutcomeError
from leasehold.db.tables import tasks
from leasehold.leasing.steps.lifecycle import Phase
from leasehold.leasing.waiting.waiting import try_waiting
from leasehold.model.caller import Caller
from leasehold.model.resource import HOST_POOL
from leasehold.model.terms.lease_type import LeaseType
from tests.at_once import all_behind
from tests.factory import hosts, make_service, run_for, run_manager
from tests.race.test_batches import asks, failing
from tests.race.test_shared_starts import HOSTS, begun, claims_of
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from sqlalchemy import Connection

    from leasehold.db.task import Claim
    from leasehold.leasing.steps.lifecycle import Step
    from leasehold.model.lease import Lease
    from tests.factory import World

WAITING = 5
PAUSE = timedelta(minutes=1)


@contextmanager
def waiting(url: str | Path, wanted: int = 1, free: int = 0) -> Iterator[tuple[World, list[Lease]]]:
    """Yield a world with leases that wait for so many hosts each, of which so many have become free; all are due."""
    with make_service(url, hosts=HOSTS) as world:
        taken = [world.lease(hosts(), start=0, end=9) for _ in HOSTS]
        run_manager(world)
        waits = partial(world.lease, type=LeaseType.WAITLIST, retry_pause=PAUSE, deadline=world.hour(8))
        made = []
        for number in range(WAITING):
            world.clock.advance(microseconds=1)
            made.append(waits(hosts(wanted), start=0, end=1, caller=Caller("u", f"p{number}")))
        for lease in taken[:free]:
            world.delete(lease)
        world.clock.advance(seconds=60)
        world.execute(tasks.update().where(tasks.c.subject.in_([each.id for each in made])).values(due_at=world.now()))
        yield world, made


def tries(claim: Claim, step: Step) -> Callable[[World], bool]:
    return lambda world: try_waiting(world.service, step.lease, claim)


def tried(world: World, made: list[Lease], *, first: bool) -> tuple[list[Any], int]:
    """Try these leases while a `first` request is decided, or one of them is; return what each says, and the commits.

    Without another request each is tried by itself, and what is written of those in vain is written together.
    """
    claims = claims_of(world, made)
    steps = begun(world, claims)
    assert [each.phase for each in steps] == [Phase.TRY] * len(made)
    works = list(map(tries, claims, steps))
    commits = []

    def committed(connection: Connection) -> None:
        commits.append(bool(connection.get_execution_options().get("leasehold_writes")))

    event.listen(world.engine, "commit", committed)
    try:
        found = all_behind(world, asks(700), *works)[1:] if first else all_behind(world, *works)
    finally:
        event.remove(world.engine, "commit", committed)
    return found, sum(commits)


def generation(world: World) -> int:
    with world.service.db.reading() as connection:
        return read_pools(connection)[HOST_POOL].generation


def test_what_becomes_free_is_granted_by_one_commit(database_url: str) -> None:
    with waiting(database_url, free=3) as (world, made):
        # The request before them commits as well.
        assert tried(world, made[:3], first=True) == ([True] * 3, 1 + 1)
        assert [world.status(each) for each in made] == ["PENDING"] * 3 + ["IN_PROGRESS"] * 2
        audit(world)
        run_for(world, minutes=3)
        assert [world.status(each) for each in made] == ["ACTIVE"] * 3 + ["IN_PROGRESS"] * 2
        audit(world)


@pytest.mark.servers
@pytest.mark.parametrize("server", ["mariadb_url", "postgresql_url"])
def test_what_was_in_vain_is_written_together(server: str, request: pytest.FixtureRequest) -> None:
    with waiting(request.getfixturevalue(server)) as (world, made):
        before = [each.waiting for each in made]
        assert tried(world, made, first=False) == ([True] * WAITING, 2)
        for lease, was in zip(made, before, strict=True):
            found = world.get(lease)
            assert found.status == "IN_PROGRESS"
            assert found.waiting is not None
            assert was is not None
            assert found.waiting.tried == was.tried + 1
            assert found.waiting.due == world.now() + PAUSE


def test_tries_in_vain_leave_no_trace_in_the_pools(database_url: str) -> None:
    """Who is tried together moves the pools only if something is granted: nobody has to read them again."""
    with waiting(database_url) as (world, made):
        before = generation(world)
        found, commits = tried(world, made, first=True)
        assert found == [True] * WAITING
        assert 1 + 1 < commits <= 1 + WAITING
        assert generation(world) == before + 1
        audit(world)


def test_the_line_is_kept(database_url: str) -> None:
    """Of two that would fit, the one that has waited longer is granted, whoever is tried first."""
    with waiting(database_url, wanted=2, free=2) as (world, made):
        assert tried(world, made[::-1], first=True)[0] == [True] * WAITING
        run_for(world, minutes=3)
        assert [world.status(each) for each in made] == ["ACTIVE"] + ["IN_PROGRESS"] * 4
        audit(world)


def test_one_that_has_changed_keeps_its_place(database_url: str) -> None:
    """It is tried again at once, and waits until then: what comes after it does not get what it would."""
    with waiting(database_url, free=1) as (world, made):
        first, second = made[:2]
        claims = claims_of(world, made[:2])
        steps = begun(world, claims)
        world.amend(first, name="another")
        found = all_behind(world, asks(700), *map(tries, claims, steps))
        assert found[1:] == [True, True]
        assert [world.status(each) for each in (first, second)] == ["IN_PROGRESS"] * 2
        run_for(world, minutes=3)
        assert [world.status(each) for each in (first, second)] == ["ACTIVE", "IN_PROGRESS"]
        audit(world)


def test_a_lost_claim_and_a_deleted_lease_change_nothing_for_others(database_url: str) -> None:
    with waiting(database_url, free=5) as (world, made):
        first, second, lost, gone = made[:4]
        claims = claims_of(world, made[:4])
        steps = begun(world, claims)
        world.execute(tasks.update().where(tasks.c.subject == lost.id).values(claimed_by="another"))
        world.delete(gone)
        found = all_behind(world, asks(700), *map(tries, claims, steps))
        assert found[1:] == [True, True, False, True]
        assert [world.status(each) for each in (first, second, lost)] == ["PENDING", "PENDING", "IN_PROGRESS"]
        assert not world.exists(gone)
        audit(world)


def _allocates(sent: tuple[Any, ...]) -> bool:
    return str(sent[2]).startswith("INSERT INTO allocations")


def _writes(sent: tuple[Any, ...]) -> bool:
    return bool(sent[0].get_execution_options().get("leasehold_writes"))


@pytest.mark.parametrize(("name", "at"), [("before_cursor_execute", _allocates), ("commit", _writes)])
def test_a_transaction_that_fails(tmp_path: Path, name: str, at: Callable[[tuple[Any, ...]], bool]) -> None:
    """Each is tried by itself if nothing was committed; if that is unknown, each is told, and is tried again."""
    with waiting(tmp_path, free=3) as (world, made):
        claims = claims_of(world, made[:3])
        steps = begun(world, claims)
        with failing(world, name, at):
            found = all_behind(world, asks(700), *map(tries, claims, steps))[1:]
        if name == "commit":
            assert all(isinstance(each, UnknownOutcomeError) for each in found), found
        else:
            assert found == [True] * 3
        run_for(world, minutes=3)
        assert [world.status(each) for each in made[:3]] == ["ACTIVE"] * 3
        audit(world)
