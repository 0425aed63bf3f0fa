"""Flexible leases in pieces: leases that belong together, all or none, which stay apart wherever they move."""

from __future__ import annotations

import json
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.conf.settings import LeaseSettings, LimitSettings
from leasehold.features.flexible import moving, store, use
from leasehold.features.flexible.model import FlexibleChangedError, NoPiecesError
from leasehold.features.flexible.moving import move_all
from leasehold.features.flexible.options import FlexibleSettings
from leasehold.leasing.locks import ChangedMeanwhileError
from leasehold.leasing.reading.queries import each_lease, get_lease
from leasehold.leasing.unit import run
from leasehold.model.errors import (
    ConflictError,
    ExternallyDeniedError,
    InvalidInputError,
    NotEnoughError,
    TooManyHoursError,
    TooManyLeasesError,
)
from leasehold.model.windows import Window
from tests.approver import ALLOW, approving, deny
from tests.factory import ALT, Clock, Killed, World, hosts, make_service, open_service, run_for
from tests.features.flexible.making import HOUR, at, flexible, pieces
from tests.features.flexible.test_law import FREE
from tests.features.flexible.test_use import told, written
from tests.stateful.audit import audit, audit_cloud

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.features.flexible.use import Placed
    from tests.serving import Answer, Asked

pytestmark = pytest.mark.slow


@pytest.fixture
def one(tmp_path: Path) -> Iterator[World]:
    """A service with one host, which is taken from 3 to 5 and from 8 to 9."""
    with make_service(tmp_path, clock=Clock(), hosts=("cmp-01",)) as world:
        world.lease(hosts(), start=3, end=5, caller=ALT)
        world.lease(hosts(), start=8, end=9, caller=ALT)
        yield world


def test_what_fits_nowhere_as_a_whole_is_several_leases(one: World) -> None:
    placed = flexible(one, 12, 8, piece=2)
    assert pieces(one, placed) == [(0, 3), (5, 8), (9, 11)]
    assert [get_lease(one.service, each.id).name for each in placed.pieces] == [
        f"flexible {number}/3" for number in (1, 2, 3)
    ]
    for each in placed.pieces:
        found = use.get_flexible(one.service, each.id)
        assert (found.flexible.terms.duration, found.pieces) == (each.window.duration, placed.pieces)
        assert told(one, found) == []
    audit(one)
    run_for(one, hours=12)
    assert {get_lease(one.service, each.id).status for each in placed.pieces} == {"TERMINATED"}
    audit_cloud(one)


def test_what_fits_as_a_whole_is_not_cut(one: World) -> None:
    assert pieces(one, flexible(one, 30, 8, piece=2)) == [(9, 17)]
    assert pieces(one, flexible(one, 8, 3, piece=1)) == [(0, 3)]
    audit(one)


def test_a_piece_is_never_shorter_than_was_asked_for(one: World) -> None:
    assert pieces(one, flexible(one, 8, 4, piece=2)) == [(0, 2), (5, 7)]
    audit(one)


def test_pieces_that_do_not_fit_are_refused_with_what_is_free(one: World) -> None:
    before = written(one)
    with pytest.raises(NoPiecesError) as refused:
        flexible(one, 11, 9, piece=2)
    assert refused.value.details == {"free_seconds": 8 * 3600}
    assert written(one) == before


def test_one_that_is_deleted_or_fixed_leaves_the_others(one: World) -> None:
    placed = flexible(one, 12, 8, piece=2)
    first, second, third = (each.id for each in placed.pieces)
    use.fix_flexible(one.service, second)
    one.delete(get_lease(one.service, first))
    left = use.get_flexible(one.service, third)
    assert [each.id for each in left.pieces] == [second, third]
    assert first not in {each.flexible.id for each in use.list_flexible(one.service, None)}
    audit(one)


@pytest.fixture
def two(database_url: str) -> Iterator[tuple[World, Placed]]:
    """A service with two hosts, and a request in pieces from 2 to 4 and from 6 to 8, which may be until 10."""
    with make_service(database_url, clock=Clock(), hosts=("cmp-01", "cmp-02")) as world:
        firm = [world.lease(hosts(2), start=start, end=end, caller=ALT) for start, end in ((4, 6), (8, 10))]
        placed = flexible(world, 10, 4, piece=2, earliest=2)
        assert pieces(world, placed) == [(2, 4), (6, 8)]
        world.delete(firm[1])
        yield world, placed


