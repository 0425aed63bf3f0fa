"""Flexible leases: they get the best place, make room for others, and move to better places, within their windows."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import select

from leasehold.db.tables import outbox
from leasehold.features.flexible import use
from leasehold.features.flexible.model import FlexibleChangedError, NotFlexibleError, State, Strategy
from leasehold.features.flexible.moving import move_all
from leasehold.features.flexible.options import FlexibleSettings
from leasehold.model.actor import Actor, acting
from leasehold.model.errors import InvalidInputError, NotEnoughError, NotFoundError
from leasehold.model.windows import Window
from tests.factory import ALT, Clock, World, floating_ips, hosts, instances, make_service, run_for
from tests.features.flexible.making import HOUR, at, flexible
from tests.stateful.audit import audit, audit_cloud, dump

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from leasehold.features.flexible.use import Placed

pytestmark = pytest.mark.slow

ONE = "cmp-01"


@pytest.fixture
def one(tmp_path: Path) -> Iterator[World]:
    """A service with one host."""
    with make_service(tmp_path, clock=Clock()) as world:
        world.enrol(ONE)
        yield world


def again(world: World, placed: Placed) -> Placed:
    return use.get_flexible(world.service, placed.lease.id)


def written(world: World) -> dict[str, Any]:
    """Return all rows, but for what was counted of the projects."""
    return {name: rows for name, rows in dump(world.engine).items() if name != "project_use"}


def told(world: World, placed: Placed) -> list[tuple[str, Any]]:
    """Return the events of it that are not its creation, each with who has made it."""
    query = select(outbox).where(outbox.c.lease_id == placed.lease.id).order_by(outbox.c.id)
    with world.service.db.reading() as connection:
        rows = connection.execute(query).all()
    return [(row.event_type, row.lease_state.get("actor")) for row in rows][1:]


def test_it_gets_the_first_place_that_is_free(one: World) -> None:
    one.lease(hosts(), start=2, end=5)
    assert at(one, flexible(one, 100, 2)) == (0, 2)
    placed = flexible(one, 100, 8)
    assert (at(one, placed), placed.state(one.now())) == ((5, 13), State.FLEXIBLE)
    audit(one)


@pytest.mark.parametrize("asked", [hosts(2), instances(3), floating_ips(2)])
def test_it_knows_no_types(world: World, asked: dict[str, Any]) -> None:
    placed = flexible(world, 24, 3, asked, earliest=4)
    assert (at(world, placed), sum(world.holds(placed.lease).values())) == ((4, 7), asked.get("amount", 2))
    audit(world)


def test_a_request_that_does_not_fit_is_granted_if_it_moves(one: World) -> None:
    placed = flexible(one, 20, 8, earliest=2)
    assert at(one, placed) == (2, 10)
    with acting(Actor("mallory", "alt")):
        firm = one.lease(hosts(), start=4, end=9, caller=ALT)
    assert one.get(firm).window == Window(one.hour(4), one.hour(9))
    assert at(one, placed) == (9, 17)
    now = again(one, placed)
    assert (now.flexible.moves, now.flexible.moved_at, now.state(one.now())) == (1, one.now(), State.FLEXIBLE)
    # Nobody learns from the events of another project's lease who has made the request.
    assert told(one, placed) == [("lease.update", None), ("lease.rescheduled", None)]
    audit(one)
    run_for(one, hours=9.5)
    assert (one.status(firm), one.status(placed.lease)) == ("TERMINATED", "ACTIVE")
    audit_cloud(one)


def test_it_never_leaves_its_window_and_nothing_is_left_of_a_refusal(one: World) -> None:
    placed = flexible(one, 12, 8, earliest=2)
    before = written(one)
    with pytest.raises(NotEnoughError) as refused:
        one.lease(hosts(), start=4, end=9, caller=ALT)
    assert refused.value.refusal.nearest == Window(one.hour(10), one.hour(15))
    assert (at(one, placed), written(one)) == ((2, 10), before)


def test_it_stays_when_it_is_frozen_and_starts_no_sooner_than_that(one: World) -> None:
    placed = flexible(one, 100, 4, earliest=3, frozen=2 * HOUR)
    one.clock.advance(minutes=30)
    one.lease(hosts(), start=3, end=5)
    # Its owner is told two hours before it starts, so it can begin after the other one, and no sooner than at 2:30.
    assert at(one, placed) == (5, 9)
    late = flexible(one, 20, 2, earliest=10)
    one.clock.advance(hours=8.5)
    assert late.state(one.now()) is State.FROZEN
    with pytest.raises(NotEnoughError):
        one.lease(hosts(), start=10, end=11)
    audit(one)


def test_several_move_for_one_request_and_each_keeps_what_it_is_promised(one: World) -> None:
    first, second = flexible(one, 30, 4, earliest=2), flexible(one, 14, 4, earliest=2)
    assert (at(one, first), at(one, second)) == ((2, 6), (6, 10))
    one.lease(hosts(), start=4, end=9, caller=ALT)
    assert (at(one, second), at(one, first)) == ((9, 13), (13, 17))
    audit(one)


def test_an_amendment_finds_room_as_well(one: World) -> None:
    firm = one.lease(hosts(), start=2, end=4)
    placed = flexible(one, 20, 3, earliest=4)
    assert at(one, placed) == (4, 7)
    one.amend(firm, end=6)
    assert at(one, placed) == (6, 9)
    audit(one)


def test_a_dry_run_moves_nothing(one: World) -> None:
    placed = flexible(one, 20, 8, earliest=2)
    before = written(one)
    assert one.lease(hosts(), start=4, end=9, caller=ALT, dry_run=True)
    assert (at(one, placed), written(one)) == ((2, 10), before)


def test_nobody_can_make_it_move_again_and_again(tmp_path: Path) -> None:
    with make_service(tmp_path, clock=Clock()) as world:
        world.enrol(ONE)
        limited = world.with_settings(features={FlexibleSettings: FlexibleSettings(most_moves=2)})
        placed = flexible(limited, 500, 4, earliest=50)
        moves = 0
        for _ in range(10):
            try:
                start = at(limited, placed)[0]
                limited.delete(limited.lease(hosts(), start=start, end=start + 1, caller=ALT))
                moves += 1
            except NotEnoughError:
                # It rests for an hour.
                limited.clock.advance(minutes=30)
        assert (moves, again(limited, placed).flexible.moves) == (2, 2)


def test_a_manager_moves_it_to_a_sooner_place_and_only_if_that_is_worth_it(one: World) -> None:
    firm = one.lease(hosts(), start=0, end=10)
    placed = flexible(one, 30, 4)
    assert (at(one, placed), move_all(one.service)) == ((10, 14), 0)
    one.amend(firm, end=9.5)
    assert (at(one, placed), move_all(one.service)) == ((10, 14), 0)
    one.amend(firm, end=8)
    assert (move_all(one.service), at(one, placed)) == (1, (8, 12))
    assert [kind for kind, _ in told(one, placed)] == ["lease.update", "lease.rescheduled"]
    # It rests from a move.
    one.amend(firm, end=5)
    assert (move_all(one.service), at(one, placed)) == (0, (8, 12))
    one.clock.advance(hours=1)
    assert (move_all(one.service), at(one, placed)) == (1, (5, 9))
    one.clock.advance(hours=3.5)
    assert (move_all(one.service), again(one, placed).state(one.now())) == (0, State.FROZEN)
    audit(one)


def test_for_sleep_it_goes_beside_what_is_there(one: World) -> None:
    one.lease(hosts(), start=20, end=24)
    placed = flexible(one, 48, 4, earliest=6, strategy=Strategy.SLEEP)
    # Before it the host is free for 16 hours in one piece.
    assert at(one, placed) == (16, 20)
    one.lease(hosts(), start=30, end=33)
    assert (move_all(one.service), at(one, placed)) == (0, (16, 20))
    audit(one)


def test_without_time_to_compare_all_places_it_gets_the_best_of_some(one: World) -> None:
    """The slower the machine, the fewer places are compared; one that fits is found all the same."""
    one.lease(hosts(), start=83, end=90)
    evenings: Any = {"hours": ("18:00-20:00",), "strategy": Strategy.SLEEP}
    starts = []
    for milliseconds in (0, 100, 400, 700):
        ticks = count()
        slow = replace(one, service=replace(one.service, steady=lambda: next(ticks) * milliseconds / 1000))  # noqa: B023 - used at once
        placed = flexible(slow, 100, 2, **evenings)
        starts.append(at(one, placed)[0])
        one.delete(placed.lease)
    # Only on the last evening it is beside another lease.
    assert starts[0] == 81
    assert 9 in starts
    audit(one)


def test_its_terms_may_change_until_it_starts(one: World) -> None:
    placed = flexible(one, 20, 4, earliest=2)
    later = use.amend_flexible(one.service, placed.lease.id, replace(placed.flexible.terms, latest=one.hour(40)))
    assert (at(one, later), later.flexible.terms.latest) == ((2, 6), one.hour(40))
    one.lease(hosts(), start=6, end=8)
    longer = use.amend_flexible(one.service, placed.lease.id, replace(later.flexible.terms, duration=6 * HOUR))
    assert at(one, longer) == (8, 14)
    with pytest.raises(InvalidInputError) as refused:
        use.amend_flexible(one.service, placed.lease.id, replace(later.flexible.terms, latest=one.hour(3)))
    assert refused.value.field == "latest"
    assert again(one, placed) == longer
    run_for(one, hours=9)
    with pytest.raises(NotFlexibleError):
        use.amend_flexible(one.service, placed.lease.id, later.flexible.terms)
    audit(one)


def test_an_amendment_of_its_dates_ends_its_flexibility(one: World) -> None:
    placed = flexible(one, 20, 4, earliest=2)
    one.amend(placed.lease, start=3, end=7)
    assert again(one, placed).state(one.now()) is State.FIXED
    with pytest.raises(NotFlexibleError):
        use.amend_flexible(one.service, placed.lease.id, placed.flexible.terms)
    with pytest.raises(NotEnoughError):
        one.lease(hosts(), start=3, end=7)
    assert move_all(one.service) == 0


def test_one_that_is_fixed_is_a_lease_like_any_other(one: World) -> None:
    placed = flexible(one, 20, 4, earliest=2)
    use.fix_flexible(one.service, placed.lease.id)
    for act in (use.fix_flexible, use.get_flexible):
        with pytest.raises(NotFoundError):
            act(one.service, placed.lease.id)
    with pytest.raises(NotEnoughError):
        one.lease(hosts(), start=3, end=4)
    assert at(one, placed) == (2, 6)


def test_a_change_that_comes_between_is_not_lost(one: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its owner amends it after the manager has looked for a better place, and before that is decided."""
    firm = one.lease(hosts(), start=0, end=10)
    placed = flexible(one, 30, 4)
    one.delete(firm)
    look = type(one.service).look

    def looked(service: Any, *args: Any, **more: Any) -> Any:
        found = look(service, *args, **more)
        one.amend(placed.lease, start=20, end=24)
        return found

    monkeypatch.setattr(type(one.service), "look", looked)
    assert (move_all(one.service), at(one, placed)) == (0, (20, 24))


