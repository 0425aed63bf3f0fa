"""Amendments and deletions are decided together with creations, and each is answered as if it had been alone (0125)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import event

from leasehold.conf.settings import LeaseSettings, LimitSettings, Settings
from leasehold.db.store import UnknownOutcomeError
from leasehold.leasing.amend import amend_lease
from leasehold.leasing.delete import delete_seen
from leasehold.model.caller import Caller
from leasehold.model.draft import LeaseChanges, Once
from leasehold.model.errors import (
    AmendmentDeniedError,
    BusyError,
    InvalidInputError,
    NotEnoughError,
    NotFoundError,
    StaleError,
)
from leasehold.model.lease import Lease
from tests.at_once import together
from tests.factory import World, hosts, instances, make_service, run_manager
from tests.race.test_batches import HOSTS, asks, counted, failing
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def deletes(lease: Lease) -> Callable[[World], bool]:
    return lambda world: delete_seen(world.service, lease)


def amends(lease: Lease, end: float | None = None, start: float | None = None, **part: Any) -> Callable[[World], Lease]:
    """Return a request about a lease as it was, for another end or for another first reservation."""
    parts = ({"id": lease.reservations[0].id, **part},) if part else None

    def amend(world: World) -> Lease:
        moments = [None if each is None else world.hour(each) for each in (start, end)]
        changes = LeaseChanges(start=moments[0], end=moments[1], reservations=parts)
        return amend_lease(world.service, lease.id, changes, seen=lease)

    return amend


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with make_service(tmp_path, hosts=HOSTS) as made:
        made.lease(hosts(), start=800, end=801)
        yield made


def test_changes_and_deletions_are_one_commit(database_url: str) -> None:
    with make_service(database_url, hosts=HOSTS) as world:
        made = [
            world.lease(hosts(), start=number, end=number + 1, caller=Caller("a", f"p{number}")) for number in range(8)
        ]
        works = [*map(deletes, made[:4]), *(amends(each, end=20 + number) for number, each in enumerate(made[4:]))]
        together(world, asks(700))
        with counted(world) as seen:
            found = together(world, *works, asks(701))
        assert seen.count("COMMIT") == 2, seen
        assert found[:4] == [True] * 4
        assert not any(map(world.exists, made[:4]))
        assert [each.window.end for each in found[4:8]] == [world.hour(20 + number) for number in range(4)]
        assert [world.get(each).generation for each in found[4:]] == [each.generation for each in found[4:]]
        audit(world)
        run_manager(world)
        audit(world)


def test_a_creation_gets_what_a_lease_before_it_gives_up(world: World) -> None:
    """A lease that has not started leaves nothing behind, so what it had is free for the requests after it."""
    held = [world.lease(hosts(), start=1, end=2) for _ in HOSTS]
    with counted(world) as seen:
        found = together(world, deletes(held[0]), asks(1), amends(held[1], 4, start=3), asks(1), asks(3))
    assert seen.count("COMMIT") == 2
    assert [type(each) for each in found] == [bool, Lease, Lease, Lease, Lease]
    audit(world)


def test_nobody_gets_what_an_amended_lease_gets(world: World) -> None:
    held = [world.lease(hosts(), start=1, end=2) for _ in HOSTS]
    found = together(world, *(amends(each, end=3) for each in held), asks(2), amends(held[0], end=4))
    assert [type(each) for each in found] == [*[Lease] * 4, NotEnoughError, Lease]
    audit(world)


def test_slots_are_counted_over_all_that_is_asked_for_together(world: World) -> None:
    part = instances(1, vcpus=1, memory_mb=512, disk_gb=1)
    leases = [world.lease(part, start=1, end=2) for _ in range(6)]
    with counted(world) as seen:
        found = together(
            world, *(amends(each, amount=2) for each in leases), lambda gated: gated.lease(part, start=1, end=2)
        )
    assert [type(each) for each in found] == [Lease] * 7
    assert seen.count("COMMIT") == 2
    assert [sum(world.holds(each).values()) for each in found] == [*[2] * 6, 1]
    audit(world)


def test_what_is_in_use_is_not_given_to_the_next(world: World) -> None:
    """The hosts of an active lease have to be cleaned first: who gets one is decided when the deletion is committed."""
    used = world.active(hosts(4), start=0, end=2)
    with counted(world) as seen:
        found = together(world, deletes(used), asks(0), asks(1))
    assert [type(each) for each in found] == [bool, Lease, Lease]
    assert seen.count("COMMIT") == 4
    assert world.status(used) == "DELETING"
    run_manager(world)
    assert not world.exists(used)
    audit(world)


def test_each_stands_for_itself(world: World) -> None:
    mine, other = world.lease(hosts(), start=1, end=2), world.lease(hosts(), start=1, end=2)
    found = together(
        world,
        amends(mine, min=5, max=5),
        amends(other, end=5),
        lambda gated: delete_seen(gated.service, mine, if_generation=mine.generation + 1),
        amends(mine, end=-5),
        asks(1),
    )
    assert [type(each) for each in found] == [NotEnoughError, Lease, StaleError, InvalidInputError, Lease]
    assert world.get(mine).generation == mine.generation
    assert world.get(other).window.end == world.hour(5)
    audit(world)


def test_a_lease_that_two_change_is_changed_by_both(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=2)
    found = together(world, amends(lease, end=3), amends(lease, end=4), amends(lease, min=2, max=2))
    assert all(isinstance(each, Lease) for each in found)
    last = world.get(lease)
    assert last.generation == lease.generation + 3
    assert len(world.holds(last)) == 2
    assert last.window.end in {world.hour(3), world.hour(4)}
    audit(world)


def test_a_lease_that_is_deleted_first_is_not_found_by_the_next(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=2)
    found = together(world, deletes(lease), amends(lease, end=3), deletes(lease))
    assert found[0] is True
    assert isinstance(found[1], (NotFoundError, BusyError))
    assert found[2] is False
    audit(world)


def test_no_project_grows_beyond_its_limit(tmp_path: Path) -> None:
    settings = Settings(leases=LeaseSettings(limits=LimitSettings(totals={"hosts": 3})))
    with make_service(tmp_path, settings=settings, hosts=HOSTS) as world:
        world.lease(hosts(), start=800, end=801)
        leases = [world.lease(hosts(), start=1, end=2) for _ in range(2)]
        found = together(world, *(amends(each, min=2, max=2) for each in leases))
        assert sorted(type(each).__name__ for each in found) == sorted([AmendmentDeniedError.__name__, Lease.__name__])
        audit(world)


def test_an_amendment_with_a_key_is_carried_out_once(world: World) -> None:
    lease = world.lease(hosts(), start=1, end=2)
    once = Once(lease.project_id, "key", "digest")
    change = LeaseChanges(end=world.hour(3))
    amended, again = together(
        world, *[lambda gated: amend_lease(gated.service, lease.id, change, once=once) for _ in range(2)]
    )
    assert amended.id == again.id == lease.id
    assert amended.generation == lease.generation + 1


def test_what_fails_for_all_is_decided_again_for_each(world: World) -> None:
    first, second = (world.lease(hosts(), start=1, end=2) for _ in range(2))
    times: list[None] = []

    def fail(*sent: Any) -> None:
        if sent[2].startswith("UPDATE leases"):
            times.append(None)
            if len(times) == 1:
                raise ValueError("once")

    event.listen(world.engine, "before_cursor_execute", fail)
    found = together(world, deletes(first), amends(second, end=3), asks(1))
    assert [type(each) for each in found] == [bool, Lease, Lease]
    assert not world.exists(first)
    audit(world)


def test_a_commit_whose_outcome_is_unknown_is_unknown_for_each(world: World) -> None:
    first, second = (world.lease(hosts(), start=1, end=2) for _ in range(2))
    with failing(world, "commit", lambda _: True):
        found = together(world, deletes(first), amends(second, end=3), amends(second, min=5, max=5))
    assert [type(each) for each in found] == [UnknownOutcomeError, UnknownOutcomeError, NotEnoughError]
    assert not world.exists(first)
    assert world.get(second).window.end == world.hour(3)
    audit(world)