def test_a_piece_that_moves_does_not_go_where_another_one_is(two: tuple[World, Placed]) -> None:
    world, placed = two
    blocker = world.lease(hosts(2), start=8, end=10, caller=ALT)
    with pytest.raises(NotEnoughError):
        # The other host is free from 6 to 8, but then two pieces would be at once.
        world.lease(hosts(2), start=2, end=4, caller=ALT)
    world.delete(blocker)
    world.lease(hosts(2), start=2, end=4, caller=ALT)
    assert pieces(world, placed) == [(6, 8), (8, 10)]
    audit(world)


def test_several_pieces_that_move_for_one_request_stay_apart(tmp_path: Path) -> None:
    with make_service(tmp_path, clock=Clock(), hosts=("cmp-01", "cmp-02")) as world:
        firm = [world.lease(hosts(2), start=start, end=end) for start, end in ((4, 6), (8, 20))]
        placed = flexible(world, 20, 4, piece=2, earliest=2)
        for each in firm:
            world.delete(each)
        world.lease(hosts(2), start=2, end=8, caller=ALT)
        assert pieces(world, placed) == [(8, 10), (10, 12)]
        audit(world)


def test_a_manager_moves_pieces_one_after_the_other(tmp_path: Path) -> None:
    with make_service(tmp_path, clock=Clock(), hosts=("cmp-01", "cmp-02")) as plain:
        world = plain.with_settings(features={FlexibleSettings: FREE})
        firm = world.lease(hosts(2), start=4, end=6)
        placed = flexible(world, 8, 4, piece=2, earliest=2)
        world.delete(firm)
        assert (move_all(world.service), pieces(world, placed)) == (1, [(2, 4), (4, 6)])
        audit(world)
        world.engine.dispose()


def test_two_pieces_are_not_moved_to_the_same_time_by_two_who_look_at_once(two: tuple[World, Placed]) -> None:
    world, placed = two
    there = Window(world.hour(8), world.hour(10))
    seen = [use.get_flexible(world.service, each.id) for each in placed.pieces]
    moves = [moving._Move(each.flexible, each.lease, there, frozenset({"hosts"})) for each in seen]
    assert run(world.service, moves[0]) is not None
    with pytest.raises(ChangedMeanwhileError):
        run(world.service, moves[1])
    assert pieces(world, placed) == [(6, 8), (8, 10)]