def test_new_terms_that_were_changed_meanwhile_are_refused(one: World) -> None:
    placed = flexible(one, 20, 4, earliest=2)
    one.lease(hosts(), start=2, end=3)
    assert at(one, placed) == (3, 7)
    with pytest.raises(FlexibleChangedError):
        use._with_terms(one.service, placed, placed.flexible.terms)


def test_the_same_key_gives_the_same_lease(one: World) -> None:
    made = flexible(one, 8, 8, key="a")
    assert flexible(one, 8, 8, key="a") == made


def test_where_nothing_is_free_others_make_room_or_it_is_refused(one: World) -> None:
    moving = flexible(one, 40, 8, earliest=2)
    placed = flexible(one, 10, 6, earliest=2)
    assert (at(one, placed), at(one, moving)) == ((2, 8), (8, 16))
    with pytest.raises(NotEnoughError):
        flexible(one, 10, 6, earliest=2)
    audit(one)


def test_at_night_it_is_there_at_night(one: World) -> None:
    nights: Any = {"hours": ("20:00-06:00",), "time_zone": "Europe/Berlin"}
    # It is 11 o'clock in Berlin; the night begins at 20:00.
    placed = flexible(one, 48, 8, **nights)
    assert at(one, placed) == (9, 17)
    one.lease(hosts(), start=10, end=11)
    assert at(one, placed) == (11, 19)
    with pytest.raises(InvalidInputError) as refused:
        flexible(one, 48, 11, **nights)
    assert refused.value.field == "hours"
