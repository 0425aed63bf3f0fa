"""Planned capacity while two operators change the same, managers die, and a database goes back to a backup."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from leasehold.db.tables import resources
from leasehold.features.audit.cloud import Pace, audit_cloud
from leasehold.features.planned_capacity.model import State
from leasehold.features.planned_capacity.store import changes
from leasehold.model.errors import InUseError, LeaseholdError, NotEnoughError, NotFoundError
from leasehold.model.resource import Health
from tests.factory import AT_ONCE, dies_at, hosts, make_service, open_service, run_for, run_until
from tests.features.planned_capacity.planning import arrived, increase, one, put_off, remove, reserve, round_
from tests.stateful.audit import audit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.factory import World

pytestmark = pytest.mark.slow

LABELS = ("cmp-01", "cmp-02", "cmp-06")


def quietly(work: Callable[[], object]) -> Callable[[], None]:
    """Return what does the work; whether it is refused depends on who comes first."""

    def run() -> None:
        with suppress(LeaseholdError):
            work()

    return run


def checked(world: World) -> None:
    audit(world)
    assert not audit_cloud(world.service, Pace(between_looks=0, wait=lambda _: None))


def test_operators_who_change_the_same_leave_one_of_their_orders(database_url: str) -> None:
    with make_service(database_url, settings=AT_ONCE, hosts=LABELS) as world:
        for _ in range(4):
            ident = increase(world, "cmp-05", start=5)
            leases = [world.lease(hosts(), start=5, end=6) for _ in range(4)]
            orders: list[Callable[[], object]] = [
                lambda mine=ident: put_off(world, mine, 7),  # type: ignore[misc]
                lambda mine=ident: put_off(world, mine, 4),  # type: ignore[misc]
                lambda mine=ident: remove(world, mine, force=True),  # type: ignore[misc]
                lambda mine=ident: arrived(world, mine),  # type: ignore[misc]
                lambda: round_(world),
                lambda: world.lease(hosts(), start=8, end=9),
            ]
            with ThreadPoolExecutor(len(orders)) as pool:
                for done in [pool.submit(quietly(each)) for each in orders]:
                    done.result()
            round_(world)
            run_for(world, minutes=1)
            audit(world)
            held = [label for lease in leases for label in world.holds(lease)]
            assert len(held) == len(set(held)) >= 3
            there = {each.label: each for each in world.listed()}
            if "cmp-05" in there and there["cmp-05"].health is Health.PLANNED:
                assert one(world, ident).state is State.PLANNED
            for lease in leases:
                world.delete(lease)
            with suppress(NotFoundError):
                remove(world, ident, force=True)
            if any(each.label == "cmp-05" for each in world.listed()):
                break


@pytest.mark.parametrize("call", range(1, 9))
def test_an_enrolment_that_breaks_off_is_repeated(tmp_path: Path, call: int) -> None:
    with make_service(tmp_path, settings=AT_ONCE, hosts=LABELS) as world:
        ident = increase(world, "cmp-05", start=1)
        lease = world.lease(hosts(4), start=1, end=2)
        if not dies_at(world, call, lambda: arrived(world, ident)):
            pytest.fail("the arrival made fewer calls") if call < 4 else None
        run_for(world, minutes=2)
        if not one(world, ident).hosts[0].arrived:
            arrived(world, ident)
        run_until(world, world.hour(1))
        run_for(world, minutes=2)
        assert world.status(lease) == "ACTIVE"
        checked(world)


def test_hosts_whose_end_was_not_held_yet_are_promised_to_nobody_before_it_is(tmp_path: Path) -> None:
    with make_service(tmp_path, settings=AT_ONCE) as world:
        ident = increase(world, "march-01", start=1, promise=True)
        # As a process leaves it that dies between the two transactions of hosts that come and go.
        world.execute(update(changes).values(ends_at=world.hour(5)))
        world.execute(update(resources).values(reservable=False))
        with pytest.raises(NotEnoughError):
            world.lease(hosts(), start=2, end=3)
        round_(world)
        assert len(one(world, ident).holds) == 1
        assert world.lease(hosts(), start=2, end=5)
        with pytest.raises(NotEnoughError):
            world.lease(hosts(), start=5, end=6)
        round_(world)
        assert len(one(world, ident).holds) == 1


def test_servers_survive_a_database_that_went_back_to_before_the_arrival(tmp_path: Path) -> None:
    with make_service(tmp_path, settings=AT_ONCE, hosts=LABELS) as world:
        ident = increase(world, "cmp-05", start=1)
        lease = world.lease(hosts(4), start=1, end=40)
        books = {each: tmp_path / each for each in ("leasehold.db",)}
        for name, path in books.items():
            shutil.copy(path, tmp_path / f"{name}.old")
        run_until(world, world.hour(1))
        round_(world)
        run_for(world, minutes=1)
        assert world.status(lease) == "ACTIVE"
        world.service.db.transact(lambda connection: connection.execute(update(resources).values(reservable=True)))
        server = world.boot(lease)
        # The books of the resources go back, those of the cloud and of the lease stay: nobody knows that it arrived.
        world.execute(
            update(resources)
            .where(resources.c.reference == "cmp-05")
            .values(health=Health.PLANNED, waking_seconds=0, waking_since=world.hour(1), id="planned-before")
        )
        late = open_service(f"sqlite:///{tmp_path}/leasehold.db", clock=world.clock)
        on_it = server.service_host == "cmp-05"
        if on_it:
            with pytest.raises(InUseError, match="has 1 server"):
                arrived(late, ident)
        round_(late)
        run_for(late, minutes=2)
        assert server.id in late.servers()
        assert late.status(lease) == "ACTIVE"
        late.engine.dispose()


def test_two_managers_fill_a_reserve_and_the_next_round_gives_back_what_is_too_much(database_url: str) -> None:
    with make_service(database_url, settings=AT_ONCE, hosts=LABELS) as world:
        ident = reserve(world, 2, start=1)
        for lease in one(world, ident).holds:
            world.delete(lease)
        with ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(round_, world) for _ in range(2)]:
                done.result()
        run_for(world, minutes=1)
        round_(world)
        run_for(world, minutes=1)
        held = [label for lease in one(world, ident).holds for label in world.holds(lease)]
        assert len(held) == len(set(held)) == 2
        audit(world)
