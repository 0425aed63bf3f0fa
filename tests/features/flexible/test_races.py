"""Two managers move leases at once, members ask for their room, and a manager dies in the middle, on each database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.db.engine import NestedWriteError
from leasehold.db.leases.lease import find_leases
from leasehold.features.flexible import moving, room, use
from leasehold.features.flexible.model import Strategy
from leasehold.features.flexible.options import FlexibleSettings
from leasehold.features.flexible.store import movable
from leasehold.leasing.locks import ChangedMeanwhileError
from leasehold.leasing.unit import run
from leasehold.model.errors import LeaseholdError, NotEnoughError
from leasehold.model.windows import Window
from tests.factory import ALT, Clock, Killed, floating_ips, hosts, make_service
from tests.features.flexible.making import at, flexible
from tests.stateful.audit import audit, dump

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from leasehold.features.flexible.use import Placed
    from tests.factory import World

pytestmark = pytest.mark.slow

OFTEN = FlexibleSettings(rest=timedelta(0), most_moves=100, least_gain=timedelta(minutes=1))


def move(world: World, _: Sequence[Placed]) -> None:
    for _round in range(6):
        moving.move_all(world.service)


def ask(world: World, _: Sequence[Placed]) -> None:
    for number in range(8):
        with suppress(LeaseholdError):
            lease = world.lease(hosts(1 + number % 2), start=2 + number, end=5 + number, caller=ALT)
            if number % 3:
                world.delete(lease)


def amend(world: World, placed: Sequence[Placed]) -> None:
    for number in range(5):
        ident = placed[number % 2].lease.id
        terms = use.get_flexible(world.service, ident).flexible.terms
        with suppress(LeaseholdError):
            use.amend_flexible(world.service, ident, replace(terms, latest=world.hour(60 + number)))
    with suppress(LeaseholdError):
        world.amend(placed[0].lease, start=50, end=53)


def test_all_at_once_no_promise_breaks(database_url: str) -> None:
    """Managers move, members ask for room and give it up, and owners amend: each lease keeps its window and length."""
    with make_service(database_url, clock=Clock(), hosts=("cmp-01", "cmp-02")) as first:
        worlds = [first.with_settings(features={FlexibleSettings: OFTEN}) for _ in range(4)]
        ways = [(number % 3, list(Strategy)[number % 2]) for number in range(6)]
        placed = [flexible(first, 60, 3, earliest=2 + later, strategy=strategy) for later, strategy in ways]
        with ThreadPoolExecutor(4) as threads:
            works = zip((move, move, ask, amend), worlds, strict=True)
            done = [threads.submit(work, world, placed) for work, world in works]
        for each in done:
            each.result()
        for one in placed:
            now = use.get_flexible(first.service, one.lease.id)
            assert now.flexible.terms.allow(now.flexible.window)
            assert now.lease.window in (now.flexible.window, Window(first.hour(50), first.hour(53)))
        audit(first)
        for world in worlds:
            world.engine.dispose()


def test_a_manager_that_dies_in_the_middle_leaves_no_trace(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_service(database_url, clock=Clock(), hosts=("cmp-01",)) as world:
        firm = world.lease(hosts(), start=0, end=10)
        placed = flexible(world, 30, 4)
        world.delete(firm)
        before = dump(world.engine)

        def die(*_: Any) -> None:
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(moving, "save_flexible", die)
            for act in (moving.move_all, lambda _: world.lease(hosts(), start=10, end=12, caller=ALT)):
                with pytest.raises(Killed):
                    act(world.service)
        after = dump(world.engine)
        assert {**after, "project_use": before["project_use"]} == before
        assert (moving.move_all(world.service), at(world, placed)) == (1, (1, 5))
        audit(world)


def test_a_move_to_a_place_that_is_taken_meanwhile_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_service(tmp_path, clock=Clock(), hosts=("cmp-01",)) as world:
        firm = world.lease(hosts(), start=0, end=10)
        placed = flexible(world, 30, 4)
        world.delete(firm)

        def taken(*args: Any) -> Any:
            world.lease(hosts(), start=2, end=3, caller=ALT)
            return run(*args)

        monkeypatch.setattr(moving, "run", taken)
        assert (moving.move_all(world.service), at(world, placed)) == (0, (10, 14))
        audit(world)


def test_nobody_moves_it_beyond_what_its_owner_has_just_said(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner narrows its window after it was looked up for a request, and before it is moved for that."""
    with make_service(database_url, clock=Clock(), hosts=("cmp-01",)) as world:
        placed = flexible(world, 30, 4, earliest=2)
        found = find_leases

        def narrowed(*args: Any) -> Any:
            use.amend_flexible(world.service, placed.lease.id, replace(placed.flexible.terms, latest=world.hour(7)))
            return found(*args)

        with monkeypatch.context() as patch:
            patch.setattr(room, "find_leases", narrowed)
            # On SQLite nobody else writes while a decision is made.
            with pytest.raises((NotEnoughError, NestedWriteError)):
                world.lease(hosts(), start=2, end=5, caller=ALT)
        assert at(world, placed) == (2, 6)
        now = use.get_flexible(world.service, placed.lease.id)
        assert now.flexible.terms.latest in (world.hour(7), world.hour(30))
        assert now.flexible.terms.allow(now.lease.window)
        audit(world)


def test_who_may_be_moved_is_found(database_url: str) -> None:
    with make_service(database_url, clock=Clock(), hosts=("cmp-01", "cmp-02"), addresses=(110,)) as world:
        soon, later = flexible(world, 90, 2, earliest=0.5), flexible(world, 90, 2, earliest=30)
        address = flexible(world, 90, 2, floating_ips(), earliest=8)
        fixed, gone = flexible(world, 90, 2, earliest=40), flexible(world, 90, 2, earliest=50)
        world.amend(fixed.lease, start=60, end=62)
        world.delete(gone.lease)
        settings = FlexibleSettings()

        def found(of: FlexibleSettings = settings, **more: Any) -> list[str]:
            with world.service.db.reading() as connection:
                return [each.id for each in movable(connection, of, world.now(), **more)]

        assert soon.lease.id not in found()
        assert found() == [address.lease.id, later.lease.id]
        assert found(most=1) == [address.lease.id]
        window = Window(world.hour(29), world.hour(31))
        assert found(within=("hosts", window)) == [later.lease.id]
        assert found(FlexibleSettings(most_moves=0)) == []


def test_two_managers_move_a_lease_once(tmp_path: Path) -> None:
    with make_service(tmp_path, clock=Clock(), hosts=("cmp-01",)) as world:
        firm = world.lease(hosts(), start=0, end=10)
        placed = flexible(world, 30, 4)
        world.delete(firm)
        services = [world.with_settings().service for _ in range(2)]
        with ThreadPoolExecutor(2) as threads:
            moved = [each.result() for each in [threads.submit(partial(moving.move_all, each)) for each in services]]
        assert sum(moved) == 1
        assert use.get_flexible(world.service, placed.lease.id).flexible.moves == 1
        late = moving._Move(placed.flexible, placed.lease, placed.flexible.window, frozenset({"hosts"}))
        with pytest.raises(ChangedMeanwhileError):
            run(world.service, late)