def test_an_owner_gets_no_place_to_which_another_piece_has_moved_meanwhile(
    two: tuple[World, Placed], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, placed = two
    first, second = (use.get_flexible(world.service, each.id) for each in placed.pieces)
    monkeypatch.setattr(use, "_candidates", lambda *_: iter([second.lease.window]))
    with pytest.raises(FlexibleChangedError):
        use.amend_flexible(world.service, first.lease.id, replace(first.flexible.terms, earliest=world.hour(3)))
    assert pieces(world, placed) == [(2, 4), (6, 8)]


def ask(url: str) -> int:
    """Ask in a process of its own, and return how many pieces were granted."""
    world = open_service(url, clock=Clock())
    try:
        with suppress(NoPiecesError):
            return len(flexible(world, 10, 6, piece=1).pieces)
        return 0
    finally:
        world.engine.dispose()


def test_one_of_several_processes_gets_the_gaps_that_all_want(database_url: str) -> None:
    with make_service(database_url, clock=Clock(), hosts=("cmp-01",)) as world:
        for start in (3, 6, 9):
            world.lease(hosts(), start=start, end=start + 1, caller=ALT)
        with ProcessPoolExecutor(3, get_context("spawn")) as processes:
            got = list(processes.map(ask, [str(world.engine.url)] * 3))
        assert sorted(got) == [0, 0, 3]
        audit(world)


def test_who_dies_in_the_middle_leaves_no_trace(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with make_service(database_url, clock=Clock(), hosts=("cmp-01",)) as world:
        firm = [world.lease(hosts(), start=start, end=end) for start, end in ((3, 5), (8, 9))]

        def die(*_: Any) -> None:
            raise Killed

        before = written(world)
        for name in ("add_request", "with_others"):
            with monkeypatch.context() as patch:
                patch.setattr(store, name, die)
                with pytest.raises(Killed):
                    flexible(world, 12, 8, piece=2, key="a")
            if name == "add_request":
                assert written(world) == before
        # Who died after the commit finds what was made.
        placed = flexible(world, 12, 8, piece=2, key="a")
        assert pieces(world, placed) == [(0, 3), (5, 8), (9, 11)]
        world.delete(firm[0])
        before = written(world)
        with monkeypatch.context() as patch:
            patch.setattr(moving, "save_flexible", die)
            with pytest.raises(Killed):
                world.lease(hosts(), start=9, end=11, caller=ALT)
        assert written(world) == before
        audit(world)


@pytest.mark.parametrize("limits", [LimitSettings(open_leases=2), LimitSettings(user_open_leases=2)])
def test_each_piece_counts_as_a_lease(one: World, limits: LimitSettings) -> None:
    limited = one.with_settings(leases=LeaseSettings(limits=limits))
    before = written(limited)
    with pytest.raises(TooManyLeasesError) as refused:
        flexible(limited, 12, 8, piece=2)
    assert "2 of the 3 leases" in refused.value.message
    assert written(limited) == before
    assert len(pieces(limited, flexible(limited, 9, 6, piece=2))) == 2
    with pytest.raises(TooManyLeasesError):
        flexible(limited, 30, 1)
    limited.engine.dispose()


def test_each_piece_counts_for_the_hours_of_a_user(one: World) -> None:
    limited = one.with_settings(leases=LeaseSettings(limits=LimitSettings(user_host_hours=7)))
    before = written(limited)
    with pytest.raises(TooManyHoursError):
        flexible(limited, 12, 8, piece=2)
    assert written(limited) == before
    assert len(pieces(limited, flexible(limited, 12, 7, piece=2))) == 3
    limited.engine.dispose()


def test_an_external_service_approves_each_piece_or_none_is_made(one: World) -> None:
    with approving() as approver:
        asking = one.with_settings(leases=approver.settings())
        placed = flexible(asking, 12, 8, piece=2)
        assert [json.loads(each.body)["lease"]["start_date"][11:16] for each in approver.asked] == [
            "09:00",
            "14:00",
            "18:00",
        ]
        for each in placed.pieces:
            one.delete(get_lease(one.service, each.id))
        before = written(asking)

        def but_the_last(asked: Asked) -> Answer:
            return deny(b'{"message": "no"}') if b"18:00" in asked.body else ALLOW

        approver.answer = but_the_last
        with pytest.raises(ExternallyDeniedError):
            flexible(asking, 12, 8, piece=2)
        assert written(asking) == before
        asking.engine.dispose()


def test_who_asks_for_thousands_of_pieces_is_answered_soon(one: World) -> None:
    for hour in range(9, 130):
        one.lease(hosts(), start=hour, end=hour + 0.5, caller=ALT)
    with pytest.raises(NoPiecesError):
        flexible(one, 130, 60, piece=1 / 60)
    assert len(pieces(one, flexible(one, 130, 17, piece=1 / 60))) == 24


def test_the_same_key_makes_them_once(one: World) -> None:
    first, again = (flexible(one, 12, 8, piece=2, key="a") for _ in range(2))
    assert again.pieces == first.pieces
    assert len(list(each_lease(one.service, "demo"))) == 3
    with pytest.raises(ConflictError):
        flexible(one, 12, 8, piece=3, key="a")


def test_a_piece_keeps_its_length_and_gets_other_terms(one: World) -> None:
    placed = flexible(one, 12, 8, piece=2, earliest=0)
    third = use.get_flexible(one.service, placed.pieces[2].id)
    with pytest.raises(InvalidInputError) as refused:
        use.amend_flexible(one.service, third.lease.id, replace(third.flexible.terms, duration=HOUR))
    assert refused.value.field == "duration_seconds"
    moved = use.amend_flexible(
        one.service, third.lease.id, replace(third.flexible.terms, latest=one.hour(20), earliest=one.hour(12))
    )
    assert at(one, moved) == (12, 14)
    audit(one)
